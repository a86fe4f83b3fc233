//! The table that a statement changes, as its queries see it.

use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::{Column, ScalarValue, TableReference};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};
use partwise_table::PartwiseTable;

use super::helper::assigned;
use crate::plan::assign::cast;
use crate::statement::{Setting, Target};
use crate::{Error, Result, lookup, scans};

/// A table that was found.
pub struct Found {
    /// Its name, as the statement gives it.
    pub name: TableReference,
    /// The table.
    pub table: PartwiseTable,
}

impl Found {
    /// Finds the table of a statement.
    ///
    /// # Errors
    /// No table of that name, or one that isn't ours.
    pub async fn find(state: &SessionState, target: &Target) -> Result<Self> {
        let name = lookup::reference(&target.name.to_string());
        let provider = lookup::changed(state, &name).await?;
        lookup::refuse_stream(&target.name, provider.as_ref())?;
        let table = lookup::ours(&target.name, &provider).map_err(|_| not_ours(&target.name))?;
        Ok(Self { name, table: table.clone() })
    }

    /// Checks that rows are the table's own: a WITH or a view may have its name.
    ///
    /// # Errors
    /// They are others.
    pub fn check(&self, rows: &LogicalPlan) -> Result<()> {
        let scan = match rows {
            LogicalPlan::SubqueryAlias(alias) => alias.input.as_ref(),
            scan => scan,
        };
        let own = scans::table_of(scan)
            .is_some_and(|table| table.location().display() == self.table.location().display());
        match own {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "{} is the name of a WITH here, and of the table that changes: call the WITH \
                 something else",
                self.name.table()
            ))),
        }
    }

    /// The fields of its columns, in declared order.
    pub fn fields(&self) -> &[FieldRef] {
        self.table.table_schema().arrow().fields()
    }

    /// A column by its name, without case.
    ///
    /// # Errors
    /// A name that it hasn't.
    pub fn column(&self, name: &str) -> Result<usize> {
        let fields = self.fields();
        let exact = fields.iter().position(|field| field.name() == name);
        let found = exact
            .or_else(|| fields.iter().position(|field| field.name().eq_ignore_ascii_case(name)));
        found.ok_or_else(|| {
            let known: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            Error::invalid(format!(
                "{} has no column {name}; it has {}",
                self.name.table(),
                known.join(", ")
            ))
        })
    }

    /// The columns that settings set, in order.
    ///
    /// # Errors
    /// A name that it hasn't; a column that is set twice.
    pub fn columns_set(&self, settings: &[Setting]) -> Result<Vec<usize>> {
        let mut indices = Vec::with_capacity(settings.len());
        for setting in settings {
            let index = self.column(&setting.column.value)?;
            if indices.contains(&index) {
                return Err(Error::invalid(format!("column {} is set twice", setting.column)));
            }
            indices.push(index);
        }
        Ok(indices)
    }

    /// All columns of a row as it is, of the table's types. `rows` has them first.
    ///
    /// # Errors
    /// None that rows of the table can give.
    pub fn as_it_is(&self, rows: &LogicalPlan) -> Result<Vec<Expr>> {
        let pairs = rows.schema().iter().zip(self.fields());
        let exprs = pairs.map(|((qualifier, given), field)| {
            let column = Expr::Column(Column::new(qualifier.cloned(), given.name()));
            match given.data_type() == field.data_type() {
                true => column,
                false => cast(column, field.data_type()),
            }
        });
        Ok(exprs.collect())
    }

    /// A row with some of its columns set: values come with their texts, by the columns' indices.
    ///
    /// # Errors
    /// A value that the column doesn't take without a CAST.
    pub fn with_values(
        &self,
        state: &SessionState,
        from: &LogicalPlan,
        mut row: Vec<Expr>,
        indices: &[usize],
        values: Vec<(Expr, String)>,
    ) -> Result<Vec<Expr>> {
        let fields: Vec<FieldRef> =
            indices.iter().map(|index| self.fields()[*index].clone()).collect();
        let assigned = assigned(state, from, values, &fields)?;
        for (index, value) in indices.iter().zip(assigned) {
            row[*index] = value;
        }
        Ok(row)
    }

    /// NULL in every column.
    pub fn nulls(&self) -> Vec<Expr> {
        self.fields().iter().map(|field| cast(lit(ScalarValue::Null), field.data_type())).collect()
    }

    /// The partition columns among expressions for all columns.
    pub fn keys_of(&self, row: &[Expr]) -> Vec<Expr> {
        let indices = self.table.table_schema().partition_indices();
        indices.iter().map(|index| row[*index].clone()).collect()
    }

    /// Whether it has partition columns.
    pub fn is_partitioned(&self) -> bool {
        !self.table.table_schema().partition_columns().is_empty()
    }

    /// Whether one of these columns is a partition column.
    pub fn moves_rows(&self, columns: &[usize]) -> bool {
        let partitions = self.table.table_schema().partition_indices();
        columns.iter().any(|column| partitions.contains(column))
    }

    /// Expressions for all columns, and what else is given, under the columns' names.
    pub fn named(&self, row: Vec<Expr>) -> Vec<Expr> {
        let pairs = row.into_iter().zip(self.fields());
        pairs.map(|(expr, field)| expr.unalias().alias(field.name())).collect()
    }

    /// No rows, of the table's columns.
    ///
    /// # Errors
    /// None.
    pub fn no_rows(&self) -> Result<LogicalPlan> {
        let rows = LogicalPlanBuilder::empty(false).project(self.named(self.nulls()))?;
        Ok(rows.build()?)
    }
}

fn not_ours(name: &dyn std::fmt::Display) -> Error {
    Error::unsupported(format!(
        "{name} is not a table of Parquet files in a directory: DELETE, UPDATE and MERGE change no \
         other; make it anew from a query"
    ))
}
