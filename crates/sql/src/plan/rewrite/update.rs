//! UPDATE: rows that the condition is true of have new values, in their partition or another.

use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, col, lit, when};
use datafusion::sql::sqlparser::ast::{Expr as SQLExpr, Value};

use super::delete::within;
use super::helper::planned;
use super::reading::Reading;
use super::subqueries::{asks_query, asks_rows, not_true_of, true_of};
use super::tally::RowAction;
use super::target::Found;
use super::touched::Touched;
use super::{Changed, is_volatile, merge, numbered, partitions_of};
use crate::statement::Setting;
use crate::statement::Update;
use crate::{Error, Result};

/// The column that says whether the condition is true of a row.
const HIT: &str = "__partwise_hit";

/// What an UPDATE comes to.
pub async fn changed(reading: &mut Reading<'_>, found: &Found, update: &Update) -> Result<Changed> {
    if !update.from.is_empty() {
        return merge::update_from(reading, found, update).await;
    }
    let set = found.columns_set(&update.settings)?;
    let change = change(reading, found, update, &set).await?;
    let touched = touched(reading, found, update, &set, &change).await?;
    if touched.is_nothing() {
        return Ok(Changed::nothing());
    }
    let rows = within(found, &touched, &change.rows)?;
    let asks = asks_query(&change.condition) || change.row.iter().any(asks_query);
    let rows = match asks {
        false => in_one_pass(found, &change, rows)?,
        true if is_volatile(&change.condition) => {
            return Err(Error::unsupported(
                "the condition's query may answer differently each time it is asked (LIMIT, a window, \
                 first_value and random() may): write its answer into a table first, CREATE TABLE \
                 chosen AS SELECT .., and ask for the rows of that",
            ));
        }
        true => in_two_parts(found, &change, rows)?,
    };
    Ok(Changed { rows: Some(rows), has_actions: true, touched, appends: false })
}

/// A condition, and the row as it is to be where it is true.
struct Change {
    condition: Expr,
    row: Vec<Expr>,
    rows: LogicalPlan,
}

async fn change(
    reading: &Reading<'_>,
    found: &Found,
    update: &Update,
    set: &[usize],
) -> Result<Change> {
    let mut exprs = vec![update.condition.clone().unwrap_or_else(always)];
    exprs.extend(update.settings.iter().map(value_of));
    let state = reading.state();
    let from = vec![update.target.from()];
    let planned = planned(state, update.with.as_ref(), &exprs, from).await?;
    found.check(&planned.from)?;
    let mut values = planned.exprs.into_iter();
    let condition = values.next().unwrap_or_else(|| lit(true));
    if let Some(wrong) = values.as_slice().iter().find(|value| asks_rows(value)) {
        return Err(Error::unsupported(format!(
            "IN and EXISTS in a value that is set ({}): say it with CASE and (SELECT count(*) ..) > 0",
            wrong.human_display()
        )));
    }
    let texts = exprs.iter().skip(1).map(ToString::to_string);
    let values: Vec<_> = values.zip(texts).collect();
    let row = found.as_it_is(&planned.from)?;
    let row = found.with_values(state, &planned.from, row, set, values)?;
    Ok(Change { condition, row, rows: planned.from })
}

fn always() -> SQLExpr {
    SQLExpr::Value(Value::Boolean(true).into())
}

/// What is set, NULL for DEFAULT.
pub fn value_of(setting: &Setting) -> SQLExpr {
    setting.value.clone().unwrap_or_else(|| SQLExpr::Value(Value::Null.into()))
}

/// The partitions of rows that change, and those they come to.
async fn touched(
    reading: &mut Reading<'_>,
    found: &Found,
    update: &Update,
    set: &[usize],
    change: &Change,
) -> Result<Touched> {
    let moves = found.moves_rows(set);
    let arrivals = found.keys_of(&change.row);
    let everywhere = update.condition.is_none() && !moves;
    let unsure = is_volatile(&change.condition) || (moves && arrivals.iter().any(is_volatile));
    let hits = true_of(&change.condition, change.rows.schema())?;
    let hits = LogicalPlanBuilder::from(change.rows.clone()).filter(hits)?.build()?;
    if everywhere || unsure {
        return Ok(Touched::All);
    }
    let mut keys = found.keys_of(&found.as_it_is(&change.rows)?);
    if moves {
        keys.extend(numbered(arrivals));
    }
    partitions_of(reading, found, hits, keys).await
}

/// Each row as it is to be, in one pass: the condition is asked once.
fn in_one_pass(found: &Found, change: &Change, rows: LogicalPlan) -> Result<LogicalPlan> {
    let mut all: Vec<Expr> = rows.schema().columns().into_iter().map(Expr::Column).collect();
    all.push(change.condition.clone().alias(HIT));
    let before = found.as_it_is(&rows)?;
    let rows = LogicalPlanBuilder::from(rows).project(all)?;
    let columns = change.row.iter().zip(before).map(|(after, before)| {
        Ok(match *after == before {
            true => before,
            false => when(col(HIT), after.clone()).otherwise(before)?,
        })
    });
    let mut columns = found.named(columns.collect::<Result<Vec<_>>>()?);
    let action =
        when(col(HIT), RowAction::Update.literal()).otherwise(RowAction::Keep.literal())?;
    columns.push(action.alias(RowAction::COLUMN));
    Ok(rows.project(columns)?.build()?)
}

/// The rows that change, and the others: queries in a condition are planned as such.
fn in_two_parts(found: &Found, change: &Change, rows: LogicalPlan) -> Result<LogicalPlan> {
    let part = |condition: Expr, row: Vec<Expr>, action: RowAction| -> Result<LogicalPlan> {
        let mut columns = found.named(row);
        columns.push(action.literal().alias(RowAction::COLUMN));
        let rows = LogicalPlanBuilder::from(rows.clone()).filter(condition)?;
        Ok(rows.project(columns)?.build()?)
    };
    let hits = true_of(&change.condition, rows.schema())?;
    let rest = not_true_of(&change.condition, rows.schema())?;
    let changed = part(hits, change.row.clone(), RowAction::Update)?;
    let kept = part(rest, found.as_it_is(&rows)?, RowAction::Keep)?;
    Ok(LogicalPlanBuilder::from(changed).union(kept)?.build()?)
}
