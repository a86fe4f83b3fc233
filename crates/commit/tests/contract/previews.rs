//! What a preview says is what the commit then does, and it changes nothing.

use std::collections::BTreeMap;

use partwise_commit::*;

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    a_preview_says_what_the_commit_then_does,
    a_preview_says_what_the_guard_would_stop,
    a_preview_says_what_is_outside_a_scope,
    a_preview_names_the_version_of_an_applied_token,
    a_preview_of_a_foreign_tree_leaves_no_log,
    a_preview_of_a_whole_replacement_lists_both_layouts,
    a_preview_finishes_nothing,
    a_conflict_is_an_error_of_a_preview_too,
);

type Files<'a> = &'a [(&'a str, &'a [&'a str])];

async fn preview_with(
    table: &Table,
    operation: Operation,
    files: Files<'_>,
    with: impl FnOnce(&mut Change),
) -> Result<Preview> {
    let transaction = table.begin(&schema(), BTreeMap::new()).await?;
    let keyed: Vec<(PartitionKey, &[&str])> = files.iter().map(|(p, r)| (key(p), *r)).collect();
    let mut change = Change::new(operation, stage(&transaction, &keyed).await?);
    with(&mut change);
    let preview = transaction.preview(&change, &Lines).await;
    transaction.abort().await;
    preview
}

/// `p=a replace 1 -> 2 rows, 1 -> 1 files`, and the verdict.
fn lines(preview: &Preview) -> Vec<String> {
    let columns = schema();
    let line = |row: &PartitionPreview| {
        let key = row.key.display(columns.partition_columns());
        let (before, after) = (row.rows_before, row.rows_after);
        let (from, to) = (row.files_before, row.files_after);
        let verdict = row.verdict.as_ref().map(|said| format!("; {said}")).unwrap_or_default();
        format!("{key} {} {before}->{after}, {from}->{to}{verdict}", row.action.as_str())
    };
    preview.partitions.iter().map(line).collect()
}

async fn prepare(place: &Place) -> Result<Table> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1", "2"]), ("b", &["3"])]).await?;
    write(&table, Operation::Append, &[("b", &["4"])]).await?;
    place.put("report/p=f/data_0.parquet", "5\n6\n").await;
    Ok(table)
}

async fn a_preview_says_what_the_commit_then_does(place: Place) -> Result<()> {
    let scoped = |change: &mut Change| change.scope = Some(one_of(&["a", "b"]));
    let plain = |_: &mut Change| {};
    type With = fn(&mut Change);
    let writes: [(Operation, Files<'_>, With, usize); 7] = [
        (dynamic(), &[("b", &["9"]), ("n", &["8"])], plain, 2),
        (dynamic(), &[], plain, 0),
        (dynamic(), &[("a", &["9"])], scoped, 2),
        (fixed(&["f"]), &[], plain, 1),
        (fixed(&[]), &[("b", &["9"])], plain, 3),
        (Operation::Append, &[("f", &["9"]), ("n", &["8"])], plain, 2),
        (Operation::Replace, &[("a", &["9"])], plain, 3),
    ];
    for (n, (operation, files, with, changed)) in writes.into_iter().enumerate() {
        let place = place.another();
        let table = prepare(&place).await?;
        let before = place.files("").await;
        let preview = preview_with(&table, operation.clone(), files, with).await?;
        assert_eq!(place.files("").await, before, "{n}");
        assert_eq!((preview.version, &preview.stopped), (2, &None), "{n}");
        let committed = write_with(&table, operation, files, with).await?;
        let keeps = |row: &&PartitionPreview| row.action == PartitionAction::Keep;
        let kept = preview.partitions.iter().filter(keeps).count();
        // A scoped write doesn't look at what another tool added outside.
        assert!(kept == committed.untouched || n == 2, "{n}");
        let told = preview.partitions.iter().filter(|row| !keeps(row));
        let told: Vec<_> = told.map(|row| (&row.key, row.rows_before, row.rows_after)).collect();
        let done = committed.partitions.iter();
        let done: Vec<_> = done.map(|p| (&p.key, p.rows_before, p.rows_after)).collect();
        assert_eq!(told, done, "{n}");
        assert_eq!(done.len(), changed, "{n}");
        let now = table.snapshot(schema().partition_columns(), &AllPartitions).await?;
        for row in &preview.partitions {
            let found = now.partitions.iter().find(|partition| partition.key == row.key);
            assert_eq!(found.map_or(0, |p| p.files.len()), row.files_after, "{n}");
        }
    }
    Ok(())
}

async fn a_preview_says_what_the_guard_would_stop(place: Place) -> Result<()> {
    let table = prepare(&place).await?;
    let guarded = |change: &mut Change| change.max_shrink = Some(0.4);
    let files: Files<'_> = &[("a", &["9"]), ("b", &["9", "8"])];
    let preview = preview_with(&table, dynamic(), files, guarded).await?;
    assert_eq!(
        lines(&preview),
        [
            "p=a replace 2->1, 1->1; the guard: it may lose at most partwise.max_shrink = 0.4 of \
             its 2 rows",
            "p=b replace 2->2, 2->1",
            "p=f keep 2->2, 1->1",
        ]
    );
    let error = write_with(&table, dynamic(), files, guarded).await.unwrap_err();
    assert_eq!(preview.stopped, Some(Stopped::Refused(error.to_string())));
    Ok(())
}

async fn a_preview_says_what_is_outside_a_scope(place: Place) -> Result<()> {
    let table = prepare(&place).await?;
    let scoped = |change: &mut Change| change.scope = Some(one_of(&["a"]));
    let files: Files<'_> = &[("a", &["9"]), ("b", &["9"]), ("n", &["7", "8"])];
    let preview = preview_with(&table, dynamic(), files, scoped).await?;
    assert_eq!(
        lines(&preview),
        [
            "p=a replace 2->1, 1->1",
            "p=b keep 2->2, 2->2; outside the declared scope (p IN (a)): 1 row",
            "p=f keep 2->2, 1->1",
            "p=n keep 0->0, 0->0; outside the declared scope (p IN (a)): 2 rows",
        ]
    );
    let error = write_with(&table, dynamic(), files, scoped).await.unwrap_err();
    assert_eq!(preview.stopped, Some(Stopped::Refused(error.to_string())));
    Ok(())
}

async fn a_preview_names_the_version_of_an_applied_token(place: Place) -> Result<()> {
    let table = prepare(&place).await?;
    let token = |digest: &str| {
        let token = Token { job: "j".into(), run: 1, step: 0, digest: digest.into() };
        move |change: &mut Change| change.token = Some(token)
    };
    let files: Files<'_> = &[("a", &["9"])];
    assert_eq!(preview_with(&table, dynamic(), files, token("d")).await?.stopped, None);
    write_with(&table, dynamic(), files, token("d")).await?;
    let applied = preview_with(&table, dynamic(), files, token("d")).await?;
    assert_eq!(applied.stopped, Some(Stopped::Applied(3)));
    assert!(lines(&applied).iter().all(|line| line.contains(" keep ")), "{applied:?}");
    let other = preview_with(&table, dynamic(), files, token("e")).await?.stopped;
    assert!(matches!(other, Some(Stopped::Refused(said)) if said.contains("another statement")));
    let keep = |change: &mut Change| change.if_exists = IfExists::Keep;
    let existed = preview_with(&table, fixed(&["a"]), files, keep).await?.stopped;
    assert_eq!(existed, Some(Stopped::Existed));
    Ok(())
}

async fn a_preview_of_a_foreign_tree_leaves_no_log(place: Place) -> Result<()> {
    place.put("report/p=a/x.parquet", "1\n").await;
    let preview = preview_with(&place.table(), dynamic(), &[("a", &["9"])], |_| {}).await?;
    assert_eq!((preview.version, lines(&preview)), (0, vec!["p=a replace 1->1, 1->1".into()]));
    assert_eq!(place.files("").await, ["report/p=a/x.parquet"]);
    if let Place::Local(lake) = &place {
        assert!(!lake.path().join("_partwise").exists());
    }
    Ok(())
}

async fn a_preview_of_a_whole_replacement_lists_both_layouts(place: Place) -> Result<()> {
    place.put("report/q=1/x.parquet", "1\n").await;
    place.put("report/q=2/y.parquet", "1\n2\n").await;
    let table = place.table();
    let preview = preview_with(&table, Operation::Replace, &[("a", &["9"])], |_| {}).await?;
    let actions: Vec<_> = preview.partitions.iter().map(|row| row.action.as_str()).collect();
    assert_eq!(actions, ["empty", "empty", "create"]);
    assert_eq!(preview.partitions.iter().map(|row| row.rows_before).sum::<u64>(), 3);
    Ok(())
}

async fn a_preview_finishes_nothing(place: Place) -> Result<()> {
    let table = prepare(&place).await?;
    place.remove("_partwise/report/published").await;
    place.put("_partwise/report/published", UNPUBLISHED).await;
    let before = place.files("").await;
    let preview = preview_with(&table, Operation::Append, &[("a", &["9"])], |_| {}).await?;
    assert_eq!(preview.version, 1);
    assert_eq!(place.files("").await, before);
    assert_eq!(table.describe().await?.version, Some(1));
    Ok(())
}

const UNPUBLISHED: &str = r#"{"format":1,"version":1,"outcome":{"state":"done"}}"#;

async fn a_conflict_is_an_error_of_a_preview_too(place: Place) -> Result<()> {
    let table = prepare(&place).await?;
    let stale = |change: &mut Change| change.read_version = Some(1);
    let error = preview_with(&table, dynamic(), &[("a", &["9"])], stale).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    Ok(())
}
