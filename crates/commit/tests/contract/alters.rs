//! Changes of columns and properties, which touch no file; and the same rows in fewer files.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use partwise_commit::*;

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    columns_change_and_no_file_does,
    properties_change_for_the_commits_that_follow,
    altering_to_what_there_is_makes_no_version,
    an_alter_of_an_older_version_is_a_conflict,
    rows_in_between_do_not_hinder_an_alter,
    a_write_of_the_old_columns_is_a_conflict,
    a_restore_brings_the_old_columns_back,
    a_tree_of_another_tool_gets_a_log,
    what_is_not_there_is_not_altered,
    other_partition_columns_are_a_conflict,
    the_same_rows_take_fewer_files,
    what_was_not_read_may_change,
);

/// `schema()` with a column `w` behind the others.
pub fn wider() -> TableSchema {
    let mut fields: Vec<_> = schema().arrow().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new("w", DataType::Int32, true)));
    let fields = Arc::new(Schema::new(fields));
    TableSchema::new(fields, vec!["p".into()]).unwrap()
}

/// Alters the table, as read at a version, to `wider()` and these properties.
pub async fn alter(table: &Table, read: u64, properties: &[(&str, &str)]) -> Result<Committed> {
    alter_to(table, &wider(), read, properties).await
}

async fn alter_to(
    table: &Table,
    schema: &TableSchema,
    read: u64,
    properties: &[(&str, &str)],
) -> Result<Committed> {
    let properties = properties.iter().map(|(name, value)| (name.to_string(), value.to_string()));
    let transaction = table.begin(schema, properties.collect()).await?;
    let mut change = Change::new(Operation::Alter, vec![]);
    change.read_version = Some(read);
    transaction.commit(change, &Lines).await
}

async fn columns_change_and_no_file_does(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    let files = place.data_files().await;
    let committed = alter(&table, 1, &[]).await?;
    assert_eq!((committed.version, committed.files_added, committed.untouched), (2, 0, 2));
    assert_eq!(place.data_files().await, files);
    assert_eq!(content(&table).await?, rows(&[("a", &["1"]), ("b", &["2"])]));
    assert_eq!(table.describe().await?.schema, Some(wider()));
    let newest = table.records().await?.remove(0);
    assert_eq!((newest.operation, newest.scope), (RecordedOperation::Alter, None));
    assert_eq!((newest.totals.files, newest.totals.rows), (2, Some(2)));
    write_keys(&table, &wider(), Operation::Append, &[(key("a"), &["3"])], |_| {}).await?;
    assert_eq!(table.describe().await?.schema, Some(wider()));
    assert_eq!(table.version_at(At::Version(1)).await?.schema, schema());
    assert_eq!(content_at(&table, 1, &schema()).await?, rows(&[("a", &["1"]), ("b", &["2"])]));
    Ok(())
}

async fn properties_change_for_the_commits_that_follow(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    alter_to(&table, &schema(), 1, &[("success_marker", "none")]).await?;
    assert_eq!(table.describe().await?.properties["success_marker"], "none");
    write(&table, Operation::Append, &[("a", &["2"])]).await?;
    assert!(!place.exists("report/_SUCCESS").await);
    Ok(())
}

async fn altering_to_what_there_is_makes_no_version(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    assert_eq!(alter_to(&table, &schema(), 1, &[]).await?.version, 1);
    assert_eq!(table.records().await?.len(), 1);
    Ok(())
}

async fn an_alter_of_an_older_version_is_a_conflict(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    alter_to(&table, &schema(), 1, &[("retention", "1 day")]).await?;
    let error = alter(&table, 1, &[]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(table.describe().await?.schema, Some(schema()));
    Ok(())
}

async fn rows_in_between_do_not_hinder_an_alter(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    write(&table, Operation::Append, &[("a", &["2"])]).await?;
    assert_eq!(alter(&table, 1, &[]).await?.version, 3);
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "2"])]));
    Ok(())
}

async fn a_write_of_the_old_columns_is_a_conflict(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    alter(&table, 1, &[]).await?;
    let error = write(&table, Operation::Append, &[("a", &["2"])]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.to_string().contains("changed by version 2"), "{error}");
    Ok(())
}

async fn a_restore_brings_the_old_columns_back(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    alter(&table, 1, &[]).await?;
    let restored = table.restore(&Restore::to(1), &Lines).await?;
    assert_eq!((restored.committed.version, &restored.schema), (3, &schema()));
    assert_eq!(table.describe().await?.schema, Some(schema()));
    table.restore(&Restore::to(2), &Lines).await?;
    assert_eq!(table.describe().await?.schema, Some(wider()));
    assert_eq!(content(&table).await?, rows(&[("a", &["1"])]));
    Ok(())
}

async fn a_tree_of_another_tool_gets_a_log(place: Place) -> Result<()> {
    let table = place.table();
    place.put("report/p=a/data_0.parquet", "1\n").await;
    let committed = alter(&table, 0, &[]).await?;
    assert_eq!((committed.version, committed.untouched), (1, 1));
    assert_eq!(table.describe().await?.schema, Some(wider()));
    assert_eq!(place.data_files().await, ["report/p=a/data_0.parquet"]);
    assert_eq!(content(&table).await?, rows(&[("a", &["1"])]));
    Ok(())
}

async fn what_is_not_there_is_not_altered(place: Place) -> Result<()> {
    let table = place.table();
    let error = alter(&table, 0, &[]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert_eq!(place.files("").await, Vec::<String>::new());
    Ok(())
}

async fn other_partition_columns_are_a_conflict(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    let other = keyed_schema(&[("p", DataType::Utf8), ("q", DataType::Utf8)]);
    let error = alter_to(&table, &other, 1, &[]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    Ok(())
}

async fn the_same_rows_take_fewer_files(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    write(&table, Operation::Append, &[("a", &["3"])]).await?;
    let optimize = |change: &mut Change| {
        change.recorded_as = Some(RecordedOperation::Optimize);
        change.scope = Some(one_of(&["a"]));
    };
    let lossy = write_with(&table, dynamic(), &[("a", &["1"])], optimize).await.unwrap_err();
    assert_eq!(lossy.kind(), ErrorKind::Internal);
    assert!(lossy.to_string().contains("would make 1 row of its 2 rows"), "{lossy}");
    let committed = write_with(&table, dynamic(), &[("a", &["1", "3"])], optimize).await?;
    assert_eq!((committed.partitions[0].files_removed, committed.files_added), (2, 1));
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "3"]), ("b", &["2"])]));
    assert_eq!(table.history().await?[0].operation.as_str(), "optimize");
    Ok(())
}

async fn what_was_not_read_may_change(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    let of_a = |change: &mut Change| {
        change.scope = Some(one_of(&["a"]));
        change.read_within = change.scope.clone();
        change.read_version = Some(1);
    };
    write(&table, Operation::Append, &[("b", &["3"])]).await?;
    assert_eq!(write_with(&table, dynamic(), &[("a", &["9"])], of_a).await?.version, 3);
    assert_eq!(content(&table).await?, rows(&[("a", &["9"]), ("b", &["2", "3"])]));
    // Its own version touched `a`.
    let error = write_with(&table, dynamic(), &[("a", &["8"])], of_a).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    let since_3 = |change: &mut Change| {
        of_a(change);
        change.read_version = Some(3);
    };
    alter(&table, 3, &[]).await?;
    let files: &[(PartitionKey, &[&str])] = &[(key("a"), &["8"])];
    let altered = write_keys(&table, &wider(), dynamic(), files, since_3).await.unwrap_err();
    assert_eq!(altered.kind(), ErrorKind::Conflict);
    Ok(())
}
