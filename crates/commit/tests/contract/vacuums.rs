//! VACUUM: what goes, what stays, and what a dry run says.

use std::time::Duration;

use partwise_commit::*;
use partwise_testkit::{Fault, Faults, FaultyStore, OpenUploads};

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    a_dry_run_says_what_a_vacuum_removes,
    what_is_within_the_retention_stays,
    what_no_record_tells_of_goes,
    a_vacuum_finishes_what_is_logged_first,
    a_vacuum_of_nothing_leaves_nothing,
);

fn keeping_nothing() -> Vacuum {
    Vacuum { retain: Some(Duration::ZERO), ..Vacuum::default() }
}

fn kinds(vacuumed: &Vacuumed) -> Vec<WasteKind> {
    vacuumed.removed.iter().map(|waste| waste.kind).collect()
}

async fn a_dry_run_says_what_a_vacuum_removes(place: Place) -> Result<()> {
    let table = place.table();
    for n in ["1", "2", "3"] {
        write(&table, dynamic(), &[("a", &[n])]).await?;
    }
    let before = place.files("").await;
    let dry = Vacuum { dry_run: true, ..keeping_nothing() };
    let told = table.vacuum(&dry).await?;
    assert_eq!(place.files("").await, before);
    assert_eq!(kinds(&told), [WasteKind::Retained, WasteKind::Retained]);
    assert_eq!(told.bytes(), 4);
    assert_eq!(table.vacuum(&keeping_nothing()).await?, told);
    assert!(place.files("_partwise/report/retained").await.is_empty());
    assert_eq!(content(&table).await?, rows(&[("a", &["3"])]));
    assert_eq!(table.vacuum(&keeping_nothing()).await?, Vacuumed::default());
    let error = content_at(&table, 2, &schema()).await.unwrap_err();
    assert!(error.to_string().contains("is too old"), "{error}");
    Ok(())
}

async fn what_is_within_the_retention_stays(place: Place) -> Result<()> {
    let table = place.table();
    for n in ["1", "2", "3", "4", "5"] {
        write(&table, dynamic(), &[("a", &[n])]).await?;
    }
    for version in 1..=3 {
        place.date_back(version, 24).await;
    }
    let half_a_day = Vacuum { retain: Some(Duration::from_secs(12 * 3600)), ..Vacuum::default() };
    assert_eq!(table.vacuum(&Vacuum::default()).await?, Vacuumed::default(), "7 days");
    let vacuumed = table.vacuum(&half_a_day).await?;
    use WasteKind::{Record, Retained};
    assert_eq!(kinds(&vacuumed), [Retained, Retained, Record], "{vacuumed:?}");
    for version in 3..=5_u64 {
        let text = version.to_string();
        assert_eq!(content_at(&table, version, &schema()).await?["p=a"], [text]);
    }
    Ok(())
}

async fn what_no_record_tells_of_goes(place: Place) -> Result<()> {
    let table = place.table();
    write(&table, dynamic(), &[("a", &["1"])]).await?;
    write(&table, dynamic(), &[("a", &["2"])]).await?;
    write(&table, dynamic(), &[("a", &["3"])]).await?;
    place.put("_partwise/report/retained/2/p=a/planted.parquet", "bad\n").await;
    place.put("_partwise/report/retained/1/p=a/planted.parquet", "bad\n").await;
    let vacuumed = table.vacuum(&Vacuum::default()).await?;
    assert_eq!(kinds(&vacuumed), [WasteKind::Orphan, WasteKind::Orphan], "{vacuumed:?}");
    assert_eq!(place.files("_partwise/report/retained").await.len(), 2);
    assert_eq!(content_at(&table, 1, &schema()).await?, rows(&[("a", &["1"])]));
    Ok(())
}

/// A writer that stopped right after its record was logged.
async fn logged(place: &Place, uploads: &OpenUploads) -> Result<()> {
    write(&place.table(), Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
    let record = "log/00000000000000000002.json";
    for at in 0.. {
        let stopping = Faults::at(Fault::Stop, at);
        let table = match place.location("report") {
            Location::Store { store, prefix } => {
                let store = FaultyStore::new(store, stopping).noting(uploads);
                Table::new(Location::store(std::sync::Arc::new(store), prefix))
            }
            Location::Local { .. } => place.failing(stopping),
        };
        write(&table, dynamic(), &[("a", &["9"])]).await.unwrap_err();
        if place.exists(&format!("_partwise/report/{record}")).await {
            return Ok(());
        }
    }
    Ok(())
}

async fn a_vacuum_finishes_what_is_logged_first(place: Place) -> Result<()> {
    logged(&place, &OpenUploads::default()).await?;
    let table = place.table();
    assert_eq!(content(&table).await?["p=a"], ["1"]);
    let dry = Vacuum { dry_run: true, ..keeping_nothing() };
    let told = table.vacuum(&dry).await?;
    let pending = told.removed.iter().any(|waste| waste.path.contains("p=a"));
    assert!(!pending, "what waits to be brought in is no waste: {told:?}");
    table.vacuum(&keeping_nothing()).await?;
    assert_eq!(content(&table).await?["p=a"], ["9"]);
    assert!(place.files("_partwise/report/staging").await.is_empty());
    Ok(())
}

async fn a_vacuum_of_nothing_leaves_nothing(place: Place) -> Result<()> {
    assert_eq!(place.table().vacuum(&keeping_nothing()).await?, Vacuumed::default());
    assert!(place.files("").await.is_empty());
    place.put("report/p=a/data_0.parquet", "1\n").await;
    assert_eq!(place.table().vacuum(&keeping_nothing()).await?, Vacuumed::default());
    assert_eq!(place.files("").await, ["report/p=a/data_0.parquet"]);
    Ok(())
}

/// What a store does to uploads that are left open.
mod uploads {
    use super::*;

    async fn begun(place: &Place) -> Result<(Transaction, Vec<StagedFile>)> {
        let table = place.table();
        write(&table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
        let transaction = table.begin(&schema(), Default::default()).await?;
        let staged = stage(&transaction, &[(key("a"), &["9"])]).await?;
        Ok((transaction, staged))
    }

    async fn a_slow_writer_that_was_swept_is_told_and_runs_again(place: Place) -> Result<()> {
        let (slow, staged) = begun(&place).await?;
        let table = place.table();
        assert_eq!(table.vacuum(&Vacuum::default()).await?, Vacuumed::default(), "it is young");
        let swept = table.vacuum(&keeping_nothing()).await?;
        assert_eq!(kinds(&swept), [WasteKind::Staging], "{swept:?}");
        let error = slow.commit(Change::new(dynamic(), staged), &Lines).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict);
        assert!(error.to_string().contains("run the statement again"), "{error}");
        let before = rows(&[("a", &["1"]), ("b", &["2"])]);
        assert_eq!(content(&table).await?, before);
        write(&table, dynamic(), &[("a", &["9"])]).await?;
        assert_eq!(content(&table).await?, rows(&[("a", &["9"]), ("b", &["2"])]));
        Ok(())
    }

    async fn a_file_whose_upload_was_ended_says_so(place: Place) -> Result<()> {
        let (slow, _staged) = begun(&place).await?;
        let mut writer = slow.staging().create(&key("n"), "parquet").await?;
        place.table().vacuum(&keeping_nothing()).await?;
        writer.write("9\n".into()).await?;
        let error = writer.finish(1, FileStats::default()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert!(error.to_string().contains("ended by a VACUUM"), "{error}");
        slow.abort().await;
        assert_eq!(place.data_files().await.len(), 2);
        Ok(())
    }

    async fn a_rule_of_the_bucket_voids_a_logged_commit(place: Place) -> Result<()> {
        let uploads = OpenUploads::default();
        logged(&place, &uploads).await?;
        let Location::Store { store, .. } = place.location("report") else { panic!("a store") };
        assert!(!uploads.all().is_empty());
        for (id, upload) in uploads.all() {
            let _ = store.abort_multipart(&upload.key, &id).await;
        }
        let table = place.table();
        let before = rows(&[("a", &["1"]), ("b", &["2"])]);
        assert_eq!(content(&table).await?, before);
        write(&table, Operation::Append, &[("z", &["5"])]).await?;
        let mut now = content(&table).await?;
        assert_eq!(now.remove("p=z"), Some(vec!["5".to_string()]));
        assert_eq!(now, before);
        assert_eq!(table.records().await?[0].previous, Some(Outcome::Void));
        write(&table, dynamic(), &[("a", &["9"])]).await?;
        assert_eq!(content(&table).await?["p=a"], ["9"]);
        Ok(())
    }

    crate::on_stores!(
        a_slow_writer_that_was_swept_is_told_and_runs_again,
        a_file_whose_upload_was_ended_says_so,
        a_rule_of_the_bucket_voids_a_logged_commit,
    );
}
