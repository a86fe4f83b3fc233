use arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion::common::DFSchema;
use datafusion::physical_expr::PhysicalExprSimplifier;
use datafusion::prelude::SessionContext;
use partwise_commit::{PartitionColumn, PartitionSelector, PartitionType, PartitionValue};

use super::PartitionPredicate;
use PartitionValue::{Null, Text};

fn predicate(columns: &[PartitionColumn], filters: &[&str]) -> PartitionPredicate {
    let mut fields: Vec<Field> =
        columns.iter().map(|c| Field::new(&c.name, c.ty.to_arrow(), true)).collect();
    fields.push(Field::new("v", DataType::Int64, true));
    fields.push(Field::new("ts", DataType::Timestamp(TimeUnit::Microsecond, None), true));
    let schema = DFSchema::try_from(Schema::new(fields)).unwrap();
    let context = SessionContext::new();
    let physical: Vec<_> = filters
        .iter()
        .map(|sql| {
            let expr = context.parse_sql_expr(sql, &schema).unwrap();
            let physical = context.create_physical_expr(expr, &schema).unwrap();
            // The optimizer has folded the constants of a query's filters.
            PhysicalExprSimplifier::new(schema.as_arrow()).simplify(physical).unwrap()
        })
        .collect();
    PartitionPredicate::new(columns, &physical).unwrap()
}

fn column(name: &str, ty: PartitionType) -> PartitionColumn {
    PartitionColumn::new(name, ty)
}

fn text(value: &str) -> PartitionValue {
    Text(value.to_string())
}

/// Which single values of a column `p` the filter keeps.
fn kept(ty: PartitionType, filter: &str, values: &[PartitionValue]) -> Vec<bool> {
    let predicate = predicate(&[column("p", ty)], &[filter]);
    let prefixes: Vec<_> = values.iter().map(|value| vec![value.clone()]).collect();
    predicate.select(&prefixes).unwrap()
}

#[test]
fn a_comparison_is_on_typed_values() {
    use PartitionValue::*;
    let ints = [Int(1), Int(10), Int(2), Null];
    assert_eq!(kept(PartitionType::Int32, "p = 1", &ints), [true, false, false, false]);
    assert_eq!(kept(PartitionType::Int32, "p < 10", &ints), [true, false, true, false]);
    assert_eq!(kept(PartitionType::Int32, "p IS NULL", &ints), [false, false, false, true]);
    assert_eq!(kept(PartitionType::Int32, "p NOT IN (1, 2)", &ints), [false, true, false, false]);
    let days = [Date(19737), Date(19738)];
    assert_eq!(kept(PartitionType::Date, "p = DATE '2024-01-15'", &days), [true, false]);
    assert_eq!(kept(PartitionType::Date, "p = '2024-01-15'", &days), [true, false]);
    assert_eq!(
        kept(PartitionType::Date, "date_part('day', p) = 16", &days),
        [false, true],
        "a function of the value"
    );
    let flags = [Boolean(true), Boolean(false), Null];
    assert_eq!(kept(PartitionType::Boolean, "p", &flags), [true, false, false]);
    assert_eq!(kept(PartitionType::Boolean, "NOT p", &flags), [false, true, false]);
    let money = PartitionType::Decimal128 { precision: 10, scale: 2 };
    assert_eq!(kept(money, "p = 1.5", &[Decimal(150), Decimal(15)]), [true, false]);
    let instants = [Timestamp(1_704_067_200_000_000), Timestamp(0)];
    let wall = PartitionType::Timestamp { utc: false };
    assert_eq!(kept(wall, "p = TIMESTAMP '2024-01-01'", &instants), [true, false]);
}

#[test]
fn a_filter_over_other_columns_selects_everything() {
    let predicate = predicate(&[column("p", PartitionType::Text)], &["v > 1", "p = 'a' OR v = 1"]);
    assert!(predicate.selects_everything());
    assert_eq!(predicate.select(&[vec![text("a")], vec![text("b")]]).unwrap(), [true, true]);
}

#[test]
fn a_mixed_or_selects_by_its_partition_part() {
    let columns = [column("dt", PartitionType::Text)];
    let predicate = predicate(&columns, &["(dt = 'a' AND v = 1) OR (dt = 'b' AND v = 2)"]);
    let prefixes = [vec![text("a")], vec![text("b")], vec![text("c")], vec![Null]];
    assert_eq!(predicate.select(&prefixes).unwrap(), [true, true, false, false]);
    assert_eq!(predicate.rendered(), ["dt = 'a' OR dt = 'b'"]);
}

#[test]
fn a_negation_is_not_taken_for_its_operands_negation() {
    let columns = [column("dt", PartitionType::Text)];
    let prefixes = [vec![text("a")], vec![text("b")], vec![Null]];
    let or = predicate(&columns, &["NOT (dt = 'a' OR v = 1)"]);
    assert_eq!(or.select(&prefixes).unwrap(), [false, true, false]);
    let and = predicate(&columns, &["NOT (dt = 'a' AND v = 1)"]);
    assert!(and.selects_everything(), "a row with another v matches in every partition");
}

#[test]
fn a_level_is_decided_by_what_is_known_of_it() {
    let columns = [column("y", PartitionType::Int32), column("m", PartitionType::Int32)];
    let predicate = predicate(&columns, &["y = 2024 AND m = 7", "y * 100 + m < 202499"]);
    let int = |n| PartitionValue::Int(n);
    let years = [vec![int(2023)], vec![int(2024)]];
    assert_eq!(predicate.select(&years).unwrap(), [false, true]);
    let months = [vec![int(2024), int(6)], vec![int(2024), int(7)]];
    assert_eq!(predicate.select(&months).unwrap(), [false, true]);
}

#[test]
fn an_error_counts_only_for_values_that_reach_it() {
    let columns = [column("p", PartitionType::Text)];
    let guarded = predicate(&columns, &["p <> 'x'", "CAST(p AS INT) = 5"]);
    let values = [vec![text("x")], vec![text("5")], vec![text("6")]];
    assert_eq!(guarded.select(&values).unwrap(), [false, true, false]);
    let bare = predicate(&columns, &["CAST(p AS INT) = 5"]);
    let error = bare.select(&values).unwrap_err();
    assert_eq!(error.kind(), partwise_commit::ErrorKind::Invalid);
    let mixed = predicate(&columns, &["(CAST(p AS INT) = 5 AND v = 1) OR (p = 'y' AND v = 2)"]);
    assert_eq!(mixed.select(&[vec![text("x")]]).unwrap(), [true], "it is asked again per row");
}

#[test]
fn a_volatile_condition_is_not_used() {
    let columns = [column("p", PartitionType::Int32)];
    assert!(predicate(&columns, &["p > random() * 10"]).selects_everything());
}

#[test]
fn constants_are_printed_plainly() {
    let columns = [
        column("d", PartitionType::Date),
        column("s", PartitionType::Text),
        column("t", PartitionType::Timestamp { utc: false }),
        column("n", PartitionType::Decimal128 { precision: 10, scale: 2 }),
    ];
    let shown = predicate(
        &columns,
        &[
            "d = DATE '2024-01-15'",
            "s IN ('a', 'b''c', 'd', 'e')",
            "t >= TIMESTAMP '2024-01-15 10:00:00'",
            "n < 1.50",
            "(s = 'a' OR s LIKE 'b%') AND d IS NOT NULL",
            "(s = 'a') IS NULL",
            "substr(s, 1, 2) = 'a'''",
        ],
    );
    assert_eq!(
        shown.rendered(),
        [
            "d = 2024-01-15",
            "s IN ('a', 'b''c', 'd', 'e')",
            "t >= 2024-01-15T10:00:00",
            "n < 1.50",
            "s = 'a' OR s LIKE 'b%'",
            "d IS NOT NULL",
            "(s = 'a') IS NULL",
            "substr(s, 1, 2) = 'a'''",
        ]
    );
}
