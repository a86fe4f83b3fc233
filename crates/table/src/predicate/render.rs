//! Predicates as EXPLAIN prints them: SQL without column indexes and type names.

use std::fmt::Write;
use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, InListExpr, IsNotNullExpr, IsNullExpr, LikeExpr, Literal, NotExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::physical_expr_common::physical_expr::fmt_sql;

/// The predicate as text: `pickup_date = 2024-01-15 AND borough IN ('Bronx', 'Queens')`.
/// Strings are quoted, other constants are printed plainly.
pub(crate) fn render(expr: &Arc<dyn PhysicalExpr>) -> String {
    if let Some(column) = expr.downcast_ref::<Column>() {
        column.name().to_string()
    } else if let Some(literal) = expr.downcast_ref::<Literal>() {
        constant(literal.value())
    } else if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        format!("{} {} {}", operand(binary, true), binary.op(), operand(binary, false))
    } else if let Some(not) = expr.downcast_ref::<NotExpr>() {
        format!("NOT ({})", render(not.arg()))
    } else if let Some(test) = expr.downcast_ref::<IsNullExpr>() {
        format!("{} IS NULL", tight(test.arg()))
    } else if let Some(test) = expr.downcast_ref::<IsNotNullExpr>() {
        format!("{} IS NOT NULL", tight(test.arg()))
    } else if let Some(list) = expr.downcast_ref::<InListExpr>() {
        in_list(list)
    } else if let Some(like) = expr.downcast_ref::<LikeExpr>() {
        pattern(like)
    } else if let Some(cast) = expr.downcast_ref::<CastExpr>() {
        format!("CAST({} AS {})", render(cast.expr()), cast.cast_type())
    } else if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
        let args: Vec<String> = call.args().iter().map(render).collect();
        format!("{}({})", call.name(), args.join(", "))
    } else {
        fmt_sql(expr.as_ref()).to_string()
    }
}

/// One side of an operator, in parentheses where it binds less tightly.
fn operand(parent: &BinaryExpr, left: bool) -> String {
    let side = if left { parent.left() } else { parent.right() };
    let text = render(side);
    let loose = side
        .downcast_ref::<BinaryExpr>()
        .is_some_and(|child| child.op().precedence() < parent.op().precedence());
    if loose { format!("({text})") } else { text }
}

/// In parentheses unless it is one word or call.
fn tight(expr: &Arc<dyn PhysicalExpr>) -> String {
    let text = render(expr);
    let loose = expr.downcast_ref::<BinaryExpr>().is_some()
        || expr.downcast_ref::<InListExpr>().is_some()
        || expr.downcast_ref::<LikeExpr>().is_some();
    if loose { format!("({text})") } else { text }
}

fn constant(value: &ScalarValue) -> String {
    match value {
        value if value.is_null() => "NULL".to_string(),
        ScalarValue::Utf8(Some(text))
        | ScalarValue::LargeUtf8(Some(text))
        | ScalarValue::Utf8View(Some(text)) => format!("'{}'", text.replace('\'', "''")),
        ScalarValue::Decimal128(Some(unscaled), _, scale) => decimal(*unscaled, *scale),
        value if value.data_type().is_temporal() => temporal(value),
        value => value.to_string(),
    }
}

/// Dates and timestamps in their text form rather than as a number of days or microseconds.
fn temporal(value: &ScalarValue) -> String {
    let text = value
        .to_array()
        .ok()
        .and_then(|array| arrow::util::display::array_value_to_string(&array, 0).ok());
    text.unwrap_or_else(|| value.to_string())
}

fn decimal(unscaled: i128, scale: i8) -> String {
    let Ok(scale) = usize::try_from(scale) else { return format!("{unscaled}e{}", -scale) };
    if scale == 0 {
        return unscaled.to_string();
    }
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    format!("{}{whole}.{fraction}", if unscaled < 0 { "-" } else { "" })
}

fn in_list(list: &InListExpr) -> String {
    /// Longer lists are cut, with the number of values left out.
    const SHOWN: usize = 10;
    let mut text = render(list.expr());
    text.push_str(if list.negated() { " NOT IN (" } else { " IN (" });
    let shown: Vec<String> = list.list().iter().take(SHOWN).map(render).collect();
    text.push_str(&shown.join(", "));
    if list.len() > SHOWN {
        // Writing to a String can't fail.
        let _ = write!(text, ", and {} more", list.len() - SHOWN);
    }
    text.push(')');
    text
}

fn pattern(like: &LikeExpr) -> String {
    let not = if like.negated() { "NOT " } else { "" };
    let op = if like.case_insensitive() { "ILIKE" } else { "LIKE" };
    format!("{} {not}{op} {}", render(like.expr()), render(like.pattern()))
}
