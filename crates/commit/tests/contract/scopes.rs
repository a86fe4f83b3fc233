//! Declared scopes and IF NOT EXISTS.

use std::sync::Arc;

use arrow_schema::DataType;
use partwise_commit::*;
use partwise_testkit::FaultyDisk;

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    a_scoped_overwrite_replaces_exactly_what_matches,
    a_scoped_overwrite_without_rows_empties_what_matches,
    rows_outside_a_scope_are_listed_and_nothing_changes,
    a_scoped_append_empties_nothing_and_stays_inside,
    the_guard_does_not_apply_to_what_a_scope_names,
    a_scope_covers_every_spelling_and_foreign_files,
    a_scope_needs_partition_columns,
    an_existing_partition_is_kept_if_asked,
    keeping_needs_a_fully_named_partition,
);

async fn a_scoped_overwrite_replaces_exactly_what_matches(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"]), ("c", &["3"])]).await?;
    let scoped = |change: &mut Change| change.scope = Some(one_of(&["a", "b", "n"]));
    let committed = write_with(&table, dynamic(), &[("a", &["9"]), ("n", &["8"])], scoped).await?;
    assert_eq!(committed.partitions.len(), 3);
    assert_eq!((committed.rows_added, committed.rows_removed, committed.untouched), (2, 2, 1));
    assert_eq!(content(&table).await?, rows(&[("a", &["9"]), ("c", &["3"]), ("n", &["8"])]));
    let record = &table.records().await?[0];
    assert_eq!(record.scope, Some(RecordedScope::Declared("p IN (a, b, n)".to_string())));
    assert_eq!((record.totals.partitions, record.totals.rows), (3, Some(3)));
    Ok(())
}

async fn a_scoped_overwrite_without_rows_empties_what_matches(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    let scoped = |change: &mut Change| change.scope = Some(one_of(&["a"]));
    let committed = write_with(&table, dynamic(), &[], scoped).await?;
    assert_eq!((committed.version, committed.rows_removed), (2, 1));
    assert_eq!(content(&table).await?, rows(&[("b", &["2"])]));
    assert_eq!(write_with(&table, dynamic(), &[], scoped).await?.version, 2, "nothing is left");
    Ok(())
}

async fn rows_outside_a_scope_are_listed_and_nothing_changes(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    let files = place.files("").await;
    for operation in [dynamic(), fixed(&["a"]), Operation::Append] {
        let scoped = |change: &mut Change| change.scope = Some(one_of(&["a"]));
        let ten = ["x"; 10];
        let staged: &[(&str, &[&str])] =
            &[("a", &["9"]), ("b", &ten), ("c", &["1"]), ("c", &["2"]), ("d", &["3"])];
        let error = write_with(&table, operation, staged, scoped).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert_eq!(
            error.to_string(),
            "rows outside the declared scope (p IN (a)): p=b: 10 rows, p=c: 2 rows, p=d: 1 row; \
             nothing was changed"
        );
        assert_eq!(place.files("").await, files);
    }
    Ok(())
}

async fn a_scoped_append_empties_nothing_and_stays_inside(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    let scoped = |change: &mut Change| change.scope = Some(one_of(&["a", "b"]));
    write_with(&table, Operation::Append, &[("a", &["9"])], scoped).await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "9"]), ("b", &["2"])]));
    let scope = table.records().await?[0].scope.clone();
    assert_eq!(scope, Some(RecordedScope::Declared("p IN (a, b)".to_string())));
    Ok(())
}

async fn the_guard_does_not_apply_to_what_a_scope_names(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1", "2", "3"])]).await?;
    let guarded = |change: &mut Change| change.max_shrink = Some(0.0);
    let overwrite: &[(&str, &[&str])] = &[("a", &["9"])];
    assert!(write_with(&table, dynamic(), overwrite, guarded).await.is_err());
    let scoped = |change: &mut Change| {
        guarded(change);
        change.scope = Some(one_of(&["a"]));
    };
    write_with(&table, dynamic(), overwrite, scoped).await?;
    assert_eq!(content(&table).await?, rows(&[("a", &["9"])]));
    Ok(())
}

async fn a_scope_covers_every_spelling_and_foreign_files(place: Place) -> Result<()> {
    place.put("report/p=a%20b/x.parquet", "1\n").await;
    place.put("report/p=a b/y.parquet", "2\n").await;
    place.put("report/p=c/z.parquet", "3\n").await;
    let table = place.table();
    let scoped = |change: &mut Change| change.scope = Some(one_of(&["a b"]));
    let committed = write_with(&table, dynamic(), &[("a b", &["9"])], scoped).await?;
    assert_eq!((committed.rows_removed, committed.untouched), (2, 1));
    assert_eq!(content(&table).await?, rows(&[("a b", &["9"]), ("c", &["3"])]));
    assert_eq!(table.records().await?[0].totals.partitions, 2);
    Ok(())
}

async fn a_scope_needs_partition_columns(place: Place) -> Result<()> {
    let files: &[(PartitionKey, &[&str])] = &[(PartitionKey::default(), &["1"])];
    let scoped = |change: &mut Change| change.scope = Some(one_of(&["a"]));
    let flat = keyed_schema(&[]);
    let error = write_keys(&place.table(), &flat, Operation::Append, files, scoped).await;
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Invalid);
    assert!(place.data_files().await.is_empty());
    Ok(())
}

fn keep(change: &mut Change) {
    change.if_exists = IfExists::Keep;
}

async fn an_existing_partition_is_kept_if_asked(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    place.put("report/p=f/data_0.parquet", "7\n").await;
    for (partition, existed) in [("a", true), ("f", true), ("b", false), ("b", true)] {
        let files: &[(&str, &[&str])] = &[(partition, &["9"])];
        let committed = write_with(&table, fixed(&[partition]), files, keep).await?;
        assert_eq!(committed.existed, existed, "{partition}");
        assert_eq!(committed.partitions.is_empty(), existed, "{partition}");
    }
    assert_eq!(content(&table).await?, rows(&[("a", &["1"]), ("b", &["9"]), ("f", &["7"])]));
    assert_eq!(table.records().await?.len(), 2);
    assert!(place.files("_partwise/report/staging").await.is_empty());
    Ok(())
}

async fn keeping_needs_a_fully_named_partition(place: Place) -> Result<()> {
    let table = place.table();
    let schema = keyed_schema(&[("p", DataType::Utf8), ("q", DataType::Utf8)]);
    let text = |text: &str| PartitionValue::Text(text.to_string());
    let files: &[(PartitionKey, &[&str])] =
        &[(PartitionKey::new(vec![text("a"), text("b")]), &["1"])];
    let one = Operation::Overwrite(Coverage::Matching(vec![(0, text("a"))]));
    for operation in [dynamic(), one, fixed(&[]), Operation::Append] {
        let error = write_keys(&table, &schema, operation, files, keep).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("PARTITION (p = ..., q = ...)"), "{error}");
    }
    Ok(())
}

/// On a tree of two levels.
#[tokio::test]
async fn only_directories_that_a_scope_can_match_are_listed() -> Result<()> {
    struct First;
    impl PartitionSelector for First {
        fn select(&self, prefixes: &[Vec<PartitionValue>]) -> Result<Vec<bool>> {
            Ok(prefixes.iter().map(|p| p[0] == PartitionValue::Text("05".into())).collect())
        }
    }
    let place = Place::local();
    let schema = keyed_schema(&[("p", DataType::Utf8), ("q", DataType::Utf8)]);
    let text = |n: i32| PartitionValue::Text(format!("{n:02}"));
    let keys = (0..20).map(|n| PartitionKey::new(vec![text(n), text(n)]));
    let files: Vec<(PartitionKey, &[&str])> = keys.map(|key| (key, &["1"][..])).collect();
    write_keys(&place.table(), &schema, Operation::Create, &files, |_| {}).await?;
    let calls = async |scope: Option<Scope>| {
        let disk = FaultyDisk::sound();
        let Location::Local { dir, .. } = place.location("report") else { panic!("local") };
        let table = Table::new(Location::Local { disk: Arc::new(disk.clone()), dir });
        write_keys(&table, &schema, dynamic(), &files[5..6], |change| change.scope = scope).await?;
        Ok::<_, Error>(disk.calls().iter().filter(|call| **call == "list").count())
    };
    // What the first one replaces is looked at again by the second.
    calls(None).await?;
    let (all, pruned) = (calls(None).await?, calls(Some(Scope::new(Arc::new(First), "p"))).await?);
    assert_eq!(all - pruned, 19);
    Ok(())
}
