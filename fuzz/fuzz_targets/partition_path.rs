//! Directories of partitions: anything is decoded or refused, and what is encoded decodes to itself.
//!
//! The input is a type, a column name and a directory name or value: `<type byte><name>/<text>`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use partwise_commit::{
    PartitionColumn, PartitionKey, PartitionType, PartitionValue, parse_partition_path,
    partition_path,
};

fuzz_target!(|input: (u8, &str)| {
    let (kind, text) = input;
    let (name, text) = text.split_once('/').unwrap_or(("p", text));
    let columns = [PartitionColumn::new(name, type_of(kind))];
    for path in [text.to_owned(), format!("{name}={text}")] {
        if let Ok(key) = parse_partition_path(&columns, &path) {
            round_trip(&columns, &key);
        }
    }
    let columns = [PartitionColumn::new(name, PartitionType::Text)];
    round_trip(&columns, &PartitionKey::new(vec![PartitionValue::Text(text.to_owned())]));
});

/// A key that has a directory is what that directory reads as; the directory is one name.
fn round_trip(columns: &[PartitionColumn], key: &PartitionKey) {
    let Ok(path) = partition_path(columns, key) else { return };
    assert!(!path.contains(['/', '\0']) && path.len() <= 255, "{path:?}");
    assert!(path != "." && path != "..", "{path:?}");
    if columns[0].name.is_empty() {
        return;
    }
    match parse_partition_path(columns, &path) {
        Ok(found) => assert_eq!(&found, key, "{path:?}"),
        Err(error) => panic!("{path:?}: {error}"),
    }
}

fn type_of(kind: u8) -> PartitionType {
    use PartitionType as T;
    let types = [
        T::Text,
        T::Boolean,
        T::Int8,
        T::Int16,
        T::Int32,
        T::Int64,
        T::Date,
        T::Timestamp { utc: true },
        T::Timestamp { utc: false },
        T::Decimal128 { precision: 38, scale: 10 },
        T::Decimal128 { precision: 5, scale: -2 },
    ];
    types[usize::from(kind) % types.len()]
}
