//! Store assignment: which query column may go into which table column, and how.
//!
//! A widening is applied silently, a narrowing within the integers is checked row by row (a value
//! that doesn't fit is an error), a literal is converted while planning. Everything else needs a
//! CAST in the statement, so that nothing is converted by accident.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Cast, ColumnarValue, Expr, LogicalPlan};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use partwise_table::write::RowCast;

use crate::{Error, Result};

/// The expression that brings column `index` of `plan` into `field`.
///
/// # Errors
/// A conversion that needs a CAST, naming both columns.
pub fn assign(plan: &LogicalPlan, index: usize, field: &Field) -> Result<Expr> {
    let (qualifier, source) = plan.schema().qualified_field(index);
    let column = Expr::Column(Column::new(qualifier.cloned(), source.name()));
    let (from, to) = (source.data_type(), field.data_type());
    if from == to || by_the_write(from, to) {
        return Ok(column.alias(field.name()));
    }
    if widens(from, to) && !narrows(from, to) {
        return Ok(cast(column, to).alias(field.name()));
    }
    let mut literals = Vec::new();
    if collect_literals(plan, index, &mut literals) {
        for literal in literals {
            exact(literal, to).map_err(|why| {
                Error::invalid(format!("column {} is {}: {why}", field.name(), type_name(to)))
            })?;
        }
        return Ok(cast(column, to).alias(field.name()));
    }
    if narrows(from, to) {
        return Ok(cast(column, to).alias(field.name()));
    }
    Err(Error::invalid(format!(
        "column {name} is {to}, but query column {n} ({given}) is {from}: convert it in the query, \
         CAST({given} AS ..)",
        name = field.name(),
        to = type_name(to),
        n = index + 1,
        given = source.name(),
        from = type_name(from),
    )))
}

/// The write brings timestamps to microseconds, and what is inside lists, structs and maps to the
/// table's types; it refuses to lose a part of one.
fn by_the_write(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Timestamp(_, a), DataType::Timestamp(_, b)) => a.is_some() == b.is_some(),
        (from, to) if from.is_nested() && to.is_nested() => {
            let schema = |ty: &DataType| Schema::new(vec![Field::new("c", ty.clone(), true)]);
            RowCast::new(&schema(from), Arc::new(schema(to))).is_ok()
        }
        _ => false,
    }
}

/// A cast that fails on a value that doesn't fit.
pub fn cast(expr: Expr, to: &DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(expr), to.clone()))
}

/// A type in SQL's words, for messages.
pub fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "STRING".into(),
        DataType::Boolean => "BOOLEAN".into(),
        DataType::Int8 => "TINYINT".into(),
        DataType::Int16 => "SMALLINT".into(),
        DataType::Int32 => "INT".into(),
        DataType::Int64 => "BIGINT".into(),
        DataType::Float32 => "FLOAT".into(),
        DataType::Float64 => "DOUBLE".into(),
        DataType::Date32 => "DATE".into(),
        DataType::Timestamp(_, None) => "TIMESTAMP".into(),
        DataType::Timestamp(_, Some(_)) => "TIMESTAMP WITH TIME ZONE".into(),
        DataType::Decimal128(p, s) | DataType::Decimal256(p, s) => format!("DECIMAL({p},{s})"),
        other => other.to_string(),
    }
}

/// Whether every value goes over unchanged, or fails where it can't.
pub fn widens(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    match (from, to) {
        (Null, _) => true,
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View) => true,
        (Binary | LargeBinary | BinaryView, Binary | LargeBinary | BinaryView) => true,
        (Dictionary(_, value), to) => value.as_ref() == to || widens(value, to),
        (from, to) if from.is_integer() && to.is_integer() => true,
        (from, Float64) if from.is_integer() => true,
        (Int8 | Int16 | UInt8 | UInt16, Float32) => true,
        (Float16 | Float32, Float64) | (Float16, Float32) => true,
        (from, Decimal128(p, s)) if from.is_integer() => {
            *s >= 0 && i32::from(*p) - i32::from(*s) >= integer_digits(from)
        }
        (Decimal32(p, s) | Decimal64(p, s) | Decimal128(p, s), Decimal128(to_p, to_s)) => {
            to_s >= s && i32::from(*to_p) - i32::from(*to_s) >= i32::from(*p) - i32::from(*s)
        }
        (Date32 | Date64, Date32 | Timestamp(..)) => true,
        (Timestamp(_, None), Timestamp(_, None)) => true,
        (Timestamp(_, Some(_)), Timestamp(_, Some(_))) => true,
        _ => false,
    }
}

/// Integers that may not fit, and are checked row by row.
fn narrows(from: &DataType, to: &DataType) -> bool {
    from.is_integer() && to.is_integer() && integer_digits(from) >= integer_digits(to)
}

fn integer_digits(data_type: &DataType) -> i32 {
    match data_type {
        DataType::Int8 | DataType::UInt8 => 3,
        DataType::Int16 | DataType::UInt16 => 5,
        DataType::Int32 | DataType::UInt32 => 10,
        _ => 20,
    }
}

/// Collects what a column of the plan is in each row; false if it isn't a literal in every row.
fn collect_literals<'a>(plan: &'a LogicalPlan, index: usize, found: &mut Vec<&'a Expr>) -> bool {
    match plan {
        LogicalPlan::Projection(p) => match p.expr.get(index) {
            Some(expr) if literal_expr(expr) => {
                found.push(expr);
                true
            }
            Some(expr) => behind(expr, &p.input, found),
            None => false,
        },
        LogicalPlan::Values(values) => values.values.iter().all(|row| match row.get(index) {
            Some(expr) if literal_expr(expr) => {
                found.push(expr);
                true
            }
            _ => false,
        }),
        LogicalPlan::SubqueryAlias(a) => collect_literals(&a.input, index, found),
        LogicalPlan::Sort(s) => collect_literals(&s.input, index, found),
        LogicalPlan::Limit(l) => collect_literals(&l.input, index, found),
        LogicalPlan::Filter(f) => collect_literals(&f.input, index, found),
        LogicalPlan::Union(u) => u.inputs.iter().all(|i| collect_literals(i, index, found)),
        _ => false,
    }
}

/// A column that only passes on a literal from below.
fn behind<'a>(expr: &'a Expr, input: &'a LogicalPlan, found: &mut Vec<&'a Expr>) -> bool {
    match expr {
        Expr::Column(column) => match input.schema().maybe_index_of_column(column) {
            Some(index) => collect_literals(input, index, found),
            None => false,
        },
        Expr::Alias(alias) => behind(&alias.expr, input, found),
        Expr::Cast(cast) => behind(&cast.expr, input, found),
        _ => false,
    }
}

/// Whether an expression is a literal, whatever it is cast to.
pub fn literal_expr(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(..) => true,
        Expr::Alias(alias) => literal_expr(&alias.expr),
        Expr::Negative(inner) => literal_expr(inner),
        Expr::Cast(cast) => literal_expr(&cast.expr),
        _ => false,
    }
}

/// The value of a literal as a type, if nothing of it is lost on the way.
///
/// # Errors
/// Why not: it doesn't convert, or what it would become.
pub fn exact(literal: &Expr, to: &DataType) -> Result<ScalarValue> {
    let given = evaluate(literal)?;
    if given.is_null() {
        return Ok(ScalarValue::try_new_null(to)?);
    }
    let from = given.data_type();
    if from.is_temporal() != to.is_temporal() && (from.is_numeric() || to.is_numeric()) {
        return Err(Error::invalid(other_kind(&given, to)));
    }
    let converted = given.cast_to(to)?;
    let same = match from {
        DataType::Boolean => to == &DataType::Boolean || to.is_string(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => {
            text_is_kept(&given, &converted)?
        }
        from if from.is_floating() && to.is_floating() => {
            is_finite(&converted) == is_finite(&given)
        }
        // Both sides at their finest: what went lost shows.
        DataType::Timestamp(..) => back(&converted, &given)?,
        _ => to.is_string() || back(&converted, &given)?,
    };
    match same && !converted.is_null() {
        true => Ok(converted),
        false => Err(Error::invalid(format!(
            "{given} would become {converted}; write the value it is to have, or CAST it"
        ))),
    }
}

/// A number isn't a date, though it could be read as a count of days.
fn other_kind(given: &ScalarValue, to: &DataType) -> String {
    match to.is_temporal() {
        true => format!("{given} is a number: write a {} in quotes, '2024-01-15'", type_name(to)),
        false => format!("{given} is a {}: CAST it", type_name(&given.data_type())),
    }
}

fn evaluate(literal: &Expr) -> Result<ScalarValue> {
    let schema = DFSchema::empty();
    let planning = PhysicalPlanningContext::default();
    value_of(create_physical_expr(literal, &schema, &ExecutionProps::new(), &planning)?.as_ref())
}

/// The value of an expression without columns.
///
/// # Errors
/// An expression that fails.
pub fn value_of(physical: &dyn PhysicalExpr) -> Result<ScalarValue> {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let row = RecordBatch::try_new_with_options(Schema::empty().into(), vec![], &options)?;
    match physical.evaluate(&row)? {
        ColumnarValue::Scalar(value) => Ok(value),
        ColumnarValue::Array(array) => Ok(ScalarValue::try_from_array(&array, 0)?),
    }
}

fn back(converted: &ScalarValue, given: &ScalarValue) -> Result<bool> {
    Ok(converted.cast_to(&given.data_type())? == *given)
}

fn is_finite(value: &ScalarValue) -> bool {
    match value {
        ScalarValue::Float32(Some(value)) => value.is_finite(),
        ScalarValue::Float64(Some(value)) => value.is_finite(),
        _ => true,
    }
}

/// Text into a type with parts that can be cut off: compared at the finest of its kind.
fn text_is_kept(text: &ScalarValue, converted: &ScalarValue) -> Result<bool> {
    let finest = match converted.data_type() {
        DataType::Date32 | DataType::Timestamp(_, None) => {
            DataType::Timestamp(TimeUnit::Nanosecond, None)
        }
        DataType::Timestamp(_, zone) => DataType::Timestamp(TimeUnit::Nanosecond, zone),
        DataType::Decimal128(..) => DataType::Decimal256(76, 38),
        _ => return Ok(true),
    };
    // Out of the finest's range (years far away): there is no part that small to lose.
    match (text.cast_to(&finest), converted.cast_to(&finest)) {
        (Ok(text), Ok(converted)) => Ok(text == converted),
        _ => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::logical_expr::lit;

    #[test]
    fn widenings_are_silent_and_the_rest_needs_a_cast() {
        use DataType::*;
        let us = Timestamp(TimeUnit::Microsecond, None);
        for (from, to, silent) in [
            (Int32, Int64, true),
            (Int64, Int32, true),
            (Int64, Float64, true),
            (Int64, Float32, false),
            (Float64, Int64, false),
            (Float64, Float32, false),
            (Utf8, Int32, false),
            (Int32, Utf8, false),
            (Utf8View, Utf8, true),
            (Date32, us.clone(), true),
            (us, Date32, false),
            (Int32, Decimal128(10, 0), true),
            (Int64, Decimal128(10, 0), false),
            (Decimal128(10, 2), Decimal128(12, 3), true),
            (Decimal128(10, 2), Decimal128(10, 3), false),
        ] {
            assert_eq!(widens(&from, &to), silent, "{from} -> {to}");
        }
    }

    #[test]
    fn a_literal_goes_in_whole_or_not_at_all() {
        use DataType::*;
        let us = Timestamp(TimeUnit::Microsecond, None);
        for (literal, to, kept) in [
            (lit(2_i64), Int32, true),
            (lit(2.0), Int32, true),
            (lit(2.9), Int32, false),
            (lit(300_i64), Int8, false),
            (lit(true), Int32, false),
            (lit("7"), Int32, true),
            (lit("7.5"), Int32, false),
            (lit(0.1), Float32, true),
            (lit(1e300), Float32, false),
            (lit(2.5), Decimal128(5, 1), true),
            (lit(2.55), Decimal128(5, 1), false),
            (lit("2.55"), Decimal128(5, 1), false),
            (lit("2024-01-01"), Date32, true),
            (lit("2024-01-01 23:00:00"), Date32, false),
            (lit("0001-01-01"), Date32, true),
            (lit("2024-01-01 12:00:00.123456"), us.clone(), true),
            (lit("2024-01-01 12:00:00.123456789"), us, false),
            (lit(5_i64), Utf8, true),
            (lit(20_240_115_i64), Date32, false),
            (lit(2008_i64), Timestamp(TimeUnit::Microsecond, None), false),
        ] {
            assert_eq!(exact(&literal, &to).is_ok(), kept, "{literal} as {to}");
        }
    }
}
