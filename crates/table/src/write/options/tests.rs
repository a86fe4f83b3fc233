use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};

use super::*;

fn schema() -> TableSchema {
    let fields = [("zone", DataType::Int32), ("Fare", DataType::Float64), ("day", DataType::Utf8)];
    let fields: Vec<Field> =
        fields.into_iter().map(|(name, ty)| Field::new(name, ty, true)).collect();
    TableSchema::new(Arc::new(Schema::new(fields)), vec!["day".into()]).expect("schema")
}

fn parse(pairs: &[(&str, &str)]) -> Result<WriteOptions> {
    let map = pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let options = WriteOptions::from_config(&PartwiseConfig::default());
    options.with_options(&map, &schema(), &["mode"])
}

fn message(pairs: &[(&str, &str)]) -> String {
    parse(pairs).expect_err("refused").strip_backtrace()
}

#[test]
fn options_override_the_session() {
    let options = parse(&[
        ("compression", "zstd(7)"),
        ("Compression::fare", "none"),
        ("max_rows_per_file", "1_000"),
        ("target_file_size", "1 MiB"),
        ("distribution", "none"),
        ("mode", "overwrite"),
    ])
    .expect("accepted");
    assert_eq!(options.compression.to_string(), "zstd(7)");
    assert_eq!(options.column_compression["Fare"], Codec::None);
    assert_eq!(options.max_rows_per_file, Some(1000));
    assert_eq!(options.target_file_bytes, 1 << 20);
    assert_eq!(options.distribution, Distribution::None);
}

#[test]
fn an_unknown_option_lists_the_accepted_ones() {
    let error = message(&[("compresion", "zstd")]);
    assert!(error.contains("compression") && error.contains("mode"), "{error}");
    assert!(error.contains("compression::<column>"), "{error}");
}

#[test]
fn a_wrong_value_names_the_option_and_what_it_takes() {
    assert!(message(&[("compression::zone", "zippy")]).contains("'zstd(1..22)'"));
    assert!(message(&[("row_group_rows", "0")]).contains("row_group_rows"));
    assert!(message(&[("bloom_filter::zone", "maybe")]).contains("'true' and 'false'"));
}

#[test]
fn a_column_that_the_files_do_not_have_is_refused() {
    assert!(message(&[("bloom_filter", "zone, nosuch")]).contains("zone, Fare"));
    assert!(message(&[("sort_by", "day")]).contains("partition column"));
}

#[test]
fn sort_order_reads_as_in_order_by() {
    let options = parse(&[("sort_by", "zone, fare desc, zone ASC nulls first")]).expect("order");
    let shown: Vec<String> = options.sort_by.iter().map(SortColumn::to_string).collect();
    assert_eq!(shown, ["zone", "Fare DESC", "zone NULLS FIRST"]);
    assert!(options.sort_by[1].nulls_first);
}

#[test]
fn bloom_filters_are_switched_on_by_list_and_off_by_column() {
    let options = parse(&[("bloom_filter", "zone, fare"), ("bloom_filter::zone", "false")]);
    assert_eq!(options.expect("accepted").bloom_filters, ["Fare"]);
}

#[test]
fn properties_that_say_something_else_are_passed_over() {
    let properties = [("success_marker", "none"), ("compression", "lz4")];
    let properties = properties.map(|(name, value)| (name.to_string(), value.to_string())).into();
    let options = WriteOptions::from_config(&PartwiseConfig::default());
    let options = options.with_properties(&properties, &schema()).expect("accepted");
    assert_eq!(options.compression, Codec::Lz4);
}
