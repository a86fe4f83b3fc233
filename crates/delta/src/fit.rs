//! The query's rows as the table has them.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch, RecordBatchOptions, new_null_array};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use deltalake::kernel::schema::ColumnMetadataKey;
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
        let places = places(table, query, place)?;
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

/// Checks that a column which the query doesn't give may be NULL in its rows.
fn check_left_out(column: &Field, place: &str) -> Result<()> {
    let name = column.name();
    if let Some(computed) = column.metadata().get(ColumnMetadataKey::GenerationExpression.as_ref())
    {
        return Err(Error::invalid(format!(
            "{place} has the generated column {name}, and the query doesn't give it: select it as the \
             table computes it, {computed} AS {name}"
        )));
    }
    match column.is_nullable() {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "{place} has the column {name}, NOT NULL, and the query doesn't give it"
        ))),
    }
}

/// For each column of the table its place among the query's; none where the query lacks it.
fn places(table: &Schema, query: &Schema, place: &str) -> Result<Vec<Option<usize>>> {
    let named = |field: &FieldRef, name: &str| field.name().eq_ignore_ascii_case(name);
    for field in query.fields() {
        if !table.fields().iter().any(|column| named(column, field.name())) {
            let columns: Vec<&str> = table.fields().iter().map(|f| f.name().as_str()).collect();
            return Err(Error::invalid(format!(
                "{place} has no column {}: name the query's columns as the table's ({}), or add the \
                 column to the table",
                field.name(),
                columns.join(", ")
            )));
        }
    }
    let place_of = |column: &FieldRef| {
        let found = query.fields().iter().position(|field| named(field, column.name()));
        match found {
            None => check_left_out(column, place).map(|()| None),
            found => Ok(found),
        }
    };
    table.fields().iter().map(place_of).collect()
}
