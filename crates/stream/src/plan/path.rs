//! The way from a query's root to its stream: what may stand on it.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::{Aggregate, Expr, Join, JoinType, LogicalPlan};

use super::refused;
use crate::definition::OutputMode;
use crate::stream_table::StreamTable;
use crate::{Error, Result};

/// The one scan of a stream in a query.
#[derive(Clone, Debug)]
pub(crate) struct StreamScan {
    /// The stream.
    pub stream: StreamTable,
    /// The columns it reads, in order.
    pub projection: Vec<usize>,
}

impl StreamScan {
    /// Finds it.
    ///
    /// # Errors
    /// None, several, or one in a subquery.
    pub fn find(plan: &LogicalPlan) -> Result<Self> {
        let mut scans = Vec::new();
        plan.apply_with_subqueries(|node| {
            scans.extend(scan_of(node));
            Ok(TreeNodeRecursion::Continue)
        })?;
        match (scans.len(), scans.pop()) {
            (1, Some(scan)) if !path(plan).is_empty() => Ok(scan),
            (1, _) => Err(refused("a subquery", "the stream has to be in the query's own FROM")),
            (0, _) => Err(Error::invalid(
                "the query reads no stream: CREATE STREAM makes one; a query over tables at rest \
                 is an INSERT",
            )),
            _ => Err(refused("two scans of streams", "a query reads one stream, once")),
        }
    }

    /// Whether a node is the scan.
    pub fn is(&self, node: &LogicalPlan) -> bool {
        scan_of(node).is_some_and(|scan| scan.stream.name() == self.stream.name())
    }

    /// The plan with the batch's rows in the scan's place.
    pub fn replaced(
        &self,
        plan: &LogicalPlan,
        rows: Arc<dyn TableProvider>,
    ) -> Result<LogicalPlan> {
        let plan = plan.clone().transform_down(|node| match node {
            LogicalPlan::TableScan(mut scan) if scan_of_table(&scan.source).is_some() => {
                scan.source = provider_as_source(Arc::clone(&rows));
                Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
            }
            node => Ok(Transformed::no(node)),
        })?;
        Ok(plan.data)
    }
}

fn scan_of_table(source: &Arc<dyn datafusion::logical_expr::TableSource>) -> Option<StreamTable> {
    source_as_provider(source).ok()?.as_ref().downcast_ref::<StreamTable>().cloned()
}

fn scan_of(node: &LogicalPlan) -> Option<StreamScan> {
    let LogicalPlan::TableScan(scan) = node else { return None };
    let stream = scan_of_table(&scan.source)?;
    let all = || (0..stream.schema_ref().fields().len()).collect();
    Some(StreamScan { projection: scan.projection.clone().unwrap_or_else(all), stream })
}

/// The nodes from the root down to the scan, both included; empty where there is none.
pub(super) fn path(plan: &LogicalPlan) -> Vec<&LogicalPlan> {
    if scan_of(plan).is_some() {
        return vec![plan];
    }
    for input in plan.inputs() {
        let mut below = path(input);
        if !below.is_empty() {
            below.insert(0, plan);
            return below;
        }
    }
    vec![]
}

/// Checks what stands between root and stream; the aggregate among it.
///
/// # Errors
/// What has no meaning over a stream, with the reason.
pub(super) fn check(plan: &LogicalPlan, mode: OutputMode) -> Result<Option<Aggregate>> {
    let path = path(plan);
    let mut aggregate: Option<Aggregate> = None;
    let aggregates = path.iter().any(|node| matches!(node, LogicalPlan::Aggregate(_)));
    let whole = mode == OutputMode::Complete && aggregates;
    for (index, node) in path.iter().enumerate() {
        let above = aggregate.is_none() && whole;
        match node {
            LogicalPlan::Aggregate(_) if aggregate.is_some() => {
                return Err(refused("an aggregate of an aggregate", "a query keeps one state"));
            }
            LogicalPlan::Aggregate(found) => aggregate = Some(found.clone()),
            LogicalPlan::Join(join) => check_join(join, path.get(index + 1).copied())?,
            LogicalPlan::Sort(_) if !above => {
                return Err(refused("ORDER BY", "only a complete result has an order"));
            }
            LogicalPlan::Limit(_) if !above => {
                return Err(refused("LIMIT", "only a complete result has first rows"));
            }
            LogicalPlan::Window(_) if !above => {
                return Err(refused(
                    "a window function",
                    "it would look at one batch alone; tumble(ts, INTERVAL ..) in GROUP BY makes \
                     windows over time",
                ));
            }
            LogicalPlan::Sort(_) | LogicalPlan::Limit(_) | LogicalPlan::Window(_) => {}
            LogicalPlan::Projection(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Unnest(_)
            | LogicalPlan::Repartition(_)
            | LogicalPlan::TableScan(_) => {}
            other => return Err(refused(kind(other), "it isn't done batch by batch")),
        }
    }
    Ok(aggregate)
}

/// The first words of a node's text.
fn kind(node: &LogicalPlan) -> &'static str {
    match node {
        LogicalPlan::Union(_) => "UNION",
        LogicalPlan::Distinct(_) => "DISTINCT ON",
        LogicalPlan::RecursiveQuery(_) => "WITH RECURSIVE",
        LogicalPlan::Dml(_) | LogicalPlan::Copy(_) => "a write",
        _ => "this part of the query",
    }
}

/// A row of the stream must give the same rows whatever other rows come.
fn check_join(join: &Join, towards: Option<&LogicalPlan>) -> Result<()> {
    let on_left = towards.is_some_and(|node| std::ptr::eq(node, join.left.as_ref()));
    use JoinType::{Inner, Left, LeftAnti, LeftMark, LeftSemi};
    use JoinType::{Right, RightAnti, RightMark, RightSemi};
    let fits = match join.join_type {
        Inner => true,
        Left | LeftSemi | LeftAnti | LeftMark => on_left,
        Right | RightSemi | RightAnti | RightMark => !on_left,
        JoinType::Full => false,
    };
    match fits {
        true => Ok(()),
        false => Err(refused(
            &format!("a {} join", join.join_type),
            "whether a row of the table at rest has no match is known when the stream has ended; \
             put the stream on the side whose rows are kept",
        )),
    }
}

/// Follows an expression's columns down to where they come from: the expression in terms of the
/// lowest node it can be told of, and that node.
pub(crate) fn resolve(expr: Expr, plan: &LogicalPlan) -> Option<(Expr, &LogicalPlan)> {
    resolve_until(expr, plan, &|_| false)
}

pub(super) fn resolve_until<'a>(
    expr: Expr,
    plan: &'a LogicalPlan,
    ends: &dyn Fn(&LogicalPlan) -> bool,
) -> Option<(Expr, &'a LogicalPlan)> {
    if ends(plan) {
        return Some((expr, plan));
    }
    match plan {
        LogicalPlan::Projection(node) => {
            let expr = in_terms_of(expr, plan, |index| node.expr.get(index).cloned())?;
            resolve_until(expr, &node.input, ends)
        }
        LogicalPlan::SubqueryAlias(node) => {
            let below = node.input.schema();
            let column = |i| Some(Expr::Column(Column::from(below.qualified_field(i))));
            resolve_until(in_terms_of(expr, plan, column)?, &node.input, ends)
        }
        LogicalPlan::Filter(node) => resolve_until(expr, &node.input, ends),
        LogicalPlan::Sort(node) => resolve_until(expr, &node.input, ends),
        LogicalPlan::Limit(node) => resolve_until(expr, &node.input, ends),
        LogicalPlan::Join(node) => {
            let columns = expr.column_refs();
            let has = |side: &LogicalPlan| columns.iter().all(|c| side.schema().has_column(c));
            let sides = [&node.left, &node.right];
            let side = sides.into_iter().find(|side| !columns.is_empty() && has(side))?;
            resolve_until(expr, side, ends)
        }
        _ => Some((expr, plan)),
    }
}

/// The expression with each column of `plan` replaced by what `of` gives for its place.
fn in_terms_of(expr: Expr, plan: &LogicalPlan, of: impl Fn(usize) -> Option<Expr>) -> Option<Expr> {
    let replaced = expr.transform_up(|expr| match expr {
        Expr::Column(column) => {
            let index = plan.schema().maybe_index_of_column(&column);
            match index.and_then(&of) {
                Some(expr) => Ok(Transformed::yes(unaliased(expr))),
                None => datafusion::common::internal_err!("a column of nothing below"),
            }
        }
        other => Ok(Transformed::no(other)),
    });
    replaced.ok().map(|replaced| replaced.data)
}

fn unaliased(expr: Expr) -> Expr {
    match expr {
        Expr::Alias(alias) => unaliased(*alias.expr),
        other => other,
    }
}
