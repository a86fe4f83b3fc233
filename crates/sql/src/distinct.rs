//! `a IS DISTINCT FROM b AND c` is `(a IS DISTINCT FROM b) AND c`.
//!
//! sqlparser 0.62 reads all that follows as the operand, `a IS DISTINCT FROM (b AND c)`: another
//! condition without a word. What binds less tightly is moved out again, bottom up; parentheses that
//! were written are nodes of their own and stay.

use std::mem;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, UnaryOperator, Value, VisitMut, VisitorMut,
};

/// Reads every `IS [NOT] DISTINCT FROM` in a statement or an expression as SQL has it.
pub(crate) fn as_written(ast: &mut impl VisitMut) {
    let _ = ast.visit(&mut Regroup);
}

struct Regroup;

impl VisitorMut for Regroup {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(operand) = last_operand(expr) {
            regroup(expr, operand);
        }
        ControlFlow::Continue(())
    }
}

/// How tightly what stands before an expression's last operand binds: AND and OR in that operand that
/// bind less are not part of it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Or,
    And,
    Not,
}

fn last_operand(expr: &Expr) -> Option<Binding> {
    match expr {
        Expr::IsDistinctFrom(..) | Expr::IsNotDistinctFrom(..) => Some(Binding::Not),
        Expr::UnaryOp { op: UnaryOperator::Not, .. } => Some(Binding::Not),
        Expr::BinaryOp { op: BinaryOperator::And, .. } => Some(Binding::And),
        _ => None,
    }
}

fn operand_of(expr: &mut Expr) -> Option<&mut Box<Expr>> {
    match expr {
        Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => Some(right),
        Expr::UnaryOp { expr, .. } => Some(expr),
        Expr::BinaryOp { right, .. } => Some(right),
        _ => None,
    }
}

/// `outer(.. (b AND c))` becomes `outer(.. b) AND c`.
fn regroup(outer: &mut Expr, binds: Binding) {
    let Some(operand) = operand_of(outer) else { return };
    let Expr::BinaryOp { left, op, .. } = operand.as_mut() else { return };
    let looser = match op {
        BinaryOperator::Or => Binding::Or < binds,
        BinaryOperator::And => Binding::And < binds,
        _ => false,
    };
    if !looser {
        return;
    }
    let first = mem::replace(left.as_mut(), nothing());
    let mut moved = mem::replace(operand.as_mut(), first);
    let mut inner = mem::replace(outer, nothing());
    regroup(&mut inner, binds);
    if let Expr::BinaryOp { left, .. } = &mut moved {
        **left = inner;
    }
    *outer = moved;
}

/// A place holder while parts change places.
fn nothing() -> Expr {
    Expr::Value(Value::Null.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    fn grouped(expr: &Expr) -> String {
        match expr {
            Expr::BinaryOp { left, op, right }
                if matches!(op, BinaryOperator::And | BinaryOperator::Or) =>
            {
                format!("[{} {op} {}]", grouped(left), grouped(right))
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => format!("NOT {}", grouped(expr)),
            other => other.to_string(),
        }
    }

    #[test]
    fn what_binds_less_tightly_is_no_operand() {
        for (sql, meant) in [
            ("a IS DISTINCT FROM b", "a IS DISTINCT FROM b"),
            ("a IS DISTINCT FROM 1 AND c > 2", "[a IS DISTINCT FROM 1 AND c > 2]"),
            ("a IS NOT DISTINCT FROM 1 OR c", "[a IS NOT DISTINCT FROM 1 OR c]"),
            (
                "a IS DISTINCT FROM 1 AND c AND d OR e",
                "[[[a IS DISTINCT FROM 1 AND c] AND d] OR e]",
            ),
            ("x AND a IS DISTINCT FROM 1 OR d", "[[x AND a IS DISTINCT FROM 1] OR d]"),
            ("x OR a IS DISTINCT FROM 1 AND d", "[x OR [a IS DISTINCT FROM 1 AND d]]"),
            ("NOT a IS DISTINCT FROM 1 AND d", "[NOT a IS DISTINCT FROM 1 AND d]"),
            ("a IS DISTINCT FROM (b AND c)", "a IS DISTINCT FROM (b AND c)"),
            (
                "a IS DISTINCT FROM 1 AND b IS DISTINCT FROM 2 OR c",
                "[[a IS DISTINCT FROM 1 AND b IS DISTINCT FROM 2] OR c]",
            ),
        ] {
            let mut parser = Parser::new(&GenericDialect {}).try_with_sql(sql).unwrap();
            let mut expr = parser.parse_expr().unwrap();
            as_written(&mut expr);
            assert_eq!(grouped(&expr), meant, "{sql}");
        }
    }
}
