//! What the log tells of each version, and of each file.

use partwise_commit::*;

use crate::place::Place;
use crate::support::*;

crate::contracts!(history_tells_what_each_version_did, a_file_tells_its_version_and_time,);

async fn history_tells_what_each_version_did(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1", "2"]), ("b", &["3"])]).await?;
    let token = Token { job: "nightly".into(), run: 7, step: 0, digest: "d".into() };
    let tokened = |change: &mut Change| {
        change.token = Some(token.clone());
        change.engine = "other 1.0".into();
    };
    write_with(&table, dynamic(), &[("a", &["4"]), ("n", &["5", "66"])], tokened).await?;
    write(&table, fixed(&["b"]), &[]).await?;
    let scoped = |change: &mut Change| change.scope = Some(one_of(&["a"]));
    write_with(&table, Operation::Append, &[("a", &["7"])], scoped).await?;
    table.restore(&Restore::to(1), &Lines).await?;
    let history = table.history().await?;
    let told: Vec<_> = history
        .iter()
        .map(|entry| {
            let files = (entry.files_added, entry.files_removed);
            let rows = (entry.rows_added, entry.rows_removed, entry.bytes_added);
            (entry.version, entry.operation.as_str(), entry.mode(), entry.partitions, files, rows)
        })
        .collect();
    assert_eq!(
        told,
        [
            (5, "restore", None, 3, (2, 3), (3, 4, 6)),
            (4, "append", Some("scope"), 1, (1, 0), (1, 0, 2)),
            (3, "overwrite", Some("static"), 1, (0, 1), (0, 1, 0)),
            (2, "overwrite", Some("dynamic"), 2, (2, 1), (3, 2, 7)),
            (1, "create", None, 2, (2, 0), (3, 0, 6)),
        ]
    );
    assert_eq!((&history[3].token, &*history[3].engine), (&Some(token), "other 1.0"));
    assert_eq!(history[0].restored, Some(1));
    assert!(history.is_sorted_by(|newer, older| newer.time_ms >= older.time_ms));
    assert_eq!(table.records().await?.len(), 5);
    Ok(())
}

async fn a_file_tells_its_version_and_time(place: Place) -> Result<()> {
    let table = place.table();
    place.put("report/p=f/data_0.parquet", "1\n").await;
    write(&table, Operation::Append, &[("a", &["1"])]).await?;
    write(&table, Operation::Append, &[("a", &["2"])]).await?;
    write(&table, dynamic(), &[("b", &["3"])]).await?;
    let columns = schema();
    let snapshot = table.snapshot(columns.partition_columns(), &AllPartitions).await?;
    let files = snapshot.partitions.iter().flat_map(|partition| &partition.files);
    let mut versions: Vec<_> = files.clone().map(|file| file.version).collect();
    versions.sort();
    assert_eq!(versions, [None, Some(1), Some(2), Some(3)]);
    let made = table.history().await?[2].time_ms;
    let near = |file: &DataFile| file.modified_ms.is_some_and(|ms| (ms - made).abs() < 3_600_000);
    assert!(files.clone().all(near), "{snapshot:?}");
    Ok(())
}
