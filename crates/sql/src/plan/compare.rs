//! What may be compared with what in a condition that decides what is written.
//!
//! DataFusion compares a date with a number as days since 1970, and a text with a number as numbers:
//! `d > 2024-01-15` without its quotes is `d > 2008`, true for every date after June 1975.

use datafusion::arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, ExprSchemable, Operator};

use super::assign::type_name;
use crate::{Error, Result};

/// Checks every comparison in an expression that isn't coerced yet.
///
/// # Errors
/// The comparison, and what to write instead.
pub fn check(expr: &Expr, schema: &DFSchema) -> Result<()> {
    expr.apply(|part| {
        for (left, right) in compared(part) {
            check_pair(left, right, schema)?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// The pairs that an operator compares.
fn compared(expr: &Expr) -> Vec<(&Expr, &Expr)> {
    match expr {
        Expr::BinaryExpr(binary) if compares(binary.op) => vec![(&binary.left, &binary.right)],
        Expr::Between(between) => {
            vec![(&between.expr, &between.low), (&between.expr, &between.high)]
        }
        Expr::InList(list) => list.list.iter().map(|one| (list.expr.as_ref(), one)).collect(),
        _ => Vec::new(),
    }
}

fn compares(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

fn check_pair(left: &Expr, right: &Expr, schema: &DFSchema) -> Result<()> {
    let (a, b) = (left.get_type(schema)?, right.get_type(schema)?);
    let why = match (Kind::of(&a), Kind::of(&b)) {
        (one, other) if one == other => return Ok(()),
        (Kind::Other, _) | (_, Kind::Other) => return Ok(()),
        // A text that stands there is read as what it is compared with.
        (Kind::Text, _) if left.column_refs().is_empty() => return Ok(()),
        (_, Kind::Text) if right.column_refs().is_empty() => return Ok(()),
        (Kind::Time, Kind::Number) | (Kind::Number, Kind::Time) => {
            "write dates and times in quotes, DATE '2024-01-15'"
        }
        (Kind::Text, Kind::Number) | (Kind::Number, Kind::Text) => {
            "write a text in quotes, '7', or CAST the column"
        }
        _ => "CAST one of them",
    };
    let (a, b) = (type_name(&a), type_name(&b));
    let (left, right) = (left.human_display(), right.human_display());
    Err(Error::invalid(format!("{left} is {a} and {right} is {b}: {why}")))
}

/// Types whose values are compared with each other as they are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
    Time,
    Truth,
    Other,
}

impl Kind {
    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Dictionary(_, value) => Self::of(value),
            DataType::Boolean => Self::Truth,
            other if other.is_numeric() => Self::Number,
            other if other.is_string() => Self::Text,
            other if other.is_temporal() => Self::Time,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::{Field, Schema, TimeUnit};
    use datafusion::logical_expr::{col, lit};

    #[test]
    fn only_what_is_of_one_kind_is_compared() {
        let timestamp = DataType::Timestamp(TimeUnit::Microsecond, None);
        let fields = [
            ("i", DataType::Int32),
            ("d", DataType::Date32),
            ("ts", timestamp),
            ("s", DataType::Utf8),
            ("b", DataType::Boolean),
        ];
        let fields = fields.map(|(name, ty)| Field::new(name, ty, true));
        let schema = DFSchema::try_from(Schema::new(fields.to_vec())).unwrap();
        for (condition, fine) in [
            (col("i").gt(lit(7_i64)), true),
            (col("i").gt(lit("7")), true),
            (col("d").gt(lit("2024-01-15")), true),
            (col("d").lt(col("ts")), true),
            (col("d").gt(lit(2008_i64)), false),
            (lit(2008_i64).lt(col("d")), false),
            (col("ts").between(lit(1_i64), lit("2024-01-15")), false),
            (col("s").in_list(vec![lit("a"), lit(1_i64)], false), false),
            (col("s").eq(lit("7")), true),
            (col("s").eq(col("d")), false),
            (col("b").eq(lit(1_i64)), false),
            (col("i").gt(lit(7_i64)).and(col("d").not_eq(lit(1_i64))), false),
        ] {
            assert_eq!(check(&condition, &schema).is_ok(), fine, "{condition}");
        }
    }
}
