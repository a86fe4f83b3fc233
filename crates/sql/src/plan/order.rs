//! The order of a query's rows, for the write to keep inside files.
//!
//! DataFusion drops a sort whose order nobody above asks for. The write asks for one, by columns: what
//! the outermost ORDER BY sorts by and the query doesn't select is carried along behind the rest.

use datafusion::arrow::compute::SortOptions;
use datafusion::common::Column;
use datafusion::logical_expr::{
    Expr, Limit, LogicalPlan, LogicalPlanBuilder, Projection, Sort, SortExpr,
};
use partwise_table::write::RowOrder;

use crate::Result;

/// The name of a column that serves the order alone.
const CARRIED: &str = "__order_by_";

/// A plan and the order of its rows, by its columns.
#[derive(Debug)]
pub struct Ordered {
    /// The plan. Columns behind those it was made with are there for the order.
    pub plan: LogicalPlan,
    /// The order; empty: none.
    pub order: Vec<RowOrder>,
}

/// The order that the query's outermost ORDER BY gives its rows.
///
/// # Errors
/// A plan that can't be made anew with the columns of the order.
pub fn ordered(plan: LogicalPlan) -> Result<Ordered> {
    behind(plan, Sorting::ByTheWrite)
}

/// Who sorts the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sorting {
    /// The write alone, by partition first: a sort before it would be for nothing.
    ByTheWrite,
    /// The query too, for its LIMIT.
    ByTheQuery,
}

fn behind(plan: LogicalPlan, sorting: Sorting) -> Result<Ordered> {
    match plan {
        LogicalPlan::Sort(sort) => behind_sort(sort, sorting),
        LogicalPlan::Projection(projection) => behind_projection(projection, sorting),
        LogicalPlan::Limit(limit) => behind_limit(limit),
        plan => Ok(Ordered { plan, order: vec![] }),
    }
}

fn behind_sort(sort: Sort, sorting: Sorting) -> Result<Ordered> {
    let keys = sort.expr.clone();
    let plan = match sorting == Sorting::ByTheWrite && sort.fetch.is_none() {
        true => sort.input.as_ref().clone(),
        false => LogicalPlan::Sort(sort),
    };
    let mut exprs = columns(&plan);
    let selected = exprs.len();
    let order = keys.into_iter().map(|key| row_order(key, &plan, &mut exprs)).collect();
    let plan = match exprs.len() == selected {
        true => plan,
        false => LogicalPlanBuilder::from(plan).project(exprs)?.build()?,
    };
    Ok(Ordered { plan, order })
}

fn columns(plan: &LogicalPlan) -> Vec<Expr> {
    plan.schema().columns().into_iter().map(Expr::Column).collect()
}

fn row_order(key: SortExpr, plan: &LogicalPlan, exprs: &mut Vec<Expr>) -> RowOrder {
    let options = SortOptions { descending: !key.asc, nulls_first: key.nulls_first };
    let known = match &key.expr {
        Expr::Column(column) => plan.schema().maybe_index_of_column(column),
        _ => None,
    };
    RowOrder { column: known.unwrap_or_else(|| carry(key.expr, exprs)), options }
}

/// Puts an expression behind the others; returns its index.
fn carry(expr: Expr, exprs: &mut Vec<Expr>) -> usize {
    let index = exprs.len();
    exprs.push(expr.unalias().alias(format!("{CARRIED}{index}")));
    index
}

fn behind_projection(projection: Projection, sorting: Sorting) -> Result<Ordered> {
    let input = behind(projection.input.as_ref().clone(), sorting)?;
    if input.order.is_empty() {
        return Ok(Ordered { plan: LogicalPlan::Projection(projection), order: vec![] });
    }
    project(input, projection.expr)
}

/// Projects an ordered plan onto `exprs`, and behind them onto what its order needs besides.
///
/// # Errors
/// Expressions that the plan doesn't have the columns for.
pub fn project(input: Ordered, mut exprs: Vec<Expr>) -> Result<Ordered> {
    let schema = input.plan.schema();
    let mut order = Vec::with_capacity(input.order.len());
    for key in input.order {
        let column = Column::from(schema.qualified_field(key.column));
        let passed = exprs.iter().position(|expr| is_column(expr, &column));
        let index = passed.unwrap_or_else(|| carry(Expr::Column(column), &mut exprs));
        order.push(RowOrder { column: index, ..key });
    }
    Ok(Ordered { plan: LogicalPlanBuilder::from(input.plan).project(exprs)?.build()?, order })
}

fn is_column(expr: &Expr, column: &Column) -> bool {
    match expr {
        Expr::Column(found) => found == column,
        Expr::Alias(alias) => is_column(&alias.expr, column),
        _ => false,
    }
}

fn behind_limit(limit: Limit) -> Result<Ordered> {
    let Ordered { plan, order } = behind(limit.input.as_ref().clone(), Sorting::ByTheQuery)?;
    let plan = LogicalPlan::Limit(Limit { input: plan.into(), ..limit });
    Ok(Ordered { plan, order })
}
