//! Four hundred nightly overwrites with the default retention: what is kept stays the same.
use partwise_commit::*;
use partwise_testkit::Faults;

use crate::place::Place;
use crate::support::*;

crate::contracts!(four_hundred_nights_keep_a_week, a_restore_keeps_what_a_later_version_needs,);

/// The nights after which the table is looked at: all of them past the first week.
const LOOKS: [u64; 3] = [20, 210, 400];
/// More records than a week holds.
const AGEING: u64 = 12;

/// A table whose calls are counted.
struct Counted {
    table: Table,
    calls: Box<dyn Fn() -> usize>,
}

fn counted(place: &Place) -> Counted {
    let faults = Faults::none();
    let table = place.failing(faults.clone());
    Counted { table, calls: Box::new(move || faults.calls().len()) }
}

/// What is kept, and what planning and committing cost.
#[derive(Debug, PartialEq)]
struct Kept {
    data_files: usize,
    retained_files: usize,
    records: usize,
    planning_calls: usize,
    history: usize,
}

async fn kept(place: &Place) -> Result<Kept> {
    let columns = schema();
    let planning = counted(place);
    planning.table.snapshot(columns.partition_columns(), &AllPartitions).await?;
    let mut records = 0;
    for path in place.files("_partwise/report/log").await {
        records += usize::from(!place.text(&path).await.contains("\"stub\""));
    }
    Ok(Kept {
        data_files: place.data_files().await.len(),
        retained_files: place.files("_partwise/report/retained").await.len(),
        records,
        planning_calls: (planning.calls)(),
        history: place.table().history().await?.len(),
    })
}

/// A day passes: every record that can still matter is a day older.
async fn a_day_passes(place: &Place, newest: u64) {
    for version in newest.saturating_sub(AGEING).max(1)..=newest {
        let path = format!("_partwise/report/log/{version:020}.json");
        if place.exists(&path).await && !place.text(&path).await.contains("\"stub\"") {
            place.date_back(version, 24).await;
        }
    }
}

async fn four_hundred_nights_keep_a_week(place: Place) -> Result<()> {
    if place.is_remote() {
        // A memory store does the same in a fraction of the time.
        return Ok(());
    }
    let (mut seen, mut commits) = (Vec::new(), Vec::new());
    write(&counted(&place).table, Operation::Create, &[("b", &["x"]), ("c", &["y"])]).await?;
    for version in 2..=400 {
        a_day_passes(&place, version - 1).await;
        let night = counted(&place);
        let text = version.to_string();
        let committed = write(&night.table, dynamic(), &[("a", &[&text])]).await?;
        assert_eq!((committed.version, committed.warnings), (version, Vec::new()));
        if LOOKS.contains(&version) {
            commits.push((night.calls)());
            seen.push(kept(&place).await?);
            all_of_the_week_can_be_told(&place, version).await?;
        }
    }
    // A week of versions, the one before it, and the first, which has the schema.
    assert_eq!((seen[0].records, seen[0].history), (9, 9), "{seen:?}");
    assert_eq!((seen[0].data_files, seen[0].retained_files), (3, 7), "{seen:?}");
    assert!(seen.iter().all(|kept| *kept == seen[0]), "{seen:?}");
    match place {
        Place::Local(_) => assert!(commits.iter().all(|n| *n == commits[0]), "{commits:?}"),
        // The oldest record is found among the stubs by halves.
        _ => assert!(commits.iter().all(|n| *n < commits[0] + 12), "{commits:?}"),
    }
    Ok(())
}

async fn all_of_the_week_can_be_told(place: &Place, newest: u64) -> Result<()> {
    let table = counted(place).table;
    for version in newest - 7..=newest {
        let expected = rows(&[("a", &[&version.to_string()]), ("b", &["x"]), ("c", &["y"])]);
        assert_eq!(content_at(&table, version, &schema()).await?, expected);
    }
    for version in [1, newest - 8] {
        let error = content_at(&table, version, &schema()).await.unwrap_err();
        assert!(error.to_string().contains("is too old"), "{error}");
    }
    let times: Vec<_> = table.history().await?.iter().map(|e| (e.version, e.time_ms)).collect();
    for (version, time_ms) in times.iter().take(8) {
        assert_eq!(table.version_at(At::TimeMs(*time_ms)).await?.version, *version);
    }
    Ok(())
}

/// The files that a restore brought back are its own: the retention takes only the old names.
async fn a_restore_keeps_what_a_later_version_needs(place: Place) -> Result<()> {
    let table = counted(&place).table;
    write(&table, Operation::Create, &[("a", &["1"])]).await?;
    write(&table, dynamic(), &[("a", &["bad"])]).await?;
    table.restore(&Restore::to(1), &Lines).await?;
    for version in 1..=3 {
        place.date_back(version, 8 * 24).await;
    }
    write(&table, Operation::Append, &[("b", &["2"])]).await?;
    assert!(place.files("_partwise/report/retained").await.is_empty());
    assert_eq!(content(&table).await?, rows(&[("a", &["1"]), ("b", &["2"])]));
    assert_eq!(content_at(&table, 3, &schema()).await?, rows(&[("a", &["1"])]));
    Ok(())
}
