//! DELETE: the rows that the condition isn't true of stay.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, JoinType};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit};

use partwise_table::{partition_scope, scope_schema};

use super::helper::planned;
use super::merge::{Source, refuse_in_join};
use super::reading::Reading;
use super::subqueries::{asks_query, not_true_of, true_of};
use super::target::Found;
use super::touched::Touched;
use super::{Changed, columns_asked, is_volatile, partitions_of};
use crate::Result;
use crate::plan::fold::folded;
use crate::statement::Delete;

/// What a DELETE comes to.
pub async fn changed(reading: &mut Reading<'_>, found: &Found, delete: &Delete) -> Result<Changed> {
    if !delete.using.is_empty() {
        return joined(reading, found, delete).await;
    }
    let Some(condition) = &delete.condition else { return Ok(Changed::emptied(Touched::All)) };
    let from = vec![delete.target.from()];
    let condition = std::slice::from_ref(condition);
    let planned = planned(reading.state(), delete.with.as_ref(), condition, from).await?;
    let (condition, rows) = (&planned.exprs[0], planned.from);
    found.check(&rows)?;
    let hits = LogicalPlanBuilder::from(rows.clone()).filter(true_of(condition, rows.schema())?)?;
    let by_names = decides_partitions(found, condition);
    let touched = if is_volatile(condition) {
        Touched::All
    } else if by_names && !asks_query(condition) && found.is_partitioned() {
        named(reading, found, condition).await?
    } else {
        let keys = found.keys_of(&found.as_it_is(&rows)?);
        partitions_of(reading, found, hits.build()?, keys).await?
    };
    if touched.is_nothing() || by_names {
        return Ok(Changed::emptied(touched));
    }
    let stay = LogicalPlanBuilder::from(within(found, &touched, &rows)?)
        .filter(not_true_of(condition, rows.schema())?)?
        .build()?;
    kept(found, stay, touched)
}

/// The rows of the touched partitions.
pub fn within(found: &Found, touched: &Touched, rows: &LogicalPlan) -> Result<LogicalPlan> {
    let schema = found.table.table_schema();
    touched.rows(rows, schema.partition_columns(), schema.partition_indices())
}

fn kept(found: &Found, rows: LogicalPlan, touched: Touched) -> Result<Changed> {
    let columns = found.named(found.as_it_is(&rows)?);
    let rows = LogicalPlanBuilder::from(rows).project(columns)?.build()?;
    Ok(Changed { rows: Some(rows), has_actions: false, touched, appends: false })
}

/// Whether the condition is true of all rows of a partition, or of none.
fn decides_partitions(found: &Found, condition: &Expr) -> bool {
    let columns = found.table.table_schema().partition_columns();
    let known = |name: &String| columns.iter().any(|column| column.name == *name);
    !is_volatile(condition) && columns_asked(condition).iter().all(known)
}

/// The partitions that a condition over their columns is true of, by the names of their directories.
async fn named(reading: &Reading<'_>, found: &Found, condition: &Expr) -> Result<Touched> {
    let columns = found.table.table_schema().partition_columns();
    let schema = DFSchema::try_from(scope_schema(columns))?;
    let condition = condition.clone().transform_up(|part| match part {
        Expr::Column(column) => {
            Ok(Transformed::yes(Expr::Column(Column::new_unqualified(column.name))))
        }
        other => Ok(Transformed::no(other)),
    })?;
    let state = reading.state();
    let condition = state.create_physical_expr(folded(state, condition.data, &schema)?, &schema)?;
    let selector = partition_scope(columns, &[condition])?;
    let snapshot = found.table.table().snapshot(columns, selector.as_ref()).await?;
    let there = snapshot.partitions.into_iter().filter(|partition| !partition.files.is_empty());
    Ok(Touched::Keys(Arc::new(there.map(|partition| partition.key).collect())))
}

/// `DELETE .. USING`: rows go for which there is one of the other tables, and stay otherwise.
async fn joined(reading: &mut Reading<'_>, found: &Found, delete: &Delete) -> Result<Changed> {
    let with = delete.with.as_ref();
    let state = reading.state();
    let rows = planned(state, with, &[], vec![delete.target.from()]).await?.from;
    found.check(&rows)?;
    let both = [vec![delete.target.from()], delete.using.clone()].concat();
    let condition = match &delete.condition {
        Some(condition) => {
            planned(state, with, std::slice::from_ref(condition), both).await?.exprs.remove(0)
        }
        None => lit(true),
    };
    refuse_in_join("WHERE with USING", &condition)?;
    let using = planned(state, with, &[], delete.using.clone()).await?.from;
    let source = Source::collect(reading, using).await?;
    let join = |rows: LogicalPlan, kind: JoinType| -> Result<LogicalPlan> {
        let join = LogicalPlanBuilder::from(source.rows()?);
        Ok(join.join_on(rows, kind, [condition.clone()])?.build()?)
    };
    let hits = join(rows.clone(), JoinType::RightSemi)?;
    let keys = found.keys_of(&found.as_it_is(&hits)?);
    let touched = partitions_of(reading, found, hits, keys).await?;
    if touched.is_nothing() {
        return Ok(Changed::emptied(touched));
    }
    let stay = join(within(found, &touched, &rows)?, JoinType::RightAnti)?;
    kept(found, stay, touched)
}
