//! MERGE, and UPDATE with a FROM: rows of the table by the rows of a source.
//!
//! ```text
//! source --read once, held in memory, numbered-->
//!    x table ON ..  --pairs: rule, row, source row-->  a row twice? refused
//!                                                      partitions that change; source rows without a match
//!    x touched partitions  --rule of the pair--> kept, updated, deleted rows
//!    unmatched source rows --rule--------------> new rows
//! ```

mod pairs;
mod rows;
mod rules;
mod source;

use datafusion::logical_expr::{Expr, LogicalPlanBuilder};

use self::pairs::Pairs;
use self::rules::Rules;
pub use self::source::Source;
use super::reading::Reading;
use super::subqueries::asks_query;
use super::target::Found;
use super::touched::Collector;
use super::{Changed, is_volatile};
use crate::statement::{Merge, Update};
use crate::{Error, Result};

/// What a MERGE comes to.
pub async fn changed(reading: &mut Reading<'_>, found: &Found, merge: &Merge) -> Result<Changed> {
    let (rules, source) = Rules::of_merge(reading, found, merge).await?;
    merged(reading, found, rules, source, "MERGE").await
}

/// What an UPDATE with a FROM comes to.
pub async fn update_from(
    reading: &mut Reading<'_>,
    found: &Found,
    update: &Update,
) -> Result<Changed> {
    let (rules, source) = Rules::of_update(reading, found, update).await?;
    merged(reading, found, rules, source, "UPDATE").await
}

async fn merged(
    reading: &mut Reading<'_>,
    found: &Found,
    rules: Rules,
    source: Source,
    statement: &str,
) -> Result<Changed> {
    let mut collector = Collector::new(found.table.table_schema().partition_columns());
    let pairs = Pairs::find(reading, found, &rules, &source, &mut collector, statement).await?;
    pairs::alone(reading, found, &rules, &source, &mut collector).await?;
    let changes_rows = !collector.is_empty();
    let new = rows::new_rows(found, &rules, &source, &pairs)?;
    if let Some(new) = &new {
        pairs::arrivals(reading, found, new, &mut collector).await?;
    }
    let touched = collector.touched();
    if touched.is_nothing() {
        return Ok(Changed::nothing());
    }
    let rows = match (changes_rows, new) {
        (false, new) => new,
        (true, None) => Some(rows::old_rows(found, &rules, &source, &pairs, &touched)?),
        (true, Some(new)) => {
            let old = rows::old_rows(found, &rules, &source, &pairs, &touched)?;
            Some(LogicalPlanBuilder::from(old).union(new)?.build()?)
        }
    };
    Ok(Changed { rows, has_actions: true, touched, appends: !changes_rows })
}

/// Refuses what a join's condition can't ask.
pub fn refuse_in_join(place: &str, condition: &Expr) -> Result<()> {
    let why = match (asks_query(condition), is_volatile(condition)) {
        (true, _) => "a query in it: join what it asks for to the source",
        (_, true) => "an answer that differs each time it is asked: make it a column of the source",
        _ => return Ok(()),
    };
    Err(Error::unsupported(format!("{place} has {why}")))
}
