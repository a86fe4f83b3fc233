//! Conditions on floating-point columns, kept from statistics that don't speak of every value.
//!
//! Parquet's bounds leave NaN out, and in a query NaN is above all numbers, or below them if its
//! sign is set: `x > 5` holds for it, whatever the largest number in the file is. Zero has two
//! spellings that are equal in a query, of which a bloom filter knows one.
//!
//! ```text
//!   x > 5                     asked of rows alone
//!   x > 5 AND x < 7           of statistics too: no NaN fulfils both
//!   x = 5,  x IN (5, 6)       of statistics too
//!   x = 0                     asked of rows alone
//! ```

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, DynamicFilterPhysicalExpr, InListExpr, IsNotNullExpr, IsNullExpr,
    Literal,
};
use datafusion::physical_expr::utils::collect_columns;

use super::relax::as_logical;
use super::rows_only::RowsOnly;

/// What statistics are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conclusion {
    /// Whether no row matches.
    NoRow,
    /// Also whether every row matches, which a NaN that no bound tells of makes wrong.
    NoRowOrEvery,
}

/// The same filter, of which statistics tell the truth.
pub(crate) fn sound(
    filter: &Arc<dyn PhysicalExpr>,
    schema: &Schema,
    conclusion: Conclusion,
) -> Arc<dyn PhysicalExpr> {
    let floats = floats_of(filter, schema);
    if floats.is_empty() {
        return Arc::clone(filter);
    }
    Sound { floats, conclusion }.of(filter, &BTreeSet::new())
}

/// Whether a row filter leaves every row that the query wants. What a join or an order has found so
/// far is compared with floats bit by bit, which sets the two zeros apart.
pub(crate) fn keeps_rows(filter: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    !is_dynamic(filter) || floats_of(filter, schema).is_empty()
}

fn floats_of(filter: &Arc<dyn PhysicalExpr>, schema: &Schema) -> BTreeSet<String> {
    let columns = collect_columns(filter);
    let names = columns.iter().map(|column| column.name().to_owned());
    names.filter(|name| is_float(schema, name)).collect()
}

fn is_float(schema: &Schema, name: &str) -> bool {
    schema.field_with_name(name).is_ok_and(|field| holds_floats(field.data_type()))
}

fn holds_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => fields.iter().any(|field| holds_floats(field.data_type())),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => holds_floats(item.data_type()),
        other => other.is_floating(),
    }
}

/// A side on which a column is bounded by a number.
type Bounds = BTreeSet<(String, Side)>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Below,
    Above,
}

struct Sound {
    floats: BTreeSet<String>,
    conclusion: Conclusion,
}

impl Sound {
    /// `bounds`: what else has to be true of a row.
    fn of(&self, condition: &Arc<dyn PhysicalExpr>, bounds: &Bounds) -> Arc<dyn PhysicalExpr> {
        let bounds: Bounds = bounds.union(&bounds_of(condition)).cloned().collect();
        if let Some((op, left, right)) = as_logical(condition) {
            let (left, right) = (self.of(left, &bounds), self.of(right, &bounds));
            return Arc::new(BinaryExpr::new(left, op, right));
        }
        if self.is_covered(condition, &bounds) {
            return Arc::clone(condition);
        }
        Arc::new(RowsOnly::new(Arc::clone(condition)))
    }

    fn is_covered(&self, condition: &Arc<dyn PhysicalExpr>, bounds: &Bounds) -> bool {
        let columns = collect_columns(condition);
        let mut floats = columns.iter().filter(|c| self.floats.contains(c.name())).peekable();
        if floats.peek().is_none() || is_null_test(condition) {
            return true;
        }
        let both = |name: &str| {
            [Side::Below, Side::Above].iter().all(|side| bounds.contains(&(name.to_owned(), *side)))
        };
        self.conclusion == Conclusion::NoRow
            && !is_open(condition)
            && floats.all(|column| both(column.name()))
    }
}

/// Bounds count NULLs as they are.
fn is_null_test(condition: &Arc<dyn PhysicalExpr>) -> bool {
    let of_column = |arg: &Arc<dyn PhysicalExpr>| arg.downcast_ref::<Column>().is_some();
    condition.downcast_ref::<IsNullExpr>().is_some_and(|test| of_column(test.arg()))
        || condition.downcast_ref::<IsNotNullExpr>().is_some_and(|test| of_column(test.arg()))
}

/// Whether the condition may ask for the one zero or the other, now or when the query runs.
fn is_open(condition: &Arc<dyn PhysicalExpr>) -> bool {
    let range = condition.downcast_ref::<BinaryExpr>().is_some_and(|binary| {
        matches!(binary.op(), Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq)
    });
    let zero = |node: &dyn PhysicalExpr| {
        node.downcast_ref::<Literal>().is_some_and(|l| is_zero(l.value()))
    };
    is_dynamic(condition) || (!range && holds(condition, &zero))
}

fn is_dynamic(condition: &Arc<dyn PhysicalExpr>) -> bool {
    holds(condition, &|node| node.downcast_ref::<DynamicFilterPhysicalExpr>().is_some())
}

fn holds(condition: &Arc<dyn PhysicalExpr>, sought: &dyn Fn(&dyn PhysicalExpr) -> bool) -> bool {
    // The closure never fails.
    condition.exists(|node| Ok(sought(node.as_ref()))).unwrap_or(false)
}

fn is_zero(value: &ScalarValue) -> bool {
    as_double(value).is_none_or(|number| number == 0.0)
}

/// The bounds that hold for every row for which the condition is true.
fn bounds_of(condition: &Arc<dyn PhysicalExpr>) -> Bounds {
    if let Some((op, left, right)) = as_logical(condition) {
        let (left, right) = (bounds_of(left), bounds_of(right));
        return match op {
            Operator::And => left.union(&right).cloned().collect(),
            _ => left.intersection(&right).cloned().collect(),
        };
    }
    if let Some(list) = condition.downcast_ref::<InListExpr>() {
        let numbers = !list.negated() && list.list().iter().all(is_number);
        return if numbers { sides(list.expr(), Operator::Eq) } else { Bounds::new() };
    }
    let Some(binary) = condition.downcast_ref::<BinaryExpr>() else { return Bounds::new() };
    if is_number(binary.right()) {
        sides(binary.left(), *binary.op())
    } else if is_number(binary.left()) {
        binary.op().swap().map_or_else(Bounds::new, |op| sides(binary.right(), op))
    } else {
        Bounds::new()
    }
}

fn sides(operand: &Arc<dyn PhysicalExpr>, op: Operator) -> Bounds {
    let inner = operand.downcast_ref::<CastExpr>().map_or(operand, CastExpr::expr);
    let Some(column) = inner.downcast_ref::<Column>() else { return Bounds::new() };
    let sides: &[Side] = match op {
        Operator::Eq => &[Side::Below, Side::Above],
        Operator::Gt | Operator::GtEq => &[Side::Below],
        Operator::Lt | Operator::LtEq => &[Side::Above],
        _ => &[],
    };
    sides.iter().map(|side| (column.name().to_owned(), *side)).collect()
}

fn is_number(expr: &Arc<dyn PhysicalExpr>) -> bool {
    let number = expr.downcast_ref::<Literal>().and_then(|literal| as_double(literal.value()));
    number.is_some_and(|number| !number.is_nan())
}

fn as_double(value: &ScalarValue) -> Option<f64> {
    match value.cast_to(&DataType::Float64).ok()? {
        ScalarValue::Float64(number) => number,
        _ => None,
    }
}
