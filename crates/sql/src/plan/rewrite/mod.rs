//! `DELETE`, `UPDATE` and `MERGE` as the overwrite they mean.
//!
//! ```text
//! 1. which partitions change    a query over what decides: partition columns of rows that match
//! 2. what they hold then        a query over these partitions alone: rows that stay, changed rows, new rows
//!                               --> one overwrite, its scope exactly these partitions
//! ```
//! - Both see one version: a later commit is a conflict, and the statement is planned again.
//! - A partition that isn't found keeps its files, names and bytes.
//! - A condition that is unknown for a row is not true of it: the row stays.
//! - What may answer differently each time it is asked (`random()`, a LIMIT, `row_number()`) is asked
//!   once: then all partitions are written anew, or it is refused.

mod delete;
mod exactly;
mod helper;
mod identity;
mod merge;
mod reading;
mod subqueries;
mod tally;
mod target;
mod touched;
mod update;

use datafusion::common::Column;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan, LogicalPlanBuilder, lit};
use futures::StreamExt;
use partwise_commit::{Operation, Preview, RecordedOperation, Table};
use partwise_table::write::spec::{Told, WriteSpec};

use self::reading::Reading;
use self::target::Found;
use self::touched::{Collector, Touched};
use super::insert::write_spec;
use super::target::{Counting, PlannedWrite};
use crate::statement::{Rewrite, Target};
use crate::{Result, scans};

pub(crate) use tally::{Tally, TallyExec};

/// A statement that changes rows, planned.
pub(crate) struct PlannedRewrite {
    /// The write.
    pub write: PlannedWrite,
    /// No row is to be changed: there is nothing to commit.
    pub is_nothing: bool,
    /// The version at which that is so.
    pub version: u64,
}

/// What a statement comes to.
struct Changed {
    /// The rows that the touched partitions hold then, or those that are added; none: they end empty.
    rows: Option<LogicalPlan>,
    /// Whether the last column says what becomes of each.
    has_actions: bool,
    /// Which partitions are written.
    touched: Touched,
    /// The rows are added to what is there.
    appends: bool,
}

impl Changed {
    fn nothing() -> Self {
        Self::emptied(Touched::Keys(Default::default()))
    }

    fn emptied(touched: Touched) -> Self {
        Self { rows: None, has_actions: false, touched, appends: false }
    }
}

/// Finds what a statement changes and plans the write of it; with a place for a preview, one that
/// commits nothing.
///
/// # Errors
/// Whatever is wrong with the statement; a table that isn't ours. Nothing has been touched.
pub(crate) async fn plan(
    state: &SessionState,
    rewrite: &Rewrite,
    preview: Option<Told<Preview>>,
) -> Result<PlannedRewrite> {
    let (target, operation) = named(rewrite);
    let found = Found::find(state, target).await?;
    let handle = found.table.table().clone();
    let mut reading = Reading::begin(state, &handle).await?;
    let mut spec = write_spec(state, Operation::Append, &handle)?;
    let applied = match &spec.token {
        Some(token) if preview.is_none() => handle.applied(token).await?.is_some(),
        _ => false,
    };
    let changed = match applied {
        true => Changed::nothing(),
        false => changed(&mut reading, &found, rewrite).await?,
    };
    let version = reading.version();
    let is_nothing = changed.touched.is_nothing();
    spec.recorded_as = Some(operation);
    spec.was_there = version > 0;
    spec.preview = preview;
    let write = write(reading, &found, spec, changed).await?;
    Ok(PlannedRewrite { write, is_nothing, version })
}

fn named(rewrite: &Rewrite) -> (&Target, RecordedOperation) {
    match rewrite {
        Rewrite::Delete(delete) => (&delete.target, RecordedOperation::Delete),
        Rewrite::Update(update) => (&update.target, RecordedOperation::Update),
        Rewrite::Merge(merge) => (&merge.target, RecordedOperation::Merge),
    }
}

/// The table that a statement changes.
///
/// # Errors
/// No table of that name, or one that isn't ours.
pub(crate) async fn target(state: &SessionState, rewrite: &Rewrite) -> Result<Table> {
    Ok(Found::find(state, named(rewrite).0).await?.table.table().clone())
}

async fn changed(reading: &mut Reading<'_>, found: &Found, rewrite: &Rewrite) -> Result<Changed> {
    match rewrite {
        Rewrite::Delete(delete) => delete::changed(reading, found, delete).await,
        Rewrite::Update(update) => update::changed(reading, found, update).await,
        Rewrite::Merge(merge) => merge::changed(reading, found, merge).await,
    }
}

/// The write of what a statement comes to.
async fn write(
    mut reading: Reading<'_>,
    found: &Found,
    mut spec: WriteSpec,
    changed: Changed,
) -> Result<PlannedWrite> {
    let schema = found.table.table_schema();
    let described = found.table.table().describe().await?;
    spec.options = spec.options.with_properties(&described.properties, schema)?;
    spec.properties = described.properties;
    if !changed.appends {
        (spec.operation, spec.scope) = changed.touched.operation(schema.partition_columns());
    }
    let rows = match changed.rows {
        Some(rows) if changed.appends => reading.attach(rows)?,
        Some(rows) => {
            reading.attach(scans::of_whole_rows(rows, found.table.table().location())?)?
        }
        None => found.no_rows()?,
    };
    let held = reading.tell(&mut spec);
    let counting = match changed.has_actions {
        true => Counting::Tallied(Tally::default()),
        false => Counting::Gone,
    };
    let (name, table) = (&found.name, found.table.table().clone());
    let write = PlannedWrite::of(name, table, schema.clone(), spec, rows, counting);
    Ok(PlannedWrite { held, ..write })
}

/// The partitions of the rows of a plan; see [`add_partitions`].
async fn partitions_of(
    reading: &mut Reading<'_>,
    found: &Found,
    rows: LogicalPlan,
    keys: Vec<Expr>,
) -> Result<Touched> {
    let mut collector = Collector::new(found.table.table_schema().partition_columns());
    add_partitions(reading, rows, keys, &mut collector).await?;
    Ok(collector.touched())
}

/// Runs a query for the partitions of its rows, by expressions for one key or several behind each
/// other.
async fn add_partitions(
    reading: &mut Reading<'_>,
    rows: LogicalPlan,
    keys: Vec<Expr>,
    collector: &mut Collector,
) -> Result<()> {
    let rows = LogicalPlanBuilder::from(rows);
    let rows = match keys.is_empty() {
        true => rows.limit(0, Some(1))?.project(vec![lit(1_i32)])?,
        false => rows.project(keys)?.distinct()?,
    };
    let mut rows = reading.run(rows.build()?).await?;
    while let Some(batch) = rows.stream.next().await {
        let batch = batch?;
        match collector.width() {
            0 => collector.add(&[], batch.num_rows())?,
            width => {
                for key in batch.columns().chunks(width) {
                    collector.add(key, batch.num_rows())?;
                }
            }
        }
    }
    Ok(())
}

/// Expressions under names of their own: two may be the same.
fn numbered(exprs: Vec<Expr>) -> Vec<Expr> {
    let numbered = exprs.into_iter().enumerate();
    numbered.map(|(n, expr)| expr.unalias().alias(format!("__partwise_{n}"))).collect()
}

/// Whether an expression answers differently each time it is asked, its queries included.
fn is_volatile(expr: &Expr) -> bool {
    let mut volatile = expr.is_volatile();
    let _ = expr.apply(|part| {
        if let Some(plan) = query_of(part) {
            volatile |= is_plan_volatile(plan)?;
        }
        Ok(TreeNodeRecursion::Continue)
    });
    volatile
}

fn is_plan_volatile(plan: &LogicalPlan) -> datafusion::common::Result<bool> {
    let mut volatile = false;
    plan.apply_with_subqueries(|node| {
        volatile |= node.expressions().iter().any(Expr::is_volatile) || depends_on_order(node);
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(volatile)
}

/// Aggregates whose answer depends on the order in which rows come in.
const BY_ORDER: [&str; 9] = [
    "any_value",
    "approx_median",
    "approx_percentile_cont",
    "approx_percentile_cont_with_weight",
    "array_agg",
    "first_value",
    "last_value",
    "nth_value",
    "string_agg",
];

/// Whether a step's answer may depend on the order of rows that nothing settles: which ten a LIMIT
/// takes, which of two equal rows `row_number` calls the first.
fn depends_on_order(node: &LogicalPlan) -> bool {
    match node {
        LogicalPlan::Limit(_) | LogicalPlan::Window(_) => true,
        LogicalPlan::Sort(sort) => sort.fetch.is_some(),
        LogicalPlan::Distinct(Distinct::On(_)) => true,
        LogicalPlan::Aggregate(aggregate) => aggregate.aggr_expr.iter().any(|expr| {
            let by_order = |part: &Expr| match part {
                Expr::AggregateFunction(called) => BY_ORDER.contains(&called.func.name()),
                _ => false,
            };
            expr.exists(|part| Ok(by_order(part))).unwrap_or(true)
        }),
        _ => false,
    }
}

/// The query that an expression asks, not one further down.
fn query_of(expr: &Expr) -> Option<&LogicalPlan> {
    match expr {
        Expr::InSubquery(asked) => Some(&asked.subquery.subquery),
        Expr::Exists(asked) => Some(&asked.subquery.subquery),
        Expr::ScalarSubquery(asked) => Some(&asked.subquery),
        Expr::SetComparison(asked) => Some(&asked.subquery.subquery),
        _ => None,
    }
}

/// The columns of the row asked for that an expression depends on, through its queries too.
fn columns_asked(expr: &Expr) -> Vec<String> {
    let mut names: Vec<String> =
        expr.column_refs().into_iter().map(|column| column.name.clone()).collect();
    let _ = expr.apply(|part| {
        let outer = query_of(part).map(outer_columns).transpose()?.unwrap_or_default();
        names.extend(outer.into_iter().map(|column| column.name));
        Ok(TreeNodeRecursion::Continue)
    });
    names
}

/// The columns of rows further out that a query asks, at whatever depth. Some may be those of queries
/// in between.
fn outer_columns(plan: &LogicalPlan) -> datafusion::common::Result<Vec<Column>> {
    let mut columns = Vec::new();
    plan.apply_with_subqueries(|node| {
        for expr in node.expressions() {
            expr.apply(|part| {
                if let Expr::OuterReferenceColumn(_, column) = part {
                    columns.push(column.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(columns)
}
