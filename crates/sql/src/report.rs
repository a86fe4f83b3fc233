//! What a write says afterwards.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use partwise_commit::{
    Committed, PartitionChange, PartitionColumn, RecordedOperation, Token, Undone,
};
use serde_json::{Value, json};

/// A write that has happened: what the commit line and its JSON form are made from.
#[derive(Debug, Clone)]
pub struct WriteReport {
    /// The table's name or path, as the statement gave it.
    pub target: String,
    /// What the commit did.
    pub committed: Committed,
    /// The table's partition columns, in order.
    pub partition_columns: Vec<PartitionColumn>,
    /// The token the write carried.
    pub token: Option<Token>,
    /// For a RESTORE, what it went back to.
    pub restored: Option<RestoredTo>,
    /// For a DELETE, UPDATE or MERGE, what became of rows.
    pub changes: Option<RowChanges>,
    /// From the statement's start to the published version.
    pub elapsed: Duration,
}

/// Where a RESTORE went back to.
#[derive(Debug, Clone)]
pub struct RestoredTo {
    /// The version whose content the table has again.
    pub version: u64,
    /// What that means for the runs of jobs.
    pub undone: Undone,
    /// Whether the table was partitioned by other columns before.
    pub relaid: bool,
    /// The columns, where they are others than before.
    pub columns: Option<Vec<String>>,
}

/// Rows that a statement changed; those that it wrote anew as they were aren't among them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowChanges {
    /// Rows that are gone.
    pub deleted: u64,
    /// Rows that have other values.
    pub updated: u64,
    /// Rows that are new.
    pub inserted: u64,
}

impl RowChanges {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.deleted + self.updated + self.inserted
    }

    /// `updated 3 rows, inserted 1 row`.
    fn said(&self) -> String {
        let kinds =
            [("updated", self.updated), ("deleted", self.deleted), ("inserted", self.inserted)];
        let said: Vec<String> = kinds
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(word, count)| format!("{word} {}", rows(count)))
            .collect();
        match said.is_empty() {
            true => rows(0),
            false => said.join(", "),
        }
    }
}

/// Partitions that are spelled out in the commit line; beyond, they are counted.
const NAMED_PARTITIONS: usize = 3;

impl WriteReport {
    /// Rows that the write added; of a DELETE, UPDATE or MERGE, those that it changed.
    pub fn rows(&self) -> u64 {
        self.changes.map_or(self.committed.rows_added, |changes| changes.total())
    }

    /// The one line at the prompt:
    /// `version 12: replaced 1 partition (pickup_month=2024-02: 74,376 -> 74,376 rows), ..`.
    pub fn line(&self) -> String {
        format!("{}, {:.2} s", self.untimed_line(), self.elapsed.as_secs_f64())
    }

    /// The same line without the time.
    pub fn untimed_line(&self) -> String {
        let done = &self.committed;
        let mut parts = Vec::new();
        parts.extend(self.changes.filter(|_| !done.replayed).map(|changes| changes.said()));
        parts.push(self.what());
        if done.untouched > 0 {
            parts.push(format!("{} untouched", thousands(done.untouched as u64)));
        }
        if done.files_added > 0 {
            // Of an OPTIMIZE they are said already.
            parts.extend((!self.optimized()).then(|| counted(done.files_added as u64, "file")));
            parts.push(bytes(done.bytes_added));
        }
        let columns = self.restored.as_ref().and_then(|to| to.columns.as_ref());
        parts.extend(columns.map(|names| format!("columns {} again", names.join(", "))));
        parts.extend(self.undone());
        let restored =
            self.restored.as_ref().map(|to| format!("version {} restored, ", to.version));
        format!("version {}: {}{}", done.version, restored.unwrap_or_default(), parts.join(", "))
    }

    /// `took back nightly run 7, brought back nightly run 6`.
    fn undone(&self) -> impl Iterator<Item = String> {
        let undone = self.restored.as_ref().map(|to| &to.undone);
        let said = undone.map(|undone| {
            [("took back", &undone.taken_back), ("brought back", &undone.brought_back)]
        });
        let said = said.into_iter().flatten().filter(|(_, tokens)| !tokens.is_empty());
        said.map(|(words, tokens)| format!("{words} {}", runs(tokens)))
    }

    fn what(&self) -> String {
        if self.committed.replayed {
            return "already applied by this job and run, nothing changed".to_owned();
        }
        if self.committed.existed {
            return "the partition exists, nothing changed".to_owned();
        }
        if self.restored.as_ref().is_some_and(|to| to.relaid) {
            return self.relaid();
        }
        if self.optimized() {
            return self.fewer_files();
        }
        if self.partition_columns.is_empty() {
            return match self.committed.partitions.first() {
                Some(one) => format!("{} -> {}", thousands(one.rows_before), rows(one.rows_after)),
                None => "nothing changed".to_owned(),
            };
        }
        let kinds = [("replaced", true, true), ("created", false, true), ("emptied", true, false)];
        let said: Vec<String> = kinds
            .into_iter()
            .filter_map(|(word, before, after)| self.kind(word, before, after))
            .collect();
        match said.is_empty() {
            true => "no partition changed".to_owned(),
            false => said.join(", "),
        }
    }

    fn optimized(&self) -> bool {
        self.committed.operation == Some(RecordedOperation::Optimize)
    }

    /// `optimized 91 partitions, 1,820 files -> 91, same rows`.
    fn fewer_files(&self) -> String {
        let changes = &self.committed.partitions;
        let removed: usize = changes.iter().map(|change| change.files_removed).sum();
        let what = match self.partition_columns.is_empty() {
            true => String::new(),
            false => format!(" {},", counted(changes.len() as u64, "partition")),
        };
        let (before, after) = (removed as u64, self.committed.files_added as u64);
        format!("optimized{what} {} -> {}, same rows", counted(before, "file"), thousands(after))
    }

    /// Partitions of before and after don't compare: `4 -> 12 rows, partitioned by k again`.
    fn relaid(&self) -> String {
        let changes = &self.committed.partitions;
        let (before, after) = changes.iter().fold((0, 0), |(before, after), change| {
            (before + change.rows_before, after + change.rows_after)
        });
        let names: Vec<&str> = self.partition_columns.iter().map(|c| c.name.as_str()).collect();
        let layout = match names.is_empty() {
            true => "not partitioned".to_owned(),
            false => format!("partitioned by {}", names.join(", ")),
        };
        format!("{} -> {}, {layout} again", thousands(before), rows(after))
    }

    fn kind(&self, word: &str, before: bool, after: bool) -> Option<String> {
        let word = match word {
            "replaced" if self.committed.rows_removed == 0 => "appended to",
            other => other,
        };
        let of_kind = self
            .committed
            .partitions
            .iter()
            .filter(|p| (p.rows_before > 0) == before && (p.rows_after > 0) == after);
        let of_kind: Vec<_> = of_kind.collect();
        // Those of a table that was partitioned otherwise have no names in this one.
        let nameless = |p: &&PartitionChange| p.key.values().len() < self.partition_columns.len();
        if of_kind.iter().any(nameless) {
            return Some(format!("{word} {}", counted(of_kind.len() as u64, "partition")));
        }
        let named: Vec<String> = of_kind
            .into_iter()
            .map(|p| {
                let name = p.key.display(&self.partition_columns);
                format!("{name}: {} -> {}", thousands(p.rows_before), rows(p.rows_after))
            })
            .collect();
        match named.len() {
            0 => None,
            n if n <= NAMED_PARTITIONS => {
                Some(format!("{word} {} ({})", counted(n as u64, "partition"), named.join("; ")))
            }
            n => Some(format!("{word} {}", counted(n as u64, "partition"))),
        }
    }

    /// The same as an object: version, token, partitions and rows.
    pub fn json(&self) -> Value {
        let done = &self.committed;
        let partitions: Vec<Value> = done
            .partitions
            .iter()
            .map(|p| {
                json!({
                    "partition": p.key.display(&self.partition_columns),
                    "rows_before": p.rows_before,
                    "rows_after": p.rows_after,
                    "files_added": p.files_added,
                    "files_removed": p.files_removed,
                })
            })
            .collect();
        json!({
            "table": self.target,
            "version": done.version,
            "token": self.token,
            "restored_version": self.restored.as_ref().map(|to| to.version),
            "taken_back": self.restored.as_ref().map(|to| &to.undone.taken_back),
            "brought_back": self.restored.as_ref().map(|to| &to.undone.brought_back),
            "replayed": done.replayed,
            "count": self.rows(),
            "rows_deleted": self.changes.map(|changes| changes.deleted),
            "rows_updated": self.changes.map(|changes| changes.updated),
            "rows_inserted": self.changes.map(|changes| changes.inserted),
            "rows_removed": done.rows_removed,
            "partitions": partitions,
            "untouched": done.untouched,
            "files_added": done.files_added,
            "bytes_added": done.bytes_added,
            "seconds": self.elapsed.as_secs_f64(),
        })
    }
}

/// Each run once, `nightly run 7`; with its steps, where the first ones aren't among them.
fn runs(tokens: &[Token]) -> String {
    let mut steps: BTreeMap<(&str, u64), BTreeSet<u32>> = BTreeMap::new();
    for token in tokens {
        steps.entry((token.job.as_str(), token.run)).or_default().insert(token.step);
    }
    let said = steps.into_iter().map(|((job, run), steps)| match steps.contains(&0) {
        true => format!("{job} run {run}"),
        false => {
            let list: Vec<String> = steps.iter().map(ToString::to_string).collect();
            let s = if steps.len() == 1 { "" } else { "s" };
            format!("step{s} {} of {job} run {run}", list.join(", "))
        }
    });
    said.collect::<Vec<_>>().join(", ")
}

fn rows(n: u64) -> String {
    counted(n, "row")
}

/// `1 file`, `2 files`, `1,234 rows`.
pub fn counted(n: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(n), if n == 1 { "" } else { "s" })
}

/// `77,033`.
pub fn thousands(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `1.1 MB`, in powers of ten.
pub fn bytes(n: u64) -> String {
    let (mut value, mut unit) = (n as f64, "B");
    for next in ["kB", "MB", "GB", "TB"] {
        if value < 1000.0 {
            break;
        }
        (value, unit) = (value / 1000.0, next);
    }
    match unit {
        "B" => format!("{n} B"),
        _ => format!("{value:.1} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partwise_commit::{PartitionChange, PartitionKey, PartitionType, PartitionValue};

    fn change(month: &str, rows_before: u64, rows_after: u64) -> PartitionChange {
        PartitionChange {
            key: PartitionKey::new(vec![PartitionValue::Text(month.into())]),
            path: format!("pickup_month={month}"),
            rows_before,
            rows_after,
            files_added: 1,
            files_removed: 1,
        }
    }

    fn report(committed: Committed) -> WriteReport {
        WriteReport {
            target: "report".into(),
            committed,
            partition_columns: vec![PartitionColumn::new("pickup_month", PartitionType::Text)],
            token: None,
            restored: None,
            changes: None,
            elapsed: Duration::from_millis(420),
        }
    }

    #[test]
    fn the_commit_line_says_what_was_replaced() {
        let done = Committed {
            version: 12,
            partitions: vec![change("2024-02", 74_376, 74_376)],
            untouched: 2,
            files_added: 1,
            bytes_added: 1_100_000,
            rows_added: 74_376,
            rows_removed: 74_376,
            ..Committed::default()
        };
        assert_eq!(
            report(done).line(),
            "version 12: replaced 1 partition (pickup_month=2024-02: 74,376 -> 74,376 rows), \
             2 untouched, 1 file, 1.1 MB, 0.42 s"
        );
    }

    #[test]
    fn created_and_emptied_partitions_are_told_apart() {
        let done = Committed {
            version: 2,
            partitions: vec![change("2024-01", 0, 1), change("2024-03", 5, 0)],
            rows_removed: 5,
            ..Committed::default()
        };
        assert_eq!(
            report(done).line(),
            "version 2: created 1 partition (pickup_month=2024-01: 0 -> 1 row), emptied 1 \
             partition (pickup_month=2024-03: 5 -> 0 rows), 0.42 s"
        );
    }

    #[test]
    fn an_optimize_says_how_many_files_became_how_many() {
        let changes = [("2024-01", 10), ("2024-02", 20)].map(|(month, rows)| PartitionChange {
            files_removed: 700,
            ..change(month, rows, rows)
        });
        let done = Committed {
            version: 9,
            operation: Some(RecordedOperation::Optimize),
            partitions: changes.to_vec(),
            untouched: 3,
            files_added: 2,
            bytes_added: 1_100_000,
            ..Committed::default()
        };
        assert_eq!(
            report(done).line(),
            "version 9: optimized 2 partitions, 1,400 files -> 2, same rows, 3 untouched, 1.1 MB, \
             0.42 s"
        );
    }

    #[test]
    fn a_restore_says_whose_runs_it_touched() {
        let token = |job: &str, run, step| Token { job: job.into(), run, step, digest: "".into() };
        let mut report = report(Committed { version: 5, ..Committed::default() });
        let undone = Undone {
            taken_back: vec![token("a", 2, 2), token("a", 2, 1), token("b", 1, 0)],
            brought_back: vec![token("a", 1, 0), token("a", 1, 1)],
        };
        report.restored = Some(RestoredTo { version: 3, undone, relaid: false, columns: None });
        assert_eq!(
            report.untimed_line(),
            "version 5: version 3 restored, no partition changed, took back steps 1, 2 of a run 2, \
             b run 1, brought back a run 1"
        );
    }

    #[test]
    fn changed_rows_are_told_from_rows_written_anew() {
        let done = Committed {
            version: 7,
            partitions: vec![change("2024-02", 10, 9)],
            rows_added: 9,
            rows_removed: 10,
            ..Committed::default()
        };
        let mut report = report(done);
        report.changes = Some(RowChanges { deleted: 2, updated: 3, inserted: 1 });
        assert_eq!(report.rows(), 6);
        assert_eq!(
            report.untimed_line(),
            "version 7: updated 3 rows, deleted 2 rows, inserted 1 row, replaced 1 partition \
             (pickup_month=2024-02: 10 -> 9 rows)"
        );
        assert_eq!(RowChanges::default().said(), "0 rows");
    }

    #[test]
    fn numbers_read_easily() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(9_554_757), "9,554,757");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1_522_951), "1.5 MB");
    }
}
