//! The order of rows inside files: by partition, then as `sort_by` says, then as the query says.

use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::Schema;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexRequirement, PhysicalExpr, PhysicalSortRequirement};
use partwise_commit::TableSchema;

use super::options::SortColumn;

/// One column of the order that a query gives its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowOrder {
    /// The column of the write's input: one of the table's by position, or one behind them that
    /// isn't written.
    pub column: usize,
    /// Which way, and where NULLs go.
    pub options: SortOptions,
}

impl RowOrder {
    pub(super) fn display(self, input: &Schema) -> String {
        let name = input.field(self.column).name().clone();
        let SortOptions { descending, nulls_first } = self.options;
        SortColumn { name, descending, nulls_first }.to_string()
    }
}

/// What the rows must come in; none where no order inside files is wanted.
pub(super) fn required_order(
    schema: &TableSchema,
    sort_by: &[SortColumn],
    order: &[RowOrder],
    input: &Schema,
) -> Option<LexRequirement> {
    if sort_by.is_empty() && order.is_empty() {
        return None;
    }
    let keys = schema.partition_indices().iter().map(|&index| (index, SortOptions::default()));
    let inside = sort_by.iter().filter_map(|sort| {
        let index = schema.arrow().index_of(&sort.name).ok()?;
        let options = SortOptions { descending: sort.descending, nulls_first: sort.nulls_first };
        Some((index, options))
    });
    let query = order.iter().map(|key| (key.column, key.options));
    let all = keys.chain(inside).chain(query);
    LexRequirement::new(
        all.map(|(index, options)| {
            PhysicalSortRequirement::new(column(input, index), Some(options))
        }),
    )
}

/// A column of the input.
pub(super) fn column(input: &Schema, index: usize) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(input.field(index).name(), index))
}
