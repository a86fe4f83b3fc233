//! A fault at every call of every statement: the table is before or after, exactly; no file that a
//! plain listing shows is half-written; the next write repairs it, and the next vacuum leaves
//! nothing over.

mod statements;

mod local;
mod memory;
#[cfg(feature = "aws")]
mod s3;
mod seeded;

use partwise_commit::*;
use partwise_testkit::{Fault, Faults};

use crate::place::Place;
use crate::support::*;
pub use statements::{Statement, statements, vacuum};

/// A lake with what there is before a statement, and how its table is opened.
pub struct Stage<'a> {
    pub place: &'a Place,
    /// Opens the table with faults.
    pub open: &'a (dyn Fn(&Place, Faults) -> Table + Sync),
}

impl Stage<'_> {
    fn sound(&self) -> Table {
        (self.open)(self.place, Faults::none())
    }

    /// Runs a statement with a fault at one call, and looks at what there is then. Whether that
    /// call was reached.
    pub async fn try_at(&self, statement: &Statement, fault: Fault, at: usize) -> Result<bool> {
        let faults = Faults::at(fault, at);
        let table = (self.open)(self.place, faults.clone());
        let result = statement.run(&table).await;
        drop(table);
        let call = faults.trace().get(at).map(|call| shown(call));
        let point = format!("{} {fault:?} at {at} {call:?}: {result:?}", statement.name);
        assert!(faults.hit() || result.is_ok(), "{point}");
        self.check(statement, result.is_ok(), &point).await?;
        Ok(faults.hit())
    }

    /// What every fault has to leave.
    pub async fn check(&self, statement: &Statement, done: bool, point: &str) -> Result<()> {
        let table = self.sound();
        let seen = content(&table).await?;
        let described = table.describe().await?;
        let there = !seen.is_empty() || !statement.before.is_empty();
        assert_eq!(described.has_data, there, "{point}");
        let columns = described.schema.unwrap_or_else(schema);
        assert!(columns == statement.schema_after() || (!done && columns == schema()), "{point}");
        let (before, after) = (rows(statement.before), rows(statement.after));
        assert!(seen == after || (!done && seen == before), "{point}: {seen:?}");
        self.nothing_is_half_written(point).await;
        self.write_on(&table).await?;
        let sidecar = self.place.exists("report/p=a/.sidecar").await;
        assert!(sidecar || statement.before.is_empty(), "{point}: the sidecar");
        let mut repaired = content(&table).await?;
        assert_eq!(repaired.remove("p=z"), Some(vec!["9".to_string()]), "{point}");
        let kept = seen == before && repaired == before;
        assert!(repaired == after || kept, "{point}: {repaired:?}");
        self.is_tidy(&table, point).await?;
        let vacuumed = vacuum(&table).await?;
        assert!(vacuumed.warnings.is_empty(), "{point}: {vacuumed:?}");
        self.no_orphans(&table, point).await
    }

    /// One more write, planned again where the columns change by what it finishes.
    async fn write_on(&self, table: &Table) -> Result<()> {
        let files: &[(PartitionKey, &[&str])] = &[(key("z"), &["9"])];
        for attempt in 0.. {
            let columns = table.describe().await?.schema.unwrap_or_else(schema);
            match write_keys(table, &columns, Operation::Append, files, |_| {}).await {
                Err(error) if error.kind() == ErrorKind::Conflict && attempt == 0 => {}
                written => return written.map(drop),
            }
        }
        Ok(())
    }

    /// Whatever a tool finds that only lists the directory, it can read.
    async fn nothing_is_half_written(&self, point: &str) {
        for file in self.place.data_files().await {
            let text = self.place.text(&file).await;
            assert!(text.ends_with('\n'), "{point}: {file} holds {text:?}");
        }
    }

    /// Every data file is in the snapshot, or was retained by a record.
    async fn is_tidy(&self, table: &Table, point: &str) -> Result<()> {
        let snapshot = table.snapshot(schema().partition_columns(), &AllPartitions).await?;
        let files = snapshot.partitions.iter().flat_map(|partition| &partition.files);
        let mut known: Vec<String> = files.map(|file| format!("report/{}", file.path)).collect();
        known.sort();
        assert_eq!(self.place.data_files().await, known, "{point}");
        let records = table.records().await?;
        for file in self.place.files("_partwise/report/retained").await {
            let path = file.strip_prefix("_partwise/report/retained/").unwrap_or_default();
            let (version, path) = path.split_once('/').unwrap();
            let record = records.iter().find(|record| record.version.to_string() == version);
            let mut removed = record.iter().flat_map(|r| &r.partitions).flat_map(|p| &p.removed);
            assert!(removed.any(|file| file.path == path), "{point}: {file}");
        }
        assert!(self.place.exists("report/_SUCCESS").await, "{point}: _SUCCESS");
        Ok(())
    }

    /// After a vacuum that keeps nothing there are the table and its log.
    async fn no_orphans(&self, table: &Table, point: &str) -> Result<()> {
        let log = self.place.files("_partwise").await;
        let own = |file: &&String| {
            let path = file.strip_prefix("_partwise/report/").unwrap_or_default();
            path.starts_with("log/") || ["lock", "published", "table.json"].contains(&path)
        };
        let others: Vec<_> = log.iter().filter(|file| !own(file)).collect();
        assert!(others.is_empty(), "{point}: {others:?}");
        self.is_tidy(table, point).await
    }
}

/// The calls of a statement that works.
pub async fn calls_of(stage: &Stage<'_>, statement: &Statement) -> Result<Vec<String>> {
    let faults = Faults::none();
    statement.run(&(stage.open)(stage.place, faults.clone())).await?;
    let calls: Vec<String> = faults.trace().iter().map(|call| shown(call)).collect();
    println!("{}: {} calls", statement.name, calls.len());
    calls.iter().enumerate().for_each(|(n, call)| println!("  {n:3} {call}"));
    Ok(calls)
}

/// A call without what differs from run to run: the lake, and ids.
fn shown(call: &str) -> String {
    let (name, path) = call.split_once(' ').unwrap_or((call, ""));
    let starts = ["_partwise", "report"].iter().filter_map(|start| path.find(start));
    let path = &path[starts.min().unwrap_or(0)..];
    let short = |part: &str| {
        let id = part.strip_prefix("part-").or(part.strip_prefix("_partwise-"));
        match id.unwrap_or(part) {
            id if id.len() >= 36 => part.replace(&id[..36], "<id>"),
            _ => part.to_string(),
        }
    };
    format!("{name} {}", path.split('/').map(short).collect::<Vec<_>>().join("/"))
}

/// Where the stop right after the switch is among a statement's calls, which there has to be.
pub fn after_the_switch(statement: &Statement, calls: &[String], switch: &str) -> Option<usize> {
    let found = calls.iter().position(|call| call.contains(switch));
    assert!(found.is_some() || statement.is_vacuum(), "{}: no {switch}", statement.name);
    assert!(found.is_none_or(|n| n + 1 < calls.len()), "{}: nothing after it", statement.name);
    found.map(|n| n + 1)
}
