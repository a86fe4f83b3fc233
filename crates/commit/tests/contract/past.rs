//! The table as of a version or a time.

use std::collections::BTreeMap;

use arrow_schema::DataType;
use partwise_commit::*;

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    every_version_reads_as_it_was,
    a_time_stands_for_the_newest_version_then,
    a_version_has_the_schema_it_had,
    a_selector_keeps_the_lister_out_of_the_past_too,
    versions_that_are_not_there_are_told_from_those_too_old,
    another_tools_work_since_is_named,
    what_another_tool_left_alone_can_be_told,
    a_table_without_a_log_has_no_past,
);

/// Files of a write: their partition and their rows.
type Files = &'static [(&'static str, &'static [&'static str])];

async fn every_version_reads_as_it_was(place: Place) -> Result<()> {
    let table = place.table();
    let writes: [(Operation, Files); 7] = [
        (Operation::Create, &[("a", &["1"]), ("b", &["2"])]),
        (dynamic(), &[("a", &["3"]), ("n", &["4"])]),
        (Operation::Append, &[("a", &["5"])]),
        (fixed(&["n"]), &[]),
        (fixed(&[]), &[("b", &["6"])]),
        (Operation::Replace, &[("a", &["7"]), ("c", &["8"])]),
        (dynamic(), &[("c", &["9"])]),
    ];
    let mut then = Vec::new();
    for (operation, files) in writes {
        write(&table, operation, files).await?;
        then.push(content(&table).await?);
        for (n, expected) in then.iter().enumerate() {
            let version = n as u64 + 1;
            assert_eq!(content_at(&table, version, &schema()).await?, *expected, "{version}");
        }
    }
    let columns = schema();
    let at = At::Version(3);
    let snapshot = table.snapshot_at(at, columns.partition_columns(), &AllPartitions).await?;
    assert_eq!(snapshot.version, Some(3));
    assert!(snapshot.partitions.iter().flat_map(|p| &p.files).all(|file| file.rows == Some(1)));
    Ok(())
}

async fn a_time_stands_for_the_newest_version_then(place: Place) -> Result<()> {
    let table = place.table();
    for n in ["1", "2", "3"] {
        write(&table, dynamic(), &[("a", &[n])]).await?;
    }
    for (version, hours_ago) in [(1, 30), (2, 20), (3, 10)] {
        place.date_back(version, hours_ago).await;
    }
    let records = table.records().await?;
    let second = records[1].time_ms;
    for (time_ms, expected) in [(second - 1, 1), (second, 2), (second + 1, 2), (i64::MAX, 3)] {
        let found = table.version_at(At::TimeMs(time_ms)).await?;
        assert_eq!(found.version, expected, "{time_ms}");
        assert_eq!(found.time_ms, records[3 - expected as usize].time_ms);
    }
    let columns = schema();
    let at = At::TimeMs(second);
    let snapshot = table.snapshot_at(at, columns.partition_columns(), &AllPartitions).await?;
    assert_eq!(read(&table, &snapshot.partitions[0].files[0]).await?, "2\n");
    let error = table.version_at(At::TimeMs(0)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let text = error.to_string();
    assert!(text.starts_with("1970-01-01 00:00:00 UTC is before the first version"), "{text}");
    Ok(())
}

async fn a_version_has_the_schema_it_had(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    write(&table, dynamic(), &[("b", &["3"])]).await?;
    let before = content(&table).await?;
    let day = keyed_schema(&[("day", DataType::Date32)]);
    let flat = keyed_schema(&[]);
    let on = PartitionKey::new(vec![PartitionValue::Date(0)]);
    let write_as = async |schema: &TableSchema, key: PartitionKey, row: &'static str| {
        let properties = BTreeMap::from([("made".to_string(), row.to_string())]);
        let transaction = table.begin(schema, properties).await?;
        let staged = stage(&transaction, &[(key, &[row])]).await?;
        transaction.commit(Change::new(Operation::Replace, staged), &Lines).await
    };
    write_as(&day, on, "x").await?;
    write_as(&flat, PartitionKey::default(), "y").await?;
    for (version, columns) in [(1, schema()), (2, schema()), (3, day.clone()), (4, flat.clone())] {
        let found = table.version_at(At::Version(version)).await?;
        assert_eq!((found.version, &found.schema), (version, &columns));
        assert_eq!(
            found.properties.get("made").map(String::as_str),
            match version {
                3 => Some("x"),
                4 => Some("y"),
                _ => None,
            }
        );
    }
    assert_eq!(content_at(&table, 2, &schema()).await?, before);
    assert_eq!(content_at(&table, 3, &day).await?["day=1970-01-01"], ["x"]);
    assert_eq!(content_at(&table, 4, &flat).await?["(whole table)"], ["y"]);
    write_as(&schema(), key("z"), "z").await?;
    assert_eq!(content_at(&table, 2, &schema()).await?, before);
    assert_eq!(content_at(&table, 4, &flat).await?["(whole table)"], ["y"]);
    Ok(())
}

async fn a_selector_keeps_the_lister_out_of_the_past_too(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    write(&table, fixed(&[]), &[("c", &["3"])]).await?;
    let scope = one_of(&["b"]);
    struct Only(Scope);
    impl PartitionSelector for Only {
        fn select(&self, prefixes: &[Vec<PartitionValue>]) -> Result<Vec<bool>> {
            prefixes.iter().map(|p| self.0.covers(&PartitionKey::new(p.clone()))).collect()
        }
    }
    let columns = schema();
    let snapshot =
        table.snapshot_at(At::Version(1), columns.partition_columns(), &Only(scope)).await?;
    assert_eq!(snapshot.partitions.len(), 1);
    assert_eq!(read(&table, &snapshot.partitions[0].files[0]).await?, "2\n");
    Ok(())
}

async fn versions_that_are_not_there_are_told_from_those_too_old(place: Place) -> Result<()> {
    let table = place.table();
    for n in 0..8 {
        let text = n.to_string();
        write(&table, dynamic(), &[("a", &[&text])]).await?;
    }
    let said = async |version| table.version_at(At::Version(version)).await.unwrap_err();
    assert!(said(9).await.to_string().contains("has no version 9: its newest is 8"));
    assert!(said(0).await.to_string().contains("has no version 0"));
    for version in 1..=5 {
        place.date_back(version, 8 * 24).await;
    }
    write(&table, dynamic(), &[("a", &["8"])]).await?;
    for version in 5..=9 {
        let expected = (version - 1).to_string();
        assert_eq!(content_at(&table, version, &schema()).await?["p=a"], [expected]);
    }
    for version in 1..=4 {
        let error = content_at(&table, version, &schema()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        let text = error.to_string();
        assert!(text.contains(&format!("version {version} of ")), "{text}");
        assert!(text.contains("is too old: the table can be told since version 5 of 20"), "{text}");
        assert!(text.contains("retention (7 days)"), "{text}");
    }
    let keep_nothing = |change: &mut Change| change.retention = Some(std::time::Duration::ZERO);
    write_with(&table, dynamic(), &[("a", &["9"])], keep_nothing).await?;
    let error = content_at(&table, 9, &schema()).await.unwrap_err();
    assert!(error.to_string().contains("since version 10"), "{error}");
    assert_eq!(content_at(&table, 10, &schema()).await?["p=a"], ["9"]);
    Ok(())
}

async fn another_tools_work_since_is_named(place: Place) -> Result<()> {
    let table = place.table();
    place.put("report/p=a/data_0.parquet", "1\n").await;
    write(&table, Operation::Append, &[("b", &["2"])]).await?;
    write(&table, dynamic(), &[("a", &["3"])]).await?;
    assert_eq!(content_at(&table, 1, &schema()).await?["p=a"], ["1"]);
    // The name of a file that was removed is used again.
    place.put("report/p=a/data_0.parquet", "111\n").await;
    let named = async || {
        let error = content_at(&table, 1, &schema()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("another tool has been at p=a since"), "{error}");
        Ok::<_, Error>(())
    };
    named().await?;
    write(&table, dynamic(), &[("a", &["4"])]).await?;
    named().await?;
    assert_eq!(content_at(&table, 3, &schema()).await?["p=a"], ["4"]);
    // A file of ours is gone.
    for file in place.data_files().await.iter().filter(|file| file.contains("p=a")) {
        place.remove(file).await;
    }
    named().await
}

async fn what_another_tool_left_alone_can_be_told(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    write(&table, dynamic(), &[("b", &["3"])]).await?;
    place.put("report/p=f/data_0.parquet", "5\n").await;
    let expected = rows(&[("a", &["1"]), ("b", &["2"]), ("f", &["5"])]);
    assert_eq!(content_at(&table, 1, &schema()).await?, expected);
    Ok(())
}

async fn a_table_without_a_log_has_no_past(place: Place) -> Result<()> {
    place.put("report/p=a/data_0.parquet", "1\n").await;
    let error = place.table().version_at(At::Version(1)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("has no log"), "{error}");
    Ok(())
}
