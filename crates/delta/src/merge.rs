//! Update: MERGE on the keys.

use std::sync::Arc;

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::common::Column;
use datafusion::dataframe::DataFrame;
use datafusion::datasource::{MemTable, provider_as_source};
use datafusion::execution::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, Operator, binary_expr, lit};
use deltalake::DeltaTable;
use deltalake::operations::merge::MergeBuilder;
use partwise_stream::Result;
use partwise_stream::sink::SinkBatch;

use crate::claims::Claims;
use crate::error::from_delta;
use crate::fit::Fit;
use crate::place::Place;
use crate::write::{fit, session, snapshot};

const OLD: &str = "old";
const NEW: &str = "new";

/// Puts rows in the place of those with equal keys, and adds the others.
pub(crate) async fn update(
    place: &Place,
    table: &DeltaTable,
    batch: &SinkBatch,
    claims: Claims,
) -> Result<u64> {
    let snapshot = snapshot(place, table)?;
    let fit = fit(place, snapshot, &batch.query.schema)?;
    let rows = batch.rows.collect(&batch.state).await?;
    let rows = rows.iter().map(|rows| fit.apply(rows)).collect::<Result<Vec<_>>>()?;
    let changed = rows.iter().map(|rows| rows.num_rows() as u64).sum();
    let session = session(&batch.state)?;
    let equal = equal_keys(&fit, &batch.query.keys, &rows);
    let source = source(&fit, rows, &session)?;
    let columns: Vec<&str> = fit.given().collect();
    let set = columns.iter().map(|name| (Column::new_unqualified(*name), named(NEW, name)));
    let merge = MergeBuilder::new(table.log_store(), Some(snapshot.clone()), equal, source)
        .with_source_alias(NEW)
        .with_target_alias(OLD)
        .with_session_state(Arc::new(session))
        // Any other commit may have brought rows with these keys.
        .with_commit_properties(claims.commit(batch).with_max_retries(0))
        .when_matched_update(|update| {
            set.clone().fold(update, |update, (column, value)| update.update(column, value))
        })
        .and_then(|merge| {
            merge.when_not_matched_insert(|insert| {
                set.fold(insert, |insert, (column, value)| insert.set(column, value))
            })
        });
    let merged = merge.map_err(|e| from_delta(place, e))?.await;
    merged.map_err(|e| from_delta(place, e))?;
    Ok(changed)
}

fn source(fit: &Fit, rows: Vec<RecordBatch>, session: &SessionState) -> Result<DataFrame> {
    let table = MemTable::try_new(Arc::clone(fit.schema()), vec![rows])?;
    let plan = LogicalPlanBuilder::scan(NEW, provider_as_source(Arc::new(table)), None)?;
    Ok(DataFrame::new(session.clone(), plan.build()?))
}

/// The condition that an old row and a new one have equal keys, NULL equal to NULL. Where no new row
/// has NULL in a key, plain equality says the same, and leaves out files by their statistics.
fn equal_keys(fit: &Fit, keys: &[String], rows: &[RecordBatch]) -> Expr {
    let equal = |key: &String| {
        let found = fit.schema().fields().iter().position(|f| f.name().eq_ignore_ascii_case(key));
        let name = found.map_or(key.as_str(), |at| fit.schema().field(at).name());
        let has_null =
            |rows: &RecordBatch| found.is_some_and(|at| rows.column(at).logical_null_count() > 0);
        let operator = match rows.iter().any(has_null) {
            true => Operator::IsNotDistinctFrom,
            false => Operator::Eq,
        };
        binary_expr(named(OLD, name), operator, named(NEW, name))
    };
    keys.iter().map(equal).reduce(Expr::and).unwrap_or_else(|| lit(true))
}

fn named(relation: &str, name: &str) -> Expr {
    Expr::Column(Column::new(Some(relation), name))
}
