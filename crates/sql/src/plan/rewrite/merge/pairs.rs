//! What a MERGE changes, found before anything is written: pairs of rows, partitions, source rows
//! without a match; a row that would be changed twice.

use datafusion::arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{Int32Type, UInt64Type};
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::common::{Column, JoinType};
use datafusion::logical_expr::conditional_expressions::CaseBuilder;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, col, lit, when};
use futures::StreamExt;

use super::super::identity::row_number;
use super::super::reading::Reading;
use super::super::tally::RowAction;
use super::super::target::Found;
use super::super::touched::Collector;
use super::super::{add_partitions, numbered};
use super::rules::{Rule, Rules, followed};
use super::source::{NUMBER, Source};
use crate::{Error, ErrorKind, Result};

/// The column with the number of the rule that is followed.
pub const RULE: &str = "__partwise_rule";

/// The column with the number of the table's row.
const ROW: &str = "__partwise_row";

/// A set of dense numbers.
#[derive(Debug, Default)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// Puts a number in; false if it was.
    pub fn insert(&mut self, number: u64) -> bool {
        let (word, bit) = place(number);
        if word >= self.0.len() {
            self.0.resize((word + 1).max(2 * self.0.len()), 0);
        }
        let new = self.0[word] & bit == 0;
        self.0[word] |= bit;
        new
    }

    /// Whether it is in.
    pub fn holds(&self, number: u64) -> bool {
        let (word, bit) = place(number);
        self.0.get(word).is_some_and(|found| found & bit != 0)
    }
}

fn place(number: u64) -> (usize, u64) {
    ((number / 64) as usize, 1 << (number % 64))
}

/// The pairs of a table's rows and a source's.
#[derive(Debug, Default)]
pub struct Pairs {
    /// The source rows that have one.
    pub matched: Bits,
    /// Whether a row of the table is in several, or may be.
    pub several: bool,
}

/// The columns of each pair that are looked at, by position.
struct Looked {
    keys: usize,
    moves: bool,
    shown: Vec<String>,
}

impl Pairs {
    /// Finds them; the partitions of rows that change go to `partitions`.
    ///
    /// # Errors
    /// A row that would be changed for two rows of the source, with its key.
    pub async fn find(
        reading: &mut Reading<'_>,
        found: &Found,
        rules: &Rules,
        source: &Source,
        partitions: &mut Collector,
        statement: &str,
    ) -> Result<Self> {
        let mut pairs = Self::default();
        if rules.matched.is_empty() && rules.unmatched.is_empty() {
            pairs.several = true;
            return Ok(pairs);
        }
        let (plan, looked) = plan(found, rules, source)?;
        let (mut seen, mut changed) = (Bits::default(), Bits::default());
        let mut rows = reading.run(plan).await?;
        while let Some(batch) = rows.stream.next().await {
            let batch = batch?;
            let numbers = batch.column(0).as_primitive::<UInt64Type>().values();
            let sources = batch.column(1).as_primitive::<UInt64Type>().values();
            let changes = changes(rules, &batch);
            for (at, (row, source)) in numbers.iter().zip(sources).enumerate() {
                pairs.matched.insert(*source);
                pairs.several |= !seen.insert(*row);
                if changes.value(at) && !changed.insert(*row) {
                    return Err(twice(found, &looked, &batch, at, statement));
                }
            }
            add_changed(&looked, &batch, &changes, partitions)?;
        }
        Ok(pairs)
    }
}

/// For each pair whether the rule that is followed changes the row.
fn changes(rules: &Rules, batch: &RecordBatch) -> BooleanArray {
    let changing: Vec<bool> = std::iter::once(false)
        .chain(rules.numbered().map(|(_, rule)| rule.action != RowAction::Keep))
        .collect();
    let followed = batch.column(2).as_primitive::<Int32Type>().values();
    followed.iter().map(|rule| changing.get(*rule as usize).copied()).collect()
}

/// The query for row, source row, rule, old partition values, new ones, and what a message shows.
fn plan(found: &Found, rules: &Rules, source: &Source) -> Result<(LogicalPlan, Looked)> {
    let mut all: Vec<Expr> = columns(&rules.target);
    all.push(row_number().alias(ROW));
    let target = LogicalPlanBuilder::from(rules.target.clone()).project(all)?.build()?;
    let pairs = LogicalPlanBuilder::from(source.rows()?);
    let pairs = pairs.join_on(target, JoinType::Inner, [rules.on.clone()])?.build()?;
    let pairs = with_rule(pairs, followed(&rules.matched, 0)?)?;
    let mut looked = vec![col(ROW), col(NUMBER), col(RULE)];
    let keys = keys(found, rules, &rules.matched, 0)?;
    let moves = rules.moves;
    let old = found.keys_of(&found.as_it_is(&rules.target)?);
    let shown: Vec<Column> = rules.on.column_refs().into_iter().cloned().collect();
    let shown: Vec<Column> =
        shown.into_iter().filter(|c| rules.target.schema().has_column(c)).collect();
    let names = shown.iter().map(|column| column.name.clone()).collect();
    let width = old.len();
    looked.extend(keys);
    looked.extend(shown.into_iter().map(Expr::Column));
    let plan = LogicalPlanBuilder::from(pairs).project(numbered(looked))?.build()?;
    Ok((plan, Looked { keys: width, moves, shown: names }))
}

/// A plan's columns.
pub fn columns(plan: &LogicalPlan) -> Vec<Expr> {
    plan.schema().columns().into_iter().map(Expr::Column).collect()
}

/// A plan with the number of the rule that is followed behind its columns.
pub fn with_rule(plan: LogicalPlan, rule: Expr) -> Result<LogicalPlan> {
    let mut all = columns(&plan);
    all.push(rule.alias(RULE));
    Ok(LogicalPlanBuilder::from(plan).project(all)?.build()?)
}

/// An expression by the rule that is followed, `otherwise` without one that says another.
pub fn by_rule<'a>(
    rules: impl Iterator<Item = (i32, &'a Rule)>,
    value: impl Fn(&Rule) -> Expr,
    otherwise: Expr,
) -> Result<Expr> {
    let mut answer: Option<CaseBuilder> = None;
    for (number, rule) in rules {
        let value = value(rule);
        if value == otherwise {
            continue;
        }
        let follows = col(RULE).eq(lit(number));
        answer = Some(match answer {
            None => when(follows, value),
            Some(mut case) => case.when(follows, value),
        });
    }
    Ok(match answer {
        Some(mut case) => case.otherwise(otherwise)?,
        None => otherwise,
    })
}

/// The partition values before, and after where a rule may change them.
fn keys(found: &Found, rules: &Rules, of: &[Rule], before: usize) -> Result<Vec<Expr>> {
    let old = found.keys_of(&found.as_it_is(&rules.target)?);
    let mut keys = old.clone();
    if rules.moves {
        let indices = found.table.table_schema().partition_indices();
        for (old, index) in old.into_iter().zip(indices) {
            let rules = (before as i32 + 1..).zip(of);
            keys.push(by_rule(rules, |rule| rule.row[*index].clone(), old)?);
        }
    }
    Ok(keys)
}

fn add_changed(
    looked: &Looked,
    batch: &RecordBatch,
    changes: &BooleanArray,
    partitions: &mut Collector,
) -> Result<()> {
    if changes.true_count() == 0 {
        return Ok(());
    }
    let changed = filter_record_batch(batch, changes)?;
    let rows = changed.num_rows();
    let old = 3..3 + looked.keys;
    partitions.add(&changed.columns()[old.clone()], rows)?;
    if looked.moves {
        partitions.add(&changed.columns()[old.end..old.end + looked.keys], rows)?;
    }
    Ok(())
}

fn twice(found: &Found, looked: &Looked, batch: &RecordBatch, at: usize, statement: &str) -> Error {
    let first = batch.num_columns() - looked.shown.len();
    let key = looked.shown.iter().enumerate().map(|(n, name)| {
        let array = batch.column(first + n);
        let value = match array.is_null(at) {
            true => "NULL".to_owned(),
            false => array_value_to_string(array, at).unwrap_or_else(|_| "?".to_owned()),
        };
        format!("{name} = {value}")
    });
    let key: Vec<String> = key.collect();
    let key = match key.is_empty() {
        true => String::new(),
        false => format!(" with {}", key.join(", ")),
    };
    Error::new(
        ErrorKind::Refused,
        format!(
            "{statement} would change a row of {}{key} a second time: several rows of the source \
             match it. Give the source one row for each, with GROUP BY or SELECT DISTINCT",
            found.name.table()
        ),
    )
}

/// Adds the partitions of rows without one of the source that a rule changes.
///
/// # Errors
/// A query that fails.
pub async fn alone(
    reading: &mut Reading<'_>,
    found: &Found,
    rules: &Rules,
    source: &Source,
    partitions: &mut Collector,
) -> Result<()> {
    if rules.alone.is_empty() {
        return Ok(());
    }
    let before = rules.matched.len();
    let rows = LogicalPlanBuilder::from(source.rows()?);
    let rows = rows.join_on(rules.target.clone(), JoinType::RightAnti, [rules.on.clone()])?;
    let rows = with_rule(rows.build()?, followed(&rules.alone, before)?)?;
    let keys = keys(found, rules, &rules.alone, before)?;
    let changed = changing(rules.numbered());
    let rows = LogicalPlanBuilder::from(rows).filter(changed)?.build()?;
    add_partitions(reading, rows, numbered(keys), partitions).await
}

/// Whether the rule that is followed changes anything.
pub fn changing<'a>(rules: impl Iterator<Item = (i32, &'a Rule)>) -> Expr {
    let changing = rules.filter(|(_, rule)| rule.action != RowAction::Keep);
    col(RULE).in_list(changing.map(|(number, _)| lit(number)).collect(), false)
}

/// Adds the partitions that new rows come to.
///
/// # Errors
/// A query that fails.
pub async fn arrivals(
    reading: &mut Reading<'_>,
    found: &Found,
    rows: &LogicalPlan,
    partitions: &mut Collector,
) -> Result<()> {
    let keys = found.keys_of(&columns(rows));
    add_partitions(reading, rows.clone(), keys, partitions).await
}

#[cfg(test)]
mod tests {
    use super::Bits;

    #[test]
    fn a_number_is_put_in_once() {
        let mut bits = Bits::default();
        for number in [0, 63, 64, 1_000_000] {
            assert!(!bits.holds(number));
            assert!(bits.insert(number));
            assert!(!bits.insert(number));
            assert!(bits.holds(number));
        }
        assert!(!bits.holds(65) && !bits.holds(u64::MAX));
    }
}
