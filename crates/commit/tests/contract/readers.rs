//! Readers across commits.

use partwise_commit::*;

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    a_snapshot_finishes_across_ten_overwrites,
    without_retention_a_late_reader_is_told,
    rows_and_statistics_come_from_the_records,
    reading_past_the_end_of_a_file_names_it,
);

async fn a_snapshot_finishes_across_ten_overwrites(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    let snapshot = table.snapshot(schema().partition_columns(), &AllPartitions).await?;
    for n in 0..10 {
        let text = n.to_string();
        let operation = if n % 2 == 0 { dynamic() } else { fixed(&[]) };
        write(&table, operation, &[("a", &[&text]), ("b", &[&text])]).await?;
    }
    let mut seen = Vec::new();
    for file in snapshot.partitions.iter().flat_map(|partition| &partition.files) {
        seen.push(read(&table, file).await?);
    }
    assert_eq!(seen, ["1\n", "2\n"]);
    Ok(())
}

async fn without_retention_a_late_reader_is_told(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    let snapshot = table.snapshot(schema().partition_columns(), &AllPartitions).await?;
    let keep_nothing = |change: &mut Change| change.retention = Some(std::time::Duration::ZERO);
    write_with(&table, dynamic(), &[("a", &["2"])], keep_nothing).await?;
    let error = read(&table, &snapshot.partitions[0].files[0]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("retention"), "{error}");
    Ok(())
}

async fn rows_and_statistics_come_from_the_records(place: Place) -> Result<()> {
    let table = place.table();
    let transaction = table.begin(&schema(), Default::default()).await?;
    let mut writer = transaction.staging().create(&key("a"), "zstd.parquet").await?;
    writer.write("1\n2\n".into()).await?;
    let mut stats = FileStats::default();
    let column = ColumnStats { min: Some(1.into()), max: Some(2.into()), nulls: Some(0) };
    stats.columns.insert("v".to_string(), column);
    let staged = writer.finish(2, stats.clone()).await?;
    assert_eq!(staged.bytes(), 4);
    transaction.commit(Change::new(Operation::Create, vec![staged]), &Lines).await?;
    write(&table, Operation::Append, &[("b", &["3"])]).await?;
    let snapshot = table.snapshot(schema().partition_columns(), &AllPartitions).await?;
    let file = &snapshot.partitions[0].files[0];
    assert_eq!((file.rows, file.stats.as_deref()), (Some(2), Some(&stats)));
    Ok(())
}

async fn reading_past_the_end_of_a_file_names_it(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    let snapshot = table.snapshot(schema().partition_columns(), &AllPartitions).await?;
    let open = table.open(&snapshot.partitions[0].files[0]).await?;
    assert_eq!(open.size(), 2);
    assert_eq!(open.read(1..2).await?.as_ref(), b"\n");
    let error = open.read(10..20).await.unwrap_err();
    assert!(error.to_string().contains("p=a/part-"), "{error}");
    Ok(())
}
