//! The query's rows as the table has them.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch, RecordBatchOptions, new_null_array};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use partwise_stream::sink::places;
use partwise_stream::{Error, Result};
use partwise_table::write::RowCast;

/// Brings rows of a query onto a table's columns: by name, and to their types.
#[derive(Debug)]
pub(crate) struct Fit {
    /// For each column of the table its place among the query's; none where the query lacks it.
    places: Vec<Option<usize>>,
    /// The table's columns with the query's types.
    given: SchemaRef,
    cast: RowCast,
    /// The partition columns of text.
    texts: Vec<usize>,
}

impl Fit {
    /// The table's columns, the names of its partition columns, the query's columns.
    ///
    /// # Errors
    /// A column that the table lacks; one that can't be NULL or is computed from others, and that the
    /// query lacks; a type that can't become the table's.
    pub fn new(table: &SchemaRef, parts: &[String], query: &Schema, place: &str) -> Result<Self> {
        check_computed(table, query, place)?;
        let places = places(table, query, &place, "add the column to the table")?;
        let column = |(column, from): (&FieldRef, &Option<usize>)| match from {
            Some(from) => query.field(*from).clone().with_name(column.name()),
            None => column.as_ref().clone(),
        };
        let columns: Vec<Field> = table.fields().iter().zip(&places).map(column).collect();
        let given = Arc::new(Schema::new(columns));
        let cast = RowCast::new(&given, Arc::clone(table))?;
        let is_text = |at: &usize| {
            let field = table.field(*at);
            *field.data_type() == DataType::Utf8 && parts.contains(field.name())
        };
        let texts = (0..places.len()).filter(is_text).collect();
        Ok(Self { places, given, cast, texts })
    }

    /// The table's columns.
    pub fn schema(&self) -> &SchemaRef {
        self.cast.schema()
    }

    /// The columns of the table that the query gives.
    pub fn given(&self) -> impl Iterator<Item = &str> {
        let columns = self.schema().fields().iter().zip(&self.places);
        columns.filter(|(_, from)| from.is_some()).map(|(column, _)| column.name().as_str())
    }

    /// Converts rows.
    ///
    /// # Errors
    /// A value that the table can't hold as it is.
    pub fn apply(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let column = |(from, field): (&Option<usize>, &FieldRef)| match from {
            Some(from) => Arc::clone(rows.column(*from)),
            None => new_null_array(field.data_type(), rows.num_rows()),
        };
        let columns = self.places.iter().zip(self.given.fields()).map(column).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        // What can't be NULL is for the cast to say.
        let given = Arc::new(nullable(&self.given));
        let rows = RecordBatch::try_new_with_options(given, columns, &options)?;
        let rows = self.cast.apply(&rows)?;
        self.refuse_empty_parts(&rows)?;
        Ok(rows)
    }

    /// Delta reads an empty partition value as NULL.
    fn refuse_empty_parts(&self, rows: &RecordBatch) -> Result<()> {
        for at in &self.texts {
            let texts = rows.column(*at).as_string::<i32>();
            if (0..texts.len()).any(|row| texts.is_valid(row) && texts.value(row).is_empty()) {
                let name = rows.schema_ref().field(*at).name().clone();
                return Err(Error::invalid(format!(
                    "column {name} is a partition column, and the query gives '': Delta can't tell \
                     that from NULL. Use nullif({name}, ''), or don't partition by {name}"
                )));
            }
        }
        Ok(())
    }
}

fn nullable(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Schema::new(fields.collect::<Vec<_>>())
}

/// Checks that the query gives the columns that the table computes: it doesn't do so by itself.
fn check_computed(table: &Schema, query: &Schema, place: &str) -> Result<()> {
    const HOW: &str = "delta.generationExpression";
    let given = |name: &str| query.fields().iter().any(|f| f.name().eq_ignore_ascii_case(name));
    let left_out = table.fields().iter().filter(|column| !given(column.name()));
    match left_out.filter_map(|column| Some((column.name(), column.metadata().get(HOW)?))).next() {
        None => Ok(()),
        Some((name, computed)) => Err(Error::invalid(format!(
            "{place} has the generated column {name}, and the query doesn't give it: select it as \
             the table computes it, {computed} AS {name}"
        ))),
    }
}
