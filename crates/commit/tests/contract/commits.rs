//! Creating, appending, overwriting.

use partwise_commit::*;

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    a_created_table_reads_back,
    an_append_adds_rows,
    a_dynamic_overwrite_replaces_only_what_it_writes,
    a_static_overwrite_empties_what_it_matches,
    an_overwrite_repeated_ten_times_leaves_the_same_table,
    four_files_replaced_by_one_leave_one_file,
    a_dynamic_overwrite_without_rows_changes_nothing,
    creating_where_data_is_names_the_path,
    replacing_takes_new_columns_and_partitions,
    a_table_without_partition_columns_is_one_partition,
    success_is_there_after_every_commit,
    success_can_be_turned_off_or_written_in_each_partition,
    a_first_append_makes_the_table,
    a_transaction_given_up_leaves_nothing,
    records_tell_what_was_done,
    a_table_of_one_name_does_not_see_another,
    many_partitions_in_one_commit,
);

async fn a_created_table_reads_back(place: Place) -> Result<()> {
    let table = place.table();
    let none = table.describe().await?;
    assert!(!none.exists && !none.has_data && none.version.is_none());
    let committed = write(&table, Operation::Create, &[("a", &["1", "2"]), ("b", &["3"])]).await?;
    assert_eq!((committed.version, committed.files_added, committed.rows_added), (1, 2, 3));
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "2"]), ("b", &["3"])]));
    let there = table.describe().await?;
    assert!(there.exists && there.has_data && there.success);
    assert_eq!(there.version, Some(1));
    assert_eq!(there.schema, Some(schema()));
    Ok(())
}

async fn an_append_adds_rows(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    let committed = write(&table, Operation::Append, &[("a", &["2"]), ("b", &["3"])]).await?;
    assert_eq!(committed.version, 2);
    let changed = &committed.partitions[0];
    assert_eq!((changed.rows_before, changed.rows_after, changed.files_removed), (1, 2, 0));
    assert_eq!(content(&table).await?, rows(&[("a", &["1", "2"]), ("b", &["3"])]));
    Ok(())
}

async fn a_dynamic_overwrite_replaces_only_what_it_writes(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"]), ("c", &["3"])]).await?;
    let before = place.data_files().await;
    let committed = write(&table, dynamic(), &[("b", &["9"])]).await?;
    assert_eq!(committed.untouched, 2);
    assert_eq!((committed.rows_added, committed.rows_removed), (1, 1));
    assert_eq!(content(&table).await?, rows(&[("a", &["1"]), ("b", &["9"]), ("c", &["3"])]));
    let kept = place.data_files().await;
    assert_eq!(before.iter().filter(|file| kept.contains(file)).count(), 2);
    assert_eq!(kept.len(), 3);
    Ok(())
}

async fn a_static_overwrite_empties_what_it_matches(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    let committed = write(&table, fixed(&["a"]), &[]).await?;
    assert_eq!((committed.rows_removed, committed.untouched), (1, 1));
    assert_eq!(content(&table).await?, rows(&[("b", &["2"])]));
    write(&table, fixed(&[]), &[("c", &["3"])]).await?;
    assert_eq!(content(&table).await?, rows(&[("c", &["3"])]));
    assert_eq!(place.data_files().await.len(), 1);
    if let Place::Local(lake) = &place {
        assert!(!lake.path().join("report/p=b").exists(), "an emptied partition's directory goes");
    }
    Ok(())
}

async fn an_overwrite_repeated_ten_times_leaves_the_same_table(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    for _ in 0..10 {
        write(&table, dynamic(), &[("b", &["7", "8"])]).await?;
        assert_eq!(content(&table).await?, rows(&[("a", &["1"]), ("b", &["7", "8"])]));
        assert_eq!(place.data_files().await.len(), 2);
    }
    assert_eq!(table.records().await?.len(), 11);
    Ok(())
}

async fn four_files_replaced_by_one_leave_one_file(place: Place) -> Result<()> {
    let table = place.table();
    let four: &[(&str, &[&str])] = &[("a", &["1"]), ("a", &["2"]), ("a", &["3"]), ("a", &["4"])];
    write(&table, Operation::Create, four).await?;
    let committed = write(&table, dynamic(), &[("a", &["5"])]).await?;
    assert_eq!(committed.partitions[0].files_removed, 4);
    assert_eq!(place.data_files().await.len(), 1);
    assert_eq!(content(&table).await?, rows(&[("a", &["5"])]));
    Ok(())
}

async fn a_dynamic_overwrite_without_rows_changes_nothing(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    let committed = write(&table, dynamic(), &[]).await?;
    assert_eq!((committed.version, committed.partitions.len(), committed.untouched), (1, 0, 1));
    assert_eq!(content(&table).await?, rows(&[("a", &["1"])]));
    Ok(())
}

async fn creating_where_data_is_names_the_path(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    let error = write(&table, Operation::Create, &[("a", &["2"])]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("report has data already"), "{error}");
    assert_eq!(content(&table).await?, rows(&[("a", &["1"])]));
    Ok(())
}

async fn replacing_takes_new_columns_and_partitions(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    let other = keyed_schema(&[("day", arrow_schema::DataType::Date32)]);
    let day = PartitionKey::new(vec![PartitionValue::Date(0)]);
    let files: &[(PartitionKey, &[&str])] = &[(day, &["x"])];
    let committed = write_keys(&table, &other, Operation::Replace, files, |_| {}).await?;
    assert_eq!(committed.rows_removed, 2);
    assert_eq!(table.describe().await?.schema, Some(other.clone()));
    let now = content_of(&table, other.partition_columns()).await?;
    assert_eq!(
        now.into_iter().collect::<Vec<_>>(),
        [("day=1970-01-01".to_string(), vec!["x".to_string()])]
    );
    assert_eq!(place.data_files().await.len(), 1);
    let error = write(&table, Operation::Append, &[("a", &["3"])]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    Ok(())
}

async fn a_table_without_partition_columns_is_one_partition(place: Place) -> Result<()> {
    let table = place.table();
    let flat = keyed_schema(&[]);
    let whole = PartitionKey::default();
    let write = async |operation, text: &'static str| {
        let files: &[(PartitionKey, &[&str])] = &[(whole.clone(), &[text])];
        write_keys(&table, &flat, operation, files, |_| {}).await
    };
    write(Operation::Create, "1").await?;
    write(Operation::Append, "2").await?;
    assert_eq!(content_of(&table, &[]).await?["(whole table)"], ["1", "2"]);
    place.put("report/deeper/x.parquet", "4\n").await;
    assert_eq!(content_of(&table, &[]).await?["(whole table)"], ["1", "2", "4"]);
    let committed = write(dynamic(), "3").await?;
    assert_eq!(committed.rows_removed, 3);
    assert_eq!(content_of(&table, &[]).await?["(whole table)"], ["3"]);
    assert_eq!(place.data_files().await.len(), 1);
    write(Operation::Replace, "5").await?;
    assert_eq!(content_of(&table, &[]).await?["(whole table)"], ["5"]);
    Ok(())
}

async fn success_is_there_after_every_commit(place: Place) -> Result<()> {
    let table = place.table();
    let operations =
        [Operation::Create, Operation::Append, dynamic(), fixed(&[]), Operation::Replace];
    for operation in operations {
        write(&table, operation, &[("a", &["1"])]).await?;
        assert!(place.exists("report/_SUCCESS").await);
    }
    Ok(())
}

async fn success_can_be_turned_off_or_written_in_each_partition(place: Place) -> Result<()> {
    let table = place.table();
    let write = async |marker: &str| {
        let properties = [("success_marker".to_string(), marker.to_string())].into();
        let transaction = table.begin(&schema(), properties).await?;
        let staged = stage(&transaction, &[(key("a"), &["1"])]).await?;
        transaction.commit(Change::new(Operation::Replace, staged), &Lines).await
    };
    write("none").await?;
    assert!(!place.exists("report/_SUCCESS").await);
    write("partition").await?;
    assert!(place.exists("report/_SUCCESS").await && place.exists("report/p=a/_SUCCESS").await);
    assert!(write("sometimes").await.is_err());
    Ok(())
}

async fn a_first_append_makes_the_table(place: Place) -> Result<()> {
    let table = place.table();
    assert_eq!(write(&table, Operation::Append, &[]).await?.version, 0);
    assert!(!table.describe().await?.exists);
    assert_eq!(write(&table, Operation::Append, &[("a", &["1"])]).await?.version, 1);
    assert_eq!(content(&table).await?, rows(&[("a", &["1"])]));
    Ok(())
}

async fn a_transaction_given_up_leaves_nothing(place: Place) -> Result<()> {
    let table = place.table();
    let transaction = table.begin(&schema(), Default::default()).await?;
    stage(&transaction, &[(key("a"), &["1"])]).await?;
    transaction.abort().await;
    assert_eq!(place.files("").await, Vec::<String>::new());
    if let Place::Local(lake) = &place {
        let transaction = table.begin(&schema(), Default::default()).await?;
        stage(&transaction, &[(key("a"), &["1"])]).await?;
        drop(transaction);
        assert_eq!(std::fs::read_dir(lake.path()).unwrap().count(), 0, "not even a folder");
    }
    Ok(())
}

async fn records_tell_what_was_done(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    write(&table, fixed(&["a"]), &[("a", &["3", "4"])]).await?;
    let records = table.records().await?;
    let [newest, first] = records.as_slice() else { panic!("{records:?}") };
    assert_eq!((newest.version, newest.operation), (2, RecordedOperation::Overwrite));
    assert_eq!(newest.scope, Some(RecordedScope::Matching(vec!["p=a".to_string()])));
    assert_eq!(newest.previous, Some(Outcome::Done));
    assert_eq!((newest.partitions[0].rows_before, newest.partitions[0].rows_after), (1, 2));
    assert_eq!((newest.totals.partitions, newest.totals.files), (2, 2));
    assert_eq!(newest.totals.rows, Some(3));
    assert_eq!((first.operation, first.schema.is_some()), (RecordedOperation::Create, true));
    assert_eq!(table.count(schema().partition_columns()).await?.partitions, 2);
    Ok(())
}

async fn a_table_of_one_name_does_not_see_another(place: Place) -> Result<()> {
    let (one, other) = (Table::new(place.location("a=1")), Table::new(place.location("a=10")));
    write(&one, Operation::Create, &[("x", &["1"])]).await?;
    write(&other, Operation::Create, &[("x", &["2"])]).await?;
    assert_eq!(content(&one).await?, rows(&[("x", &["1"])]));
    one.purge().await?;
    assert_eq!(content(&other).await?, rows(&[("x", &["2"])]));
    Ok(())
}

async fn many_partitions_in_one_commit(place: Place) -> Result<()> {
    let table = place.table();
    let names: Vec<String> = (0..91).map(|n| format!("{n:02}")).collect();
    let files: Vec<(&str, &[&str])> = names.iter().map(|n| (n.as_str(), &["1", "2"][..])).collect();
    write(&table, Operation::Create, &files).await?;
    let committed = write(&table, dynamic(), &files).await?;
    assert_eq!((committed.partitions.len(), committed.untouched), (91, 0));
    assert_eq!(place.data_files().await.len(), 91);
    assert_eq!(content(&table).await?.len(), 91);
    Ok(())
}
