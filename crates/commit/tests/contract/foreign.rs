//! Other tools in the same directory: before, between and after.

use partwise_commit::*;

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    a_foreign_tree_reads_without_any_write,
    the_first_write_adopts_a_foreign_tree,
    what_other_tools_add_or_remove_is_seen_at_once,
    an_overwrite_replaces_foreign_files_too,
    a_reused_name_is_not_ours_to_remove,
    hidden_empty_and_stray_files_are_passed_over,
    a_directory_that_was_removed_starts_a_new_life,
    a_directory_rebuilt_by_another_tool_starts_a_new_life,
    types_are_inferred_over_all_values,
    directories_that_another_tool_left_empty_do_not_count,
    creating_over_foreign_data_is_refused,
    replacing_a_foreign_tree_of_another_layout,
    sidecars_survive_an_overwrite,
);

async fn a_foreign_tree_reads_without_any_write(place: Place) -> Result<()> {
    place.put("report/p=a/data_0.parquet", "1\n").await;
    place.put("report/p=b/data_0.parquet", "2\n").await;
    let table = place.table();
    let description = table.describe().await?;
    assert!(description.exists && description.has_data && description.version.is_none());
    assert_eq!(content(&table).await?, rows(&[("a", &["1"]), ("b", &["2"])]));
    assert_eq!(table.snapshot(schema().partition_columns(), &AllPartitions).await?.version, None);
    assert!(table.records().await?.is_empty());
    assert_eq!(place.files("").await.len(), 2);
    Ok(())
}

async fn the_first_write_adopts_a_foreign_tree(place: Place) -> Result<()> {
    place.put("report/p=a/data_0.parquet", "1\n2\n").await;
    place.put("report/p=b/data_0.parquet", "3\n").await;
    let table = place.table();
    let committed = write(&table, Operation::Append, &[("a", &["4"])]).await?;
    assert_eq!((committed.version, committed.untouched), (1, 1));
    assert_eq!(committed.partitions[0].rows_before, 2);
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "2", "4"]), ("b", &["3"])]));
    assert_eq!(table.describe().await?.schema, Some(schema()));
    assert_eq!(table.records().await?[0].totals.files, 3);
    Ok(())
}

async fn what_other_tools_add_or_remove_is_seen_at_once(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    place.put("report/p=b/x.parquet", "2\n").await;
    assert_eq!(content(&table).await?, rows(&[("a", &["1"]), ("b", &["2"])]));
    let ours = place.data_files().await;
    place.remove(&ours[0]).await;
    assert_eq!(content(&table).await?, rows(&[("b", &["2"])]));
    Ok(())
}

async fn an_overwrite_replaces_foreign_files_too(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    place.put("report/p=a/data_0.parquet", "2\n").await;
    write(&table, dynamic(), &[("a", &["3"])]).await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["3"])]));
    assert_eq!(place.data_files().await.len(), 1);
    Ok(())
}

async fn a_reused_name_is_not_ours_to_remove(place: Place) -> Result<()> {
    place.put("report/p=a/data_0.parquet", "1\n").await;
    let table = place.table();
    write(&table, dynamic(), &[("a", &["2"])]).await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["2"])]));
    place.put("report/p=a/data_0.parquet", "33\n").await;
    assert_eq!(content(&table).await?, rows(&[("a", &["2", "33"])]));
    write(&table, Operation::Append, &[("b", &["4"])]).await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["2", "33"]), ("b", &["4"])]));
    Ok(())
}

async fn hidden_empty_and_stray_files_are_passed_over(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    for hidden in ["_x.parquet", ".x.parquet", "y.parquet._COPYING_"] {
        place.put(&format!("report/p=a/{hidden}"), "no\n").await;
    }
    place.put("report/_temporary/p=a/z.parquet", "no\n").await;
    place.put("report/stray.parquet", "no\n").await;
    place.put("report/q=1/other.parquet", "no\n").await;
    place.put("report/p=a/empty.parquet", "").await;
    place.put("report/p=a/notes.txt", "no\n").await;
    assert_eq!(content(&table).await?, rows(&[("a", &["1"])]));
    let snapshot = table.snapshot(schema().partition_columns(), &AllPartitions).await?;
    let warnings = snapshot.warnings.join("\n");
    for named in ["stray.parquet", "q=1", "p=a/empty.parquet", "p=a/notes.txt"] {
        assert!(warnings.contains(named), "{warnings}");
    }
    Ok(())
}

async fn a_directory_that_was_removed_starts_a_new_life(place: Place) -> Result<()> {
    let table = place.table();
    let token = Token { job: "j".into(), run: 1, step: 0, digest: "d".into() };
    write_with(&table, Operation::Create, &[("a", &["1"])], |c| c.token = Some(token.clone()))
        .await?;
    place.remove_table_directory().await;
    let gone = table.describe().await?;
    assert!(!gone.exists && !gone.has_data && gone.version.is_none());
    assert!(content(&table).await?.is_empty());
    let again =
        write_with(&table, Operation::Create, &[("b", &["2"])], |c| c.token = Some(token)).await?;
    assert_eq!((again.version, again.replayed), (1, false));
    assert_eq!(content(&table).await?, rows(&[("b", &["2"])]));
    let logs = place.files("_partwise").await;
    assert!(logs.iter().any(|f| f.starts_with("_partwise/report.") && f.ends_with("table.json")));
    Ok(())
}

async fn a_directory_rebuilt_by_another_tool_starts_a_new_life(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    write(&table, dynamic(), &[("a", &["2"])]).await?;
    place.remove_table_directory().await;
    place.put("report/p=z/part-0.parquet", "9\n").await;
    assert_eq!(content(&table).await?, rows(&[("z", &["9"])]));
    assert_eq!(table.describe().await?.version, None);
    assert_eq!(write(&table, Operation::Append, &[("z", &["8"])]).await?.version, 1);
    assert_eq!(content(&table).await?, rows(&[("z", &["8", "9"])]));
    Ok(())
}

async fn types_are_inferred_over_all_values(place: Place) -> Result<()> {
    for path in ["n=1/d=2024-01-01/z=007", "n=5000000000/d=__HIVE_DEFAULT_PARTITION__/z=8"] {
        place.put(&format!("report/{path}/x.parquet"), "1\n").await;
    }
    let columns = place.table().discover_partition_columns().await?;
    assert_eq!(
        columns,
        [
            PartitionColumn::new("n", PartitionType::Int64),
            PartitionColumn::new("d", PartitionType::Date),
            PartitionColumn::new("z", PartitionType::Text),
        ]
    );
    assert!(Table::new(place.location("none")).discover_partition_columns().await?.is_empty());
    place.put("report/n=1/d=2024-01-01/stray.parquet", "1\n").await;
    let error = place.table().discover_partition_columns().await.unwrap_err();
    assert!(error.to_string().contains("two levels: n=1/d=2024-01-01/stray.parquet"), "{error}");
    Ok(())
}

async fn creating_over_foreign_data_is_refused(place: Place) -> Result<()> {
    place.put("report/deep/er/x.parquet", "1\n").await;
    let error = write(&place.table(), Operation::Create, &[("a", &["2"])]).await.unwrap_err();
    assert!(error.to_string().contains("has data already"), "{error}");
    assert_eq!(place.files("").await, ["report/deep/er/x.parquet"]);
    Ok(())
}

async fn replacing_a_foreign_tree_of_another_layout(place: Place) -> Result<()> {
    place.put("report/y=2024/m=01/x.parquet", "1\n").await;
    place.put("report/flat.parquet", "2\n").await;
    let table = place.table();
    let committed = write(&table, Operation::Replace, &[("a", &["3"])]).await?;
    assert_eq!(committed.rows_removed, 2);
    assert_eq!(content(&table).await?, rows(&[("a", &["3"])]));
    assert_eq!(place.data_files().await.len(), 1);
    Ok(())
}

async fn sidecars_survive_an_overwrite(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    place.put("report/p=a/.x.crc", "sum").await;
    place.put("report/p=a/notes.txt", "read me").await;
    write(&table, dynamic(), &[("a", &["2"])]).await?;
    assert!(place.exists("report/p=a/.x.crc").await && place.exists("report/p=a/notes.txt").await);
    assert!(!place.files("_partwise").await.iter().any(|file| file.ends_with("notes.txt")));
    Ok(())
}

async fn directories_that_another_tool_left_empty_do_not_count(place: Place) -> Result<()> {
    place.put("report/d=x/.left", "\n").await;
    place.put("report/p=a/data_0.parquet", "1\n").await;
    let columns = place.table().discover_partition_columns().await?;
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["p"]);
    place.put("report/d=x/data_0.parquet", "2\n").await;
    let error = place.table().discover_partition_columns().await.unwrap_err();
    assert!(error.to_string().contains("don't agree"), "{error}");
    Ok(())
}
