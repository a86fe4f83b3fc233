//! What the touched partitions hold after a MERGE: rows kept, changed, dropped, and new ones.

use datafusion::common::JoinType;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, col, lit, when};

use super::super::delete::within;
use super::super::tally::RowAction;
use super::super::target::Found;
use super::super::touched::Touched;
use super::pairs::{Pairs, by_rule, changing, with_rule};
use super::rules::{Rule, Rules, followed};
use super::source::{NUMBER, Source};
use crate::Result;

/// The rows of the touched partitions, each once, with what becomes of it.
///
/// # Errors
/// None that rules once planned can give.
pub fn old_rows(
    found: &Found,
    rules: &Rules,
    source: &Source,
    pairs: &Pairs,
    touched: &Touched,
) -> Result<LogicalPlan> {
    let rows = within(found, touched, &rules.target)?;
    let alone = followed(&rules.alone, rules.matched.len())?;
    if !pairs.several {
        let rows = join(source, rows, JoinType::Right, rules.on.clone())?;
        let matched = followed(&rules.matched, 0)?;
        let rule = when(col(NUMBER).is_null(), alone).otherwise(matched)?;
        return written(found, rules, rules.numbered(), with_rule(rows, rule)?);
    }
    let in_pairs = match rules.alone.is_empty() {
        true => rows.clone(),
        false => join(source, rows.clone(), JoinType::RightSemi, rules.on.clone())?,
    };
    let in_pairs = with_one(found, rules, source, in_pairs)?;
    if rules.alone.is_empty() {
        return Ok(in_pairs);
    }
    let others = join(source, rows, JoinType::RightAnti, rules.on.clone())?;
    let numbered = rules.numbered().skip(rules.matched.len());
    let others = written(found, rules, numbered, with_rule(others, alone)?)?;
    Ok(LogicalPlanBuilder::from(in_pairs).union(others)?.build()?)
}

/// Rows in several pairs, each with the pair alone that changes it.
fn with_one(
    found: &Found,
    rules: &Rules,
    source: &Source,
    rows: LogicalPlan,
) -> Result<LogicalPlan> {
    let matched = &rules.matched;
    if matched.iter().all(|rule| rule.action == RowAction::Keep) {
        return written(found, rules, std::iter::empty(), rows);
    }
    let on = match changes(matched)? {
        Some(changes) => rules.on.clone().and(changes),
        None => rules.on.clone(),
    };
    let rows = join(source, rows, JoinType::Right, on)?;
    let rule = when(col(NUMBER).is_null(), lit(0_i32)).otherwise(followed(matched, 0)?)?;
    let numbered = rules.numbered().take(matched.len());
    written(found, rules, numbered, with_rule(rows, rule)?)
}

fn join(source: &Source, rows: LogicalPlan, kind: JoinType, on: Expr) -> Result<LogicalPlan> {
    Ok(LogicalPlanBuilder::from(source.rows()?).join_on(rows, kind, [on])?.build()?)
}

/// Whether the rule that is followed for a pair changes its row; none: always.
fn changes(matched: &[Rule]) -> Result<Option<Expr>> {
    let always = |rule: &Rule| rule.condition.is_none() && rule.action != RowAction::Keep;
    if matched.first().is_some_and(always) {
        return Ok(None);
    }
    let mut answer = lit(false);
    for rule in matched.iter().rev() {
        let changes = lit(rule.action != RowAction::Keep);
        answer = match &rule.condition {
            None => changes,
            Some(condition) => when(condition.clone(), changes).otherwise(answer)?,
        };
    }
    Ok(Some(answer))
}

/// Rows with the number of their rule as rows of the table, and what becomes of them.
fn written<'a>(
    found: &Found,
    rules: &Rules,
    numbered: impl Iterator<Item = (i32, &'a Rule)> + Clone,
    rows: LogicalPlan,
) -> Result<LogicalPlan> {
    let before = found.as_it_is(&rules.target)?;
    let columns = before
        .into_iter()
        .enumerate()
        .map(|(index, before)| by_rule(numbered.clone(), |rule| rule.row[index].clone(), before));
    let mut columns = found.named(columns.collect::<Result<Vec<_>>>()?);
    let keep = RowAction::Keep.literal();
    let action = by_rule(numbered, |rule| rule.action.literal(), keep)?;
    columns.push(action.alias(RowAction::COLUMN));
    Ok(LogicalPlanBuilder::from(rows).project(columns)?.build()?)
}

/// The rows that are new; none where no row of the source is without a match.
///
/// # Errors
/// None that rules once planned can give.
pub fn new_rows(
    found: &Found,
    rules: &Rules,
    source: &Source,
    pairs: &Pairs,
) -> Result<Option<LogicalPlan>> {
    let numbered = || (1..).zip(&rules.unmatched);
    if numbered().all(|(_, rule)| rule.action == RowAction::Keep) {
        return Ok(None);
    }
    let Some(open) = source.rows_but(&pairs.matched)? else { return Ok(None) };
    let rows = with_rule(open, followed(&rules.unmatched, 0)?)?;
    let rows = LogicalPlanBuilder::from(rows).filter(changing(numbered()))?;
    let columns = found
        .nulls()
        .into_iter()
        .enumerate()
        .map(|(index, null)| by_rule(numbered(), |rule| rule.row[index].clone(), null));
    let mut columns = found.named(columns.collect::<Result<Vec<_>>>()?);
    columns.push(RowAction::Insert.literal().alias(RowAction::COLUMN));
    Ok(Some(rows.project(columns)?.build()?))
}
