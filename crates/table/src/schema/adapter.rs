//! How one file's columns are read as the table's: by name without case, widened, or NULL.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{CastExpr, Column};
use datafusion::physical_expr_adapter::{
    DefaultPhysicalExprAdapter, PhysicalExprAdapter, PhysicalExprAdapterFactory,
};

use super::{Unfit, WholeUnits, coarsens, same_name, widens};

/// Makes an adapter per file.
#[derive(Debug)]
pub(crate) struct WideningAdapterFactory {
    /// Where rows are read to be written anew: the partition columns, which a file may have besides
    /// the table's others. A file with any more is refused.
    pub(crate) whole_rows: Option<Vec<String>>,
}

/// Adapters for files of any tool that are read as declared columns: by name without case, widened
/// where every value fits, NULL where a file lacks a column. What doesn't fit is an error.
pub fn widening_adapters() -> Arc<dyn PhysicalExprAdapterFactory> {
    Arc::new(WideningAdapterFactory { whole_rows: None })
}

impl WideningAdapterFactory {
    fn check(&self, table: &Schema, file: &Schema) -> Result<()> {
        let Some(partition_columns) = &self.whole_rows else { return Ok(()) };
        let known = |name: &str| {
            table.fields().iter().any(|field| same_name(field.name(), name))
                || partition_columns.iter().any(|column| same_name(column, name))
        };
        match file.fields().iter().find(|field| !known(field.name())) {
            None => Ok(()),
            Some(extra) => Err(DataFusionError::External(Box::new(Unfit::Extra {
                column: extra.name().clone(),
            }))),
        }
    }
}

impl PhysicalExprAdapterFactory for WideningAdapterFactory {
    fn create(
        &self,
        logical_file_schema: SchemaRef,
        physical_file_schema: SchemaRef,
    ) -> Result<Arc<dyn PhysicalExprAdapter>> {
        self.check(&logical_file_schema, &physical_file_schema)?;
        let renamed = rename(&logical_file_schema, &physical_file_schema);
        Ok(Arc::new(WideningAdapter {
            inner: DefaultPhysicalExprAdapter::new(Arc::clone(&logical_file_schema), renamed),
            table: logical_file_schema,
            file: physical_file_schema,
        }))
    }
}

/// The file's fields under the names that the table has for them. A field of the table's type takes
/// the table's field as it is: nullability and metadata alone are no reason to cast.
fn rename(table: &Schema, file: &Schema) -> SchemaRef {
    let by_name: HashMap<String, usize> = table
        .fields()
        .iter()
        .enumerate()
        .map(|(index, field)| (field.name().to_lowercase(), index))
        .collect();
    let fields: Vec<_> = file
        .fields()
        .iter()
        .map(|field| {
            let exact = table.index_of(field.name()).ok();
            let other_case = || by_name.get(&field.name().to_lowercase()).copied();
            // Of two columns that differ in case only, the one spelled like the table's is meant.
            let free = |index: &usize| file.index_of(table.field(*index).name()).is_err();
            let target = exact.or_else(|| other_case().filter(free));
            match target.map(|index| &table.fields()[index]) {
                None => Arc::clone(field),
                Some(target) if target.data_type() == field.data_type() => Arc::clone(target),
                Some(target) => Arc::new(field.as_ref().clone().with_name(target.name())),
            }
        })
        .collect();
    Arc::new(Schema::new(fields))
}

#[derive(Debug)]
struct WideningAdapter {
    inner: DefaultPhysicalExprAdapter,
    table: SchemaRef,
    file: SchemaRef,
}

impl PhysicalExprAdapter for WideningAdapter {
    fn rewrite(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        self.check(&expr)?;
        let rewritten = self.whole_units(self.inner.rewrite(expr)?)?;
        self.with_file_names(rewritten)
    }
}

impl WideningAdapter {
    /// Refuses a column whose type in the file doesn't widen to the table's.
    fn check(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<()> {
        for column in datafusion::physical_expr::utils::collect_columns(expr) {
            let Ok(wanted) = self.table.field_with_name(column.name()) else { continue };
            let exact = self.file.fields().find(wanted.name()).map(|(_, field)| field);
            let other_case =
                || self.file.fields().iter().find(|field| same_name(field.name(), wanted.name()));
            let found = exact.or_else(other_case);
            let Some(found) = found else { continue };
            let (from, to) = (found.data_type(), wanted.data_type());
            if !widens(from, to) && !coarsens(from, to) {
                return Err(DataFusionError::External(Box::new(Unfit::Type {
                    column: wanted.name().clone(),
                    table: wanted.data_type().clone(),
                    file: found.data_type().clone(),
                })));
            }
        }
        Ok(())
    }

    /// Checks each value where a timestamp is cast to a coarser unit.
    fn whole_units(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        expr.transform(|node| {
            let Some(cast) = node.downcast_ref::<CastExpr>() else {
                return Ok(Transformed::no(node));
            };
            let Some(column) = cast.expr().downcast_ref::<Column>() else {
                return Ok(Transformed::no(node));
            };
            let from = self.file.field(column.index()).data_type();
            if widens(from, cast.cast_type()) || !coarsens(from, cast.cast_type()) {
                return Ok(Transformed::no(node));
            }
            let target = Arc::clone(cast.target_field());
            let checked = WholeUnits::new(Arc::clone(cast.expr()), column.name(), target);
            Ok(Transformed::yes(Arc::new(checked) as Arc<dyn PhysicalExpr>))
        })
        .data()
    }

    /// The decoder looks columns up by the names that the file has for them.
    fn with_file_names(&self, expr: Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        expr.transform(|node| {
            let Some(column) = node.downcast_ref::<Column>() else {
                return Ok(Transformed::no(node));
            };
            let name = self.file.field(column.index()).name();
            if name == column.name() {
                return Ok(Transformed::no(node));
            }
            let renamed = Column::new(name, column.index());
            Ok(Transformed::yes(Arc::new(renamed) as Arc<dyn PhysicalExpr>))
        })
        .data()
    }
}
