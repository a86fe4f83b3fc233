//! Retention and the end of a table.

use std::time::Duration;

use partwise_commit::*;

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    what_is_replaced_is_retained,
    a_retention_of_zero_keeps_nothing,
    the_property_sets_the_retention,
    purging_removes_table_and_log,
    trimming_keeps_schema_tokens_and_the_last_records,
);

async fn what_is_replaced_is_retained(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    write(&table, fixed(&[]), &[("a", &["3"])]).await?;
    let retained = place.files("_partwise/report/retained/2").await;
    assert_eq!(retained.len(), 2);
    Ok(())
}

async fn a_retention_of_zero_keeps_nothing(place: Place) -> Result<()> {
    let table = place.table();
    let keep_nothing = |change: &mut Change| change.retention = Some(Duration::ZERO);
    for n in 0..5 {
        let text = n.to_string();
        write_with(&table, dynamic(), &[("a", &[&text])], keep_nothing).await?;
    }
    assert!(place.files("_partwise/report/retained").await.is_empty());
    assert_eq!(content(&table).await?, rows(&[("a", &["4"])]));
    assert_eq!(write(&table, dynamic(), &[("a", &["5"])]).await?.version, 6);
    Ok(())
}

async fn the_property_sets_the_retention(place: Place) -> Result<()> {
    let table = place.table();
    let properties = || [("retention".to_string(), "0".to_string())].into();
    for n in ["1", "2"] {
        let transaction = table.begin(&schema(), properties()).await?;
        let staged = stage(&transaction, &[(key("a"), &[n])]).await?;
        transaction.commit(Change::new(dynamic(), staged), &Lines).await?;
    }
    assert!(place.files("_partwise/report/retained").await.is_empty());
    let wrong = [("retention".to_string(), "a while".to_string())].into();
    let error = table.begin(&schema(), wrong).await.unwrap_err();
    assert!(error.to_string().contains("'7 days'"), "{error}");
    Ok(())
}

async fn purging_removes_table_and_log(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    write(&table, dynamic(), &[("a", &["2"])]).await?;
    place.put("report/notes.txt", "mine").await;
    table.purge().await?;
    assert!(place.files("").await.is_empty());
    assert!(!table.describe().await?.exists);
    assert_eq!(write(&table, Operation::Create, &[("a", &["3"])]).await?.version, 1);
    assert_eq!(content(&table).await?, rows(&[("a", &["3"])]));
    Ok(())
}

async fn trimming_keeps_schema_tokens_and_the_last_records(place: Place) -> Result<()> {
    let table = place.table();
    let keep_nothing = |change: &mut Change| change.retention = Some(Duration::ZERO);
    let token = || Token { job: "j".into(), run: 1, step: 0, digest: "d".into() };
    write_with(&table, Operation::Create, &[("a", &["1"])], keep_nothing).await?;
    let tokened = |change: &mut Change| {
        keep_nothing(change);
        change.token = Some(token());
    };
    write_with(&table, Operation::Append, &[("a", &["2"])], tokened).await?;
    for _ in 0..4 {
        write_with(&table, Operation::Append, &[("a", &["3"])], keep_nothing).await?;
    }
    let versions: Vec<u64> = table.records().await?.iter().map(|record| record.version).collect();
    assert_eq!(versions, [6, 5, 1], "the last two and the one with the schema");
    let replay = write_with(&table, Operation::Append, &[("a", &["2"])], tokened).await?;
    assert_eq!((replay.replayed, replay.version), (true, 2));
    assert_eq!(content(&table).await?["p=a"].len(), 6);
    Ok(())
}
