//! A partition is its typed values, however its directory is spelled.

use arrow_schema::DataType;
use partwise_commit::*;

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    odd_values_write_and_read_back,
    null_zero_and_five_are_three_partitions,
    several_spellings_are_one_partition,
    an_overwrite_empties_every_spelling,
    a_write_goes_into_the_directory_there_is,
    values_that_cannot_be_told_from_null_are_refused,
    a_name_too_long_is_refused_before_anything_is_written,
    a_directory_that_does_not_fit_the_type_is_named,
    a_selector_keeps_the_lister_out,
);

/// The values that other systems get wrong.
const ODD: [&str; 19] = [
    "a/b", "a:b", "a=b", "a%b", "a?b", "a#b", "a*b", "a\"b", "a'b", "a\\b", "a\nb", "a b",
    "\u{e9}", ".", "..", "NULL", "null", "a+b", "{}",
];

async fn odd_values_write_and_read_back(place: Place) -> Result<()> {
    let table = place.table();
    let files: Vec<(&str, &[&str])> = ODD.iter().map(|value| (*value, &["x"][..])).collect();
    write(&table, Operation::Create, &files).await?;
    let snapshot = table.snapshot(schema().partition_columns(), &AllPartitions).await?;
    assert_eq!(snapshot.partitions.len(), ODD.len());
    for value in ODD {
        let found = snapshot.partitions.iter().find(|p| p.key == key(value));
        let found = found.unwrap_or_else(|| panic!("{value:?}"));
        assert_eq!(read(&table, &found.files[0]).await?, "x\n");
    }
    write(&table, dynamic(), &files).await?;
    assert_eq!(place.data_files().await.len(), ODD.len());
    Ok(())
}

async fn null_zero_and_five_are_three_partitions(place: Place) -> Result<()> {
    let table = place.table();
    let schema = keyed_schema(&[("n", DataType::Int32)]);
    let values = [PartitionValue::Null, PartitionValue::Int(0), PartitionValue::Int(5)];
    let keys = values.map(|value| PartitionKey::new(vec![value]));
    let files: Vec<(PartitionKey, &[&str])> =
        keys.iter().map(|k| (k.clone(), &["x"][..])).collect();
    write_keys(&table, &schema, Operation::Create, &files, |_| {}).await?;
    let null = &files[..1];
    write_keys(&table, &schema, dynamic(), null, |_| {}).await?;
    let now = content_of(&table, schema.partition_columns()).await?;
    assert_eq!(now.keys().collect::<Vec<_>>(), ["n=0", "n=5", "n=NULL"]);
    assert!(place.data_files().await[2].starts_with("report/n=__HIVE_DEFAULT_PARTITION__/"));
    Ok(())
}

async fn several_spellings_are_one_partition(place: Place) -> Result<()> {
    place.put("report/month=01/x.parquet", "1\n").await;
    place.put("report/month=1/x.parquet", "2\n").await;
    place.put("report/MONTH=001/x.parquet", "3\n").await;
    let schema = keyed_schema(&[("month", DataType::Int32)]);
    let now = content_of(&place.table(), schema.partition_columns()).await?;
    assert_eq!(
        now.into_iter().collect::<Vec<_>>(),
        [("month=1".to_string(), ["1", "2", "3"].map(str::to_string).to_vec())]
    );
    place.put("other/p=a b/x.parquet", "1\n").await;
    place.put("other/P=a%20b/x.parquet", "2\n").await;
    let other = Table::new(place.location("other"));
    assert_eq!(content(&other).await?, rows(&[("a b", &["1", "2"])]));
    Ok(())
}

async fn an_overwrite_empties_every_spelling(place: Place) -> Result<()> {
    for (spelling, text) in [("p=a b", "1\n"), ("P=a%20b", "2\n"), ("p=b", "3\n")] {
        place.put(&format!("report/{spelling}/x.parquet"), text).await;
    }
    let table = place.table();
    let committed = write(&table, dynamic(), &[("a b", &["9"])]).await?;
    assert_eq!((committed.partitions[0].files_removed, committed.untouched), (2, 1));
    assert_eq!(content(&table).await?, rows(&[("a b", &["9"]), ("b", &["3"])]));
    assert_eq!(place.data_files().await.len(), 2);
    Ok(())
}

async fn a_write_goes_into_the_directory_there_is(place: Place) -> Result<()> {
    let columns = [("y", DataType::Int32), ("m", DataType::Int32)];
    let schema = keyed_schema(&columns);
    place.put("report/Y=2024/m=07/x.parquet", "1\n").await;
    let table = place.table();
    let key = |m| PartitionKey::new(vec![PartitionValue::Int(2024), PartitionValue::Int(m)]);
    let files: &[(PartitionKey, &[&str])] = &[(key(7), &["2"]), (key(8), &["3"])];
    write_keys(&table, &schema, Operation::Append, files, |_| {}).await?;
    let files = place.data_files().await;
    assert_eq!(files.iter().filter(|f| f.starts_with("report/Y=2024/m=07/")).count(), 2);
    assert_eq!(files.iter().filter(|f| f.starts_with("report/Y=2024/m=8/")).count(), 1);
    assert_eq!(content_of(&table, schema.partition_columns()).await?["y=2024/m=7"], ["1", "2"]);
    Ok(())
}

async fn values_that_cannot_be_told_from_null_are_refused(place: Place) -> Result<()> {
    for value in ["", "__HIVE_DEFAULT_PARTITION__"] {
        let error = write(&place.table(), Operation::Create, &[(value, &["1"])]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("partition column p"), "{error}");
    }
    assert!(place.files("").await.is_empty());
    Ok(())
}

async fn a_name_too_long_is_refused_before_anything_is_written(place: Place) -> Result<()> {
    let long = "x".repeat(300);
    let error = write(&place.table(), Operation::Create, &[(&long, &["1"])]).await.unwrap_err();
    assert!(error.to_string().contains("302 bytes"), "{error}");
    assert!(place.files("").await.is_empty());
    Ok(())
}

async fn a_directory_that_does_not_fit_the_type_is_named(place: Place) -> Result<()> {
    place.put("report/month=abc/x.parquet", "1\n").await;
    let schema = keyed_schema(&[("month", DataType::Int32)]);
    let error = content_of(&place.table(), schema.partition_columns()).await.unwrap_err();
    assert!(error.to_string().contains("month=abc does not fit"), "{error}");
    Ok(())
}

async fn a_selector_keeps_the_lister_out(place: Place) -> Result<()> {
    struct Only(&'static str);
    impl PartitionSelector for Only {
        fn select(&self, prefixes: &[Vec<PartitionValue>]) -> Result<Vec<bool>> {
            Ok(prefixes.iter().map(|p| p[0] == PartitionValue::Text(self.0.to_string())).collect())
        }
    }
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    let snapshot = table.snapshot(schema().partition_columns(), &Only("b")).await?;
    assert_eq!(snapshot.partitions.len(), 1);
    assert_eq!(snapshot.partitions[0].key, key("b"));
    assert_eq!(snapshot.partitions[0].files[0].rows, Some(1));
    Ok(())
}
