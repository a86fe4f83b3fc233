//! Filters over partition columns as the selector that the snapshot's lister asks.

use std::sync::Arc;

use arrow::array::{Array, BooleanArray, RecordBatch};
use arrow::datatypes::SchemaRef;
use arrow::util::display::array_value_to_string;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::exec_datafusion_err;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns, split_conjunction};
use partwise_commit::{PartitionColumn, PartitionSelector, PartitionValue};

use super::leading::named_values;
use super::{relax, render};
use crate::error::invalid;
use crate::value::{partition_schema, prefix_batch};

/// The conjuncts of a scan's filters that say something about partitions, per directory level.
#[derive(Debug)]
pub(crate) struct PartitionPredicate {
    columns: Vec<PartitionColumn>,
    /// `levels[k]` is asked with the values of the first `k + 1` columns.
    levels: Vec<Level>,
    /// The values named for the first columns.
    leading: Vec<Vec<PartitionValue>>,
}

#[derive(Debug)]
struct Level {
    schema: SchemaRef,
    conjuncts: Vec<Conjunct>,
}

#[derive(Debug)]
struct Conjunct {
    expr: Arc<dyn PhysicalExpr>,
    /// The whole of the user's condition: nobody asks it again above the scan.
    exact: bool,
}

impl PartitionPredicate {
    /// The predicate of `filters` (ANDed, over any columns of the table) on `columns`.
    ///
    /// # Errors
    /// An expression that can't be moved onto the partition columns.
    pub(crate) fn new(
        columns: &[PartitionColumn],
        filters: &[Arc<dyn PhysicalExpr>],
    ) -> Result<Self> {
        let levels = (1..=columns.len())
            .map(|known| Level::new(&columns[..known], filters))
            .collect::<Result<Vec<_>>>()?;
        let named = columns.iter().zip(&levels).map_while(|(column, level)| {
            named_values(column, level.conjuncts.iter().map(|conjunct| &conjunct.expr))
        });
        let leading = named.collect();
        Ok(Self { columns: columns.to_vec(), levels, leading })
    }

    /// Whether every partition is selected.
    pub(crate) fn selects_everything(&self) -> bool {
        self.levels.last().is_none_or(|level| level.conjuncts.is_empty())
    }

    /// The conditions on partitions as EXPLAIN shows them.
    pub(crate) fn rendered(&self) -> Vec<String> {
        let Some(level) = self.levels.last() else { return Vec::new() };
        level.conjuncts.iter().map(|conjunct| render(&conjunct.expr)).collect()
    }

    fn select_level(&self, known: usize, prefixes: &[&[PartitionValue]]) -> Result<Vec<bool>> {
        let Some(level) = known.checked_sub(1).and_then(|index| self.levels.get(index)) else {
            return Ok(vec![true; prefixes.len()]);
        };
        if level.conjuncts.is_empty() {
            return Ok(vec![true; prefixes.len()]);
        }
        let batch = prefix_batch(&self.columns[..known], &level.schema, prefixes)?;
        let deepest = known == self.columns.len();
        let mut kept = vec![true; prefixes.len()];
        for conjunct in &level.conjuncts {
            conjunct.narrow(&batch, deepest, &mut kept)?;
        }
        Ok(kept)
    }
}

impl PartitionSelector for PartitionPredicate {
    fn select(&self, prefixes: &[Vec<PartitionValue>]) -> partwise_commit::Result<Vec<bool>> {
        let failed = |error| invalid("the partition filters can't be evaluated", error);
        let slices: Vec<&[PartitionValue]> = prefixes.iter().map(Vec::as_slice).collect();
        let Some(first) = slices.first() else { return Ok(Vec::new()) };
        if slices.iter().all(|prefix| prefix.len() == first.len()) {
            return self.select_level(first.len(), &slices).map_err(failed);
        }
        let one_by_one = slices.iter().map(|prefix| self.select_level(prefix.len(), &[prefix]));
        let kept = one_by_one.collect::<Result<Vec<_>>>().map_err(failed)?;
        Ok(kept.into_iter().flatten().collect())
    }

    fn leading_values(&self) -> Vec<Vec<PartitionValue>> {
        self.leading.clone()
    }
}

impl Level {
    fn new(columns: &[PartitionColumn], filters: &[Arc<dyn PhysicalExpr>]) -> Result<Self> {
        let schema = partition_schema(columns);
        let known = |name: &str| columns.iter().any(|column| column.name == name);
        let mut conjuncts = Vec::new();
        for filter in filters.iter().flat_map(split_conjunction) {
            let Some(relaxed) = relax(filter, &known) else { continue };
            let exact = collect_columns(filter).iter().all(|column| known(column.name()));
            for part in split_conjunction(&relaxed) {
                let expr = reassign_expr_columns(Arc::clone(part), &schema)?;
                conjuncts.push(Conjunct { expr, exact });
            }
        }
        Ok(Self { schema, conjuncts })
    }
}

impl Conjunct {
    /// Takes away the rows for which the condition isn't true.
    ///
    /// An error counts only for a row that no earlier conjunct took away, and only where this is
    /// the last word on it: elsewhere the row may match and the error, if it is one, comes later.
    fn narrow(&self, batch: &RecordBatch, deepest: bool, kept: &mut [bool]) -> Result<()> {
        if let Ok(answers) = truths(&self.expr, batch) {
            kept.iter_mut().zip(answers).for_each(|(kept, answer)| *kept &= answer);
            return Ok(());
        }
        for (row, kept) in kept.iter_mut().enumerate().filter(|(_, kept)| **kept) {
            match truths(&self.expr, &batch.slice(row, 1)) {
                Ok(answer) => *kept = answer.first().copied().unwrap_or(true),
                Err(error) if self.exact && deepest => {
                    return Err(failed(&self.expr, &batch.slice(row, 1), &error));
                }
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// One error that says all: the innermost is the one that is shown.
fn failed(
    expr: &Arc<dyn PhysicalExpr>,
    row: &RecordBatch,
    cause: &DataFusionError,
) -> DataFusionError {
    exec_datafusion_err!(
        "{cause}, in {} for the partition {}; to leave that partition out, add a condition that is \
         false for it",
        render(expr),
        described(row)
    )
}

/// A row of partition values, `dt=2024-01-15, hr=7`.
fn described(row: &RecordBatch) -> String {
    let text = |array| array_value_to_string(array, 0).unwrap_or_else(|_| "?".to_owned());
    let schema = row.schema();
    let fields = schema.fields().iter().zip(row.columns());
    let values = fields.map(|(field, array)| format!("{}={}", field.name(), text(array)));
    values.collect::<Vec<_>>().join(", ")
}

/// For each row, whether the condition is true: neither false nor NULL.
fn truths(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Result<Vec<bool>> {
    let array = expr.evaluate(batch)?.into_array(batch.num_rows())?;
    if array.data_type().is_null() {
        return Ok(vec![false; array.len()]);
    }
    let answers: &BooleanArray = as_boolean_array(&array)?;
    Ok(answers.iter().map(|answer| answer == Some(true)).collect())
}
