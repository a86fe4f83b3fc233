//! Conditions with `IN (SELECT ..)` and `EXISTS`, and what is not true of them.
//!
//! DataFusion plans `IN` right where it stands alone. Inside of `OR`, `NOT` or `IS NOT TRUE` it takes
//! an unknown answer for false, and rows go that should stay. `EXISTS` has no unknown answer, so:
//!
//! ```text
//! x IN S is true       EXISTS (S where s = x)
//! x IN S is unknown    neither, and EXISTS (S where s IS NULL) OR x IS NULL AND EXISTS (S)
//! ```

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::functions_aggregate::count::count;
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{
    BinaryExpr, Expr, LogicalPlan, LogicalPlanBuilder, Operator, col, exists, lit, not,
    scalar_subquery, when,
};

use super::outer_columns;
use crate::{Error, Result};

/// The condition for the rows that it is true of.
///
/// # Errors
/// A subquery of a form that can't be planned without changing its answer.
pub fn true_of(condition: &Expr, rows: &DFSchema) -> Result<Expr> {
    Asked { rows }.is_true(condition)
}

/// The condition for all other rows: where it is false or unknown.
///
/// # Errors
/// See [`true_of`].
pub fn not_true_of(condition: &Expr, rows: &DFSchema) -> Result<Expr> {
    Asked { rows }.is_not_true(condition)
}

/// Whether an expression asks a query.
pub fn asks_query(expr: &Expr) -> bool {
    has(expr, |part| {
        matches!(
            part,
            Expr::InSubquery(_)
                | Expr::Exists(_)
                | Expr::ScalarSubquery(_)
                | Expr::SetComparison(_)
        )
    })
}

/// Whether it asks for more than a value.
pub fn asks_rows(expr: &Expr) -> bool {
    has(expr, |part| matches!(part, Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_)))
}

fn has(expr: &Expr, is: impl Fn(&Expr) -> bool) -> bool {
    let mut found = false;
    let _ = expr.apply(|part| {
        found |= is(part);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

struct Asked<'a> {
    rows: &'a DFSchema,
}

impl Asked<'_> {
    fn is_true(&self, expr: &Expr) -> Result<Expr> {
        match parts(expr) {
            Parts::And(a, b) => Ok(self.is_true(a)?.and(self.is_true(b)?)),
            Parts::Or(a, b) => Ok(self.is_true(a)?.or(self.is_true(b)?)),
            Parts::Not(inner) => self.is_false(inner),
            Parts::In(asked, false) => self.found(asked),
            Parts::In(asked, true) => Ok(not(self.found(asked)?).and(not(self.unknown(asked)?))),
            Parts::Exists(asked, negated) => self.exists(asked, negated),
            Parts::Other => self.inside(expr),
        }
    }

    fn is_not_true(&self, expr: &Expr) -> Result<Expr> {
        match parts(expr) {
            Parts::And(a, b) => Ok(self.is_not_true(a)?.or(self.is_not_true(b)?)),
            Parts::Or(a, b) => Ok(self.is_not_true(a)?.and(self.is_not_true(b)?)),
            Parts::Not(inner) => self.is_not_false(inner),
            Parts::In(asked, false) => Ok(not(self.found(asked)?)),
            Parts::In(asked, true) => Ok(self.found(asked)?.or(self.unknown(asked)?)),
            Parts::Exists(asked, negated) => self.exists(asked, !negated),
            Parts::Other => Ok(self.inside(expr)?.is_not_true()),
        }
    }

    fn is_false(&self, expr: &Expr) -> Result<Expr> {
        match parts(expr) {
            Parts::And(a, b) => Ok(self.is_false(a)?.or(self.is_false(b)?)),
            Parts::Or(a, b) => Ok(self.is_false(a)?.and(self.is_false(b)?)),
            Parts::Not(inner) => self.is_true(inner),
            Parts::In(asked, false) => Ok(not(self.found(asked)?).and(not(self.unknown(asked)?))),
            Parts::In(asked, true) => self.found(asked),
            Parts::Exists(asked, negated) => self.exists(asked, !negated),
            Parts::Other => Ok(not(self.inside(expr)?)),
        }
    }

    fn is_not_false(&self, expr: &Expr) -> Result<Expr> {
        match parts(expr) {
            Parts::And(a, b) => Ok(self.is_not_false(a)?.and(self.is_not_false(b)?)),
            Parts::Or(a, b) => Ok(self.is_not_false(a)?.or(self.is_not_false(b)?)),
            Parts::Not(inner) => self.is_not_true(inner),
            Parts::In(asked, false) => Ok(self.found(asked)?.or(self.unknown(asked)?)),
            Parts::In(asked, true) => Ok(not(self.found(asked)?)),
            Parts::Exists(asked, negated) => self.exists(asked, negated),
            Parts::Other => Ok(self.inside(expr)?.is_not_false()),
        }
    }

    /// An expression with questions somewhere in it: each has three answers.
    fn inside(&self, expr: &Expr) -> Result<Expr> {
        if !asks_rows(expr) {
            return Ok(expr.clone());
        }
        let mut failed = None;
        let replaced = expr.clone().transform_down(|part| {
            let answer = match &part {
                Expr::InSubquery(asked) => self.answer(asked),
                Expr::Exists(asked) => self.exists(asked, asked.negated),
                Expr::SetComparison(_) => Err(Error::unsupported(
                    "ANY and ALL with a query aren't planned here: say it with EXISTS",
                )),
                _ => return Ok(Transformed::no(part)),
            };
            match answer {
                Ok(answer) => Ok(Transformed::new(answer, true, TreeNodeRecursion::Jump)),
                Err(error) => {
                    failed = Some(error);
                    Ok(Transformed::new(part, false, TreeNodeRecursion::Stop))
                }
            }
        })?;
        match failed {
            Some(error) => Err(error),
            None => Ok(replaced.data),
        }
    }

    /// True, false or NULL.
    fn answer(&self, asked: &InSubquery) -> Result<Expr> {
        let null = lit(ScalarValue::Boolean(None));
        Ok(when(self.found(asked)?, lit(!asked.negated))
            .when(self.unknown(asked)?, null)
            .otherwise(lit(asked.negated))?)
    }

    /// Whether the value is one of the query's.
    fn found(&self, asked: &InSubquery) -> Result<Expr> {
        let value = self.outer(&asked.expr)?;
        let plan = &asked.subquery.subquery;
        refuse_lone_aggregate(plan)?;
        refuse_dependent_limit(plan)?;
        Ok(exists(Arc::new(answers(asked)?.filter(col(ANSWER).eq(value))?.build()?)))
    }

    /// Whether it can't be told, given that it isn't found.
    fn unknown(&self, asked: &InSubquery) -> Result<Expr> {
        let plan = &asked.subquery.subquery;
        let null_in_it = self.any(&answers(asked)?.filter(col(ANSWER).is_null())?.build()?)?;
        let nothing_to_find = asked.expr.as_ref().clone().is_null();
        Ok(null_in_it.or(nothing_to_find.and(self.any(plan)?)))
    }

    fn exists(&self, asked: &Exists, negated: bool) -> Result<Expr> {
        let any = self.any(&asked.subquery.subquery)?;
        Ok(if negated { not(any) } else { any })
    }

    /// Whether a query has a row. One that doesn't depend on the row asked for is run once.
    fn any(&self, plan: &LogicalPlan) -> Result<Expr> {
        if outer_columns(plan)?.iter().any(|column| self.rows.has_column(column)) {
            refuse_lone_aggregate(plan)?;
            return Ok(exists(Arc::new(plan.clone())));
        }
        let one = LogicalPlanBuilder::from(plan.clone()).limit(0, Some(1))?;
        let one = one.aggregate(Vec::<Expr>::new(), vec![count(lit(1_i64))])?.build()?;
        Ok(scalar_subquery(Arc::new(one)).gt(lit(0_i64)))
    }

    /// The columns of an expression as those of the row that a query is asked for.
    fn outer(&self, expr: &Expr) -> Result<Expr> {
        if asks_query(expr) {
            return Err(Error::unsupported(format!(
                "{} is asked for in a query, and is one itself: put one of them into a WITH",
                expr.human_display()
            )));
        }
        let outer = expr.clone().transform_up(|part| match part {
            Expr::Column(column) => {
                let (_, field) = self.rows.qualified_field_from_column(&column)?;
                Ok(Transformed::yes(Expr::OuterReferenceColumn(Arc::clone(field), column)))
            }
            other => Ok(Transformed::no(other)),
        })?;
        Ok(outer.data)
    }
}

enum Parts<'a> {
    And(&'a Expr, &'a Expr),
    Or(&'a Expr, &'a Expr),
    Not(&'a Expr),
    In(&'a InSubquery, bool),
    Exists(&'a Exists, bool),
    Other,
}

/// What a condition is made of, where there is a question for rows in it.
fn parts(expr: &Expr) -> Parts<'_> {
    if !asks_rows(expr) {
        return Parts::Other;
    }
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => Parts::And(left, right),
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => Parts::Or(left, right),
        Expr::Not(inner) => Parts::Not(inner),
        Expr::InSubquery(asked) => Parts::In(asked, asked.negated),
        Expr::Exists(asked) => Parts::Exists(asked, asked.negated),
        _ => Parts::Other,
    }
}

/// The column of a query that a value is looked for in. Its own name may be that of a column of the
/// row asked for, and DataFusion would take one for the other.
const ANSWER: &str = "__partwise_answer";

/// A query's rows under that name.
fn answers(asked: &InSubquery) -> Result<LogicalPlanBuilder> {
    let plan = &asked.subquery.subquery;
    let column = Expr::Column(Column::from(plan.schema().qualified_field(0)));
    let rows = LogicalPlanBuilder::from(plan.as_ref().clone());
    Ok(rows.project(vec![column.alias(ANSWER)])?)
}

/// An aggregate without groups has a row also where nothing matches; as a join it has none.
fn refuse_lone_aggregate(plan: &LogicalPlan) -> Result<()> {
    let mut found = false;
    plan.apply(|node| {
        if let LogicalPlan::Aggregate(aggregate) = node {
            found |=
                aggregate.group_expr.is_empty() && !aggregate.input.all_out_ref_exprs().is_empty();
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    match found {
        true => Err(Error::unsupported(
            "an aggregate over rows that depend on the row asked for always has an answer: compare \
             with it, = (SELECT max(..) ..), instead of IN or EXISTS",
        )),
        false => Ok(()),
    }
}

/// As a join, the first rows of a query that depends on the row asked for can't be told.
fn refuse_dependent_limit(plan: &LogicalPlan) -> Result<()> {
    let mut found = false;
    plan.apply(|node| {
        found |= matches!(node, LogicalPlan::Limit(_)) && !node.all_out_ref_exprs().is_empty();
        Ok(TreeNodeRecursion::Continue)
    })?;
    match found {
        true => Err(Error::unsupported(
            "LIMIT in a query that depends on the row asked for: compare with one value, \
             = (SELECT max(..) ..), or leave the LIMIT out",
        )),
        false => Ok(()),
    }
}
