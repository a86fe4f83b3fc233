//! Nothing outside a table's directory and its log folder is touched, whatever a partition is called
//! and whatever links somebody plants.

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use arrow_schema::DataType;
use partwise_commit::*;
use partwise_testkit::FaultyDisk;

use crate::place::Place;
use crate::support::*;

crate::contracts!(
    values_that_look_like_paths_stay_inside,
    a_path_too_long_is_refused_before_anything_is_written,
    a_record_that_names_what_is_outside_is_refused,
);

const BEFORE: &[(&str, &[&str])] = &[("a", &["1"]), ("b", &["2"])];
const HOME: &str = "_partwise/report";

async fn values_that_look_like_paths_stay_inside(place: Place) -> Result<()> {
    let table = place.table();
    let values = ["..", ".", "/", "../../x", "/etc", "a/../../b", "\0", "%2e%2e"];
    let files: Vec<(&str, &[&str])> = values.iter().map(|v| (*v, &["1"][..])).collect();
    write(&table, Operation::Create, &files).await?;
    write(&table, dynamic(), &files).await?;
    write(&table, fixed(&[".."]), &[]).await?;
    assert_eq!(content(&table).await?.len(), 7);
    let inside = |file: &String| {
        let levels = file.split('/').count();
        (file.starts_with("report/p=") && levels == 3)
            || file.starts_with("_partwise/report/")
            || (file.starts_with("report/_") && levels == 2)
    };
    let files = place.files("").await;
    assert!(files.iter().all(inside), "{files:?}");
    Ok(())
}

/// Each name is short enough, all together are not.
async fn a_path_too_long_is_refused_before_anything_is_written(place: Place) -> Result<()> {
    let names: Vec<String> = (0..20).map(|n| format!("c{n}")).collect();
    let columns: Vec<(&str, DataType)> =
        names.iter().map(|name| (name.as_str(), DataType::Utf8)).collect();
    let schema = keyed_schema(&columns);
    let value = PartitionValue::Text("v".repeat(240));
    let key = PartitionKey::new(vec![value; names.len()]);
    let files: [(PartitionKey, &[&str]); 1] = [(key, &["1"])];
    let written = write_keys(&place.table(), &schema, Operation::Create, &files, |_| {}).await;
    let error = written.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.to_string().contains("c0=vvv"), "{error}");
    assert!(error.to_string().contains("use shorter values"), "{error}");
    assert!(place.files("").await.is_empty());
    Ok(())
}

async fn a_record_that_names_what_is_outside_is_refused(place: Place) -> Result<()> {
    write(&place.table(), Operation::Create, BEFORE).await?;
    write(&place.table(), dynamic(), &[("a", &["9"])]).await?;
    let record = format!("{HOME}/log/{:020}.json", 2);
    let sound = place.text(&record).await;
    let value: serde_json::Value = serde_json::from_str(&sound).unwrap();
    let transaction = value["transaction"].as_str().unwrap();
    for (from, to) in [
        (transaction, "../../other"),
        ("\"path\":\"p=a/", "\"path\":\"p=a/../../other/"),
        ("\"path\":\"p=a\"", "\"path\":\"/tmp\""),
    ] {
        assert!(sound.contains(from), "{from}");
        place.put(&record, &sound.replace(from, to)).await;
        for error in [
            content(&place.table()).await.unwrap_err(),
            write(&place.table(), Operation::Append, &[("a", &["5"])]).await.unwrap_err(),
        ] {
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            assert!(error.to_string().contains("leads out of the table's folders"), "{error}");
        }
    }
    place.put(&record, &sound).await;
    assert_eq!(content(&place.table()).await?["p=a"], ["9"]);
    Ok(())
}

/// A lake with a table of two versions, and a folder beside it that nobody may touch: it looks like
/// what links are planted in the place of.
struct Planted {
    place: Place,
    before: BTreeMap<PathBuf, (Vec<u8>, SystemTime)>,
}

impl Planted {
    async fn new() -> Result<Self> {
        let place = Place::local();
        write(&place.table(), Operation::Create, BEFORE).await?;
        write(&place.table(), dynamic(), &[("a", &["9"])]).await?;
        for file in ["lock", "keep.parquet", "p=a/data_0.parquet", "p=a/lock", "7/p=a/x.parquet"] {
            place.put(&format!("outside/{file}"), "not yours\n").await;
        }
        for file in place.files(&format!("{HOME}/retained/2")).await {
            let name = file.rsplit_once('/').unwrap().1;
            place.put(&format!("outside/p=a/{name}"), "not yours\n").await;
        }
        let mut planted = Self { place, before: BTreeMap::new() };
        planted.before = planted.outside();
        Ok(planted)
    }

    fn path(&self, path: &str) -> PathBuf {
        let Place::Local(lake) = &self.place else { panic!("a local place") };
        lake.path().join(path)
    }

    /// All that is outside, with its times: a lock that was taken shows too.
    fn outside(&self) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
        let mut found = BTreeMap::new();
        let mut dirs = vec![self.path("outside")];
        while let Some(dir) = dirs.pop() {
            let time = |path: &Path| std::fs::metadata(path).unwrap().modified().unwrap();
            found.insert(dir.clone(), (Vec::new(), time(&dir)));
            for entry in std::fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    dirs.push(path);
                } else {
                    found.insert(path.clone(), (std::fs::read(&path).unwrap(), time(&path)));
                }
            }
        }
        found
    }

    /// A link at `at`, of the log folder, to `to`, of what is outside; what was there goes.
    fn link(&self, at: &str, to: &str) {
        let at = self.path(&format!("{HOME}/{at}"));
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        if at.is_dir() {
            std::fs::remove_dir_all(&at).unwrap();
        } else if at.exists() {
            std::fs::remove_file(&at).unwrap();
        }
        symlink(self.path(&format!("outside/{to}")), at).unwrap();
    }

    /// All statements that write, sweep or remove; what they answer doesn't matter here.
    async fn run_all(&self) -> Vec<String> {
        let table = self.place.table();
        let mut said = Vec::new();
        let mut note = |done: Result<Vec<String>>| match done {
            Ok(warnings) => said.extend(warnings),
            Err(error) => said.push(error.to_string()),
        };
        let keep_nothing = |change: &mut Change| change.retention = Some(Duration::ZERO);
        note(write(&table, dynamic(), &[("a", &["5"])]).await.map(|done| done.warnings));
        note(table.restore(&Restore::to(1), &Lines).await.map(|done| done.committed.warnings));
        note(
            write_with(&table, Operation::Append, &[("a", &["6"])], keep_nothing)
                .await
                .map(|done| done.warnings),
        );
        let vacuum = Vacuum { retain: Some(Duration::ZERO), ..Vacuum::default() };
        note(table.vacuum(&vacuum).await.map(|done| done.warnings));
        said
    }

    fn is_untouched(&self, point: &str) {
        assert_eq!(self.outside(), self.before, "{point}");
    }
}

#[tokio::test]
async fn links_in_staging_and_retained_lead_nowhere() -> Result<()> {
    for (at, to) in [
        ("staging/dead", ""),
        ("staging/dead", "keep.parquet"),
        ("staging/dead/lock", "lock"),
        ("staging/dead/lock", "new"),
        ("staging/dead/p=a", "p=a"),
        ("staging/dead/p=a/x.parquet", "keep.parquet"),
        ("retained/7", ""),
        ("retained/7", "keep.parquet"),
        ("retained/2/x.parquet", "keep.parquet"),
        ("retained/2/p=b", "p=a"),
    ] {
        let planted = Planted::new().await?;
        planted.link(at, to);
        let said = planted.run_all().await;
        planted.is_untouched(&format!("{at} -> {to}"));
        assert!(said.is_empty(), "{at} -> {to}: {said:?}");
        assert!(!planted.path(&format!("{HOME}/{at}")).is_symlink(), "{at} -> {to} is swept");
    }
    Ok(())
}

#[tokio::test]
async fn a_link_in_the_place_of_a_folder_of_ours_is_refused_by_name() -> Result<()> {
    for (at, to) in [
        ("staging", ""),
        ("retained", ""),
        ("log", ""),
        ("retained/2", ""),
        ("retained/2/p=a", "p=a"),
        ("lock", "lock"),
        ("lock", "new"),
    ] {
        let planted = Planted::new().await?;
        planted.link(at, to);
        let said = planted.run_all().await;
        planted.is_untouched(&format!("{at} -> {to}"));
        let named = |said: &String| said.contains(&format!("{HOME}/{at}"));
        // Of a table whose records are out of reach something else is said first.
        assert!(said.iter().any(named) || at == "log" && !said.is_empty(), "{at}: {said:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_link_in_the_staging_of_a_living_writer_is_refused() -> Result<()> {
    let planted = Planted::new().await?;
    let table = planted.place.table();
    let transaction = table.begin(&schema(), Default::default()).await?;
    let staged = stage(&transaction, &[(key("b"), &["8"])]).await?;
    let folder = format!("staging/{}", transaction.id());
    planted.link(&format!("{folder}/p=a"), "p=a");
    let error = stage(&transaction, &[(key("a"), &["8"])]).await.unwrap_err();
    assert!(error.to_string().contains("p=a is a link"), "{error}");
    planted.is_untouched("while files are staged");
    planted.link(&format!("{folder}/p=b"), "p=a");
    let error = transaction.commit(Change::new(dynamic(), staged), &Lines).await.unwrap_err();
    assert!(error.to_string().contains("p=b is a link"), "{error}");
    planted.is_untouched("at the commit");
    assert!(!planted.path(&format!("{HOME}/{folder}")).exists());
    assert_eq!(content(&table).await?, rows(&[("a", &["9"]), ("b", &["2"])]));
    Ok(())
}

#[tokio::test]
async fn a_link_in_the_staging_of_a_logged_commit_is_refused_until_it_is_gone() -> Result<()> {
    let planted = Planted::new().await?;
    let disk = std::sync::Arc::new(FaultyDisk::stopping_after("link", 2));
    let stopping = Table::new(Location::Local { disk, dir: planted.path("report") });
    write(&stopping, dynamic(), &[("a", &["8"])]).await.unwrap_err();
    let folder = std::fs::read_dir(planted.path(&format!("{HOME}/staging"))).unwrap();
    let folder = folder.map(|entry| entry.unwrap().path()).next().unwrap();
    let [staged, aside] = [folder.join("p=a"), planted.path("aside")];
    std::fs::rename(&staged, &aside).unwrap();
    symlink(planted.path("outside/p=a"), &staged).unwrap();
    let said = planted.run_all().await;
    planted.is_untouched("while it is rolled forward");
    assert!(said.iter().all(|said| said.contains("p=a is a link")), "{said:?}");
    assert_eq!(content(&planted.place.table()).await?["p=a"], ["9"]);
    std::fs::remove_file(&staged).unwrap();
    std::fs::rename(&aside, &staged).unwrap();
    write(&planted.place.table(), Operation::Append, &[("b", &["3"])]).await?;
    assert_eq!(content(&planted.place.table()).await?["p=a"], ["8"]);
    Ok(())
}

#[tokio::test]
async fn a_table_that_is_dropped_takes_only_links_along() -> Result<()> {
    let planted = Planted::new().await?;
    planted.link("staging/dead", "");
    planted.link("retained/7", "");
    symlink(planted.path("outside"), planted.path("report/p=linked")).unwrap();
    planted.place.table().purge().await?;
    planted.is_untouched("the drop");
    assert!(!planted.path("report").exists() && !planted.path("_partwise").exists());
    Ok(())
}

/// In retained it would lead nowhere, and count as removed by somebody else.
#[tokio::test]
async fn a_file_that_is_a_relative_link_is_not_overwritten() -> Result<()> {
    let planted = Planted::new().await?;
    let [real, link] = ["outside/real", "report/p=a/g.snappy.parquet"].map(|at| planted.path(at));
    std::fs::write(&real, "4\n").unwrap();
    symlink("../../outside/real", &link).unwrap();
    let table = planted.place.table();
    let before = content(&table).await?;
    assert!(before["p=a"].contains(&"4".to_string()), "{before:?}");
    let error = write(&table, dynamic(), &[("a", &["8"])]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("g.snappy.parquet is a link by a relative path"), "{error}");
    assert_eq!(content(&table).await?, before);
    std::fs::remove_file(&link).unwrap();
    symlink(&real, &link).unwrap();
    write(&table, dynamic(), &[("a", &["8"])]).await?;
    assert_eq!(content(&table).await?["p=a"], ["8"]);
    Ok(())
}

#[tokio::test]
async fn what_another_history_kept_is_named_before_anything_is_logged() -> Result<()> {
    let planted = Planted::new().await?;
    let table = planted.place.table();
    let newest = table.describe().await?.version.unwrap();
    let kept = planted.path(&format!("{HOME}/retained/{}/p=a", newest + 1));
    std::fs::create_dir_all(&kept).unwrap();
    std::fs::write(kept.join("x"), "x").unwrap();
    let before = content(&table).await?;
    let error = write(&table, dynamic(), &[("a", &["8"])]).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("move it away"), "{error}");
    assert_eq!(content(&table).await?, before);
    std::fs::remove_dir_all(kept.parent().unwrap()).unwrap();
    write(&table, dynamic(), &[("a", &["8"])]).await?;
    assert_eq!(content(&table).await?["p=a"], ["8"]);
    Ok(())
}
