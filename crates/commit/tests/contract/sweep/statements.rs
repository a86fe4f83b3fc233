//! The statements that are swept: what there is before, what each does, what there is after.

use std::time::Duration;

use partwise_commit::*;

use crate::alters::{alter, wider};
use crate::place::Place;
use crate::support::*;

type Files = &'static [(&'static str, &'static [&'static str])];

/// What a statement does.
#[derive(Clone, Debug)]
pub enum Work {
    Write(Operation),
    /// An overwrite of the whole table that a TRUNCATE or an OPTIMIZE is.
    As(RecordedOperation),
    /// `b` is emptied, as the scope of a DROP PARTITION.
    Drop,
    /// One more column.
    Alter,
    /// A dynamic overwrite of which `a` and `c` are the declared scope.
    Scoped,
    /// Back to the second version.
    Restore,
    /// By a retention of nothing.
    Vacuum,
}

/// A statement on a table that holds `before`.
#[derive(Clone, Debug)]
pub struct Statement {
    pub name: &'static str,
    work: Work,
    files: Files,
    pub before: Files,
    pub after: Files,
    /// How many partitions it replaces on a local disk by a swap.
    pub swaps: usize,
    /// What was written before it, on a table of `BEFORE`.
    earlier: Option<(Operation, Files)>,
}

/// Two versions, and a foreign file in `c`.
pub const BEFORE: Files = &[("a", &["1"]), ("b", &["2", "2"]), ("c", &["3"])];

/// All that write, restore or vacuum.
pub fn statements() -> Vec<Statement> {
    let on_table = |name, work, files, after| Statement {
        name,
        work,
        files,
        before: BEFORE,
        after,
        swaps: 0,
        earlier: None,
    };
    let swapping = |swaps, statement| Statement { swaps, ..statement };
    let write =
        |name, operation, files, after| on_table(name, Work::Write(operation), files, after);
    let replaced: Files = &[("a", &["8"]), ("n", &["7"])];
    let appended: Files = &[("b", &["8"]), ("c", &["9"])];
    let with_appended: Files = &[("a", &["1"]), ("b", &["2", "2", "8"]), ("c", &["3", "9"])];
    let first: Files = &[("a", &["1"]), ("b", &["2"])];
    vec![
        Statement { before: &[], ..write("first write", Operation::Create, first, first) },
        write(
            "append",
            Operation::Append,
            &[("a", &["5"]), ("n", &["6"])],
            &[("a", &["1", "5"]), ("b", &["2", "2"]), ("c", &["3"]), ("n", &["6"])],
        ),
        swapping(
            2,
            write(
                "dynamic overwrite",
                dynamic(),
                &[("a", &["5"]), ("b", &["6"]), ("n", &["7"])],
                &[("a", &["5"]), ("b", &["6"]), ("c", &["3"]), ("n", &["7"])],
            ),
        ),
        swapping(
            1,
            write(
                "overwrite of all",
                fixed(&[]),
                &[("b", &["6"]), ("n", &["7"])],
                &[("b", &["6"]), ("n", &["7"])],
            ),
        ),
        write(
            "static overwrite by nothing",
            fixed(&["a"]),
            &[],
            &[("b", &["2", "2"]), ("c", &["3"])],
        ),
        swapping(
            1,
            on_table(
                "scoped overwrite",
                Work::Scoped,
                &[("a", &["5"])],
                &[("a", &["5"]), ("b", &["2", "2"])],
            ),
        ),
        swapping(
            1,
            write("create or replace", Operation::Replace, &[("b", &["6"])], &[("b", &["6"])]),
        ),
        on_table("truncate", Work::As(RecordedOperation::Truncate), &[], &[]),
        on_table("drop partition", Work::Drop, &[], &[("a", &["1"]), ("c", &["3"])]),
        swapping(
            3,
            on_table("optimize overwrite", Work::As(RecordedOperation::Optimize), BEFORE, BEFORE),
        ),
        on_table("add column", Work::Alter, &[], BEFORE),
        Statement {
            before: replaced,
            swaps: 1,
            earlier: Some((fixed(&[]), replaced)),
            ..on_table("restore", Work::Restore, &[], BEFORE)
        },
        Statement {
            before: with_appended,
            earlier: Some((Operation::Append, appended)),
            ..on_table("restore of an append", Work::Restore, &[], BEFORE)
        },
        Statement {
            before: replaced,
            earlier: Some((fixed(&[]), replaced)),
            ..on_table("vacuum", Work::Vacuum, &[], replaced)
        },
    ]
}

impl Statement {
    /// What there is before, with a sidecar of another tool in `a`.
    pub async fn prepare(&self, place: &Place, table: &Table) -> Result<()> {
        if self.before.is_empty() {
            return Ok(());
        }
        write(table, Operation::Create, &[("a", &["1"]), ("b", &["2"])]).await?;
        write(table, Operation::Append, &[("b", &["2"])]).await?;
        place.put("report/p=c/data_0.parquet", "3\n").await;
        place.put("report/p=a/.sidecar", "x").await;
        if let Some((operation, files)) = &self.earlier {
            write(table, operation.clone(), files).await?;
        }
        if matches!(self.work, Work::Vacuum) {
            leave_staging(place, table).await?;
        }
        Ok(())
    }

    pub async fn run(&self, table: &Table) -> Result<()> {
        match &self.work {
            Work::Write(operation) => write(table, operation.clone(), self.files).await.map(drop),
            Work::Scoped => {
                let scoped = |change: &mut Change| change.scope = Some(one_of(&["a", "c"]));
                write_with(table, dynamic(), self.files, scoped).await.map(drop)
            }
            Work::As(recorded) => {
                let recorded = |change: &mut Change| change.recorded_as = Some(*recorded);
                write_with(table, fixed(&[]), self.files, recorded).await.map(drop)
            }
            Work::Drop => {
                let scoped = |change: &mut Change| {
                    change.recorded_as = Some(RecordedOperation::DropPartition);
                    change.scope = Some(one_of(&["b"]));
                };
                write_with(table, dynamic(), &[], scoped).await.map(drop)
            }
            Work::Alter => alter(table, 2, &[]).await.map(drop),
            Work::Restore => table.restore(&Restore::to(2), &Lines).await.map(drop),
            Work::Vacuum => vacuum(table).await.map(drop),
        }
    }

    /// The schema that it leaves.
    pub fn schema_after(&self) -> TableSchema {
        if matches!(self.work, Work::Alter) { wider() } else { schema() }
    }

    /// Whether what the statement does is done when it says so: a vacuum only warns.
    pub fn is_vacuum(&self) -> bool {
        matches!(self.work, Work::Vacuum)
    }
}

/// Everything that a retention of nothing lets go.
pub async fn vacuum(table: &Table) -> Result<Vacuumed> {
    table.vacuum(&Vacuum { retain: Some(Duration::ZERO), ..Vacuum::default() }).await
}

/// Complete files of a writer that is gone: in a folder that nobody locks, or in open uploads.
pub async fn leave_staging(place: &Place, table: &Table) -> Result<()> {
    if matches!(place, Place::Local(_)) {
        place.put("_partwise/report/staging/dead/p=a/part-x.parquet", "bad\n").await;
        return Ok(());
    }
    let gone = table.begin(&schema(), Default::default()).await?;
    stage(&gone, &[(key("a"), &["bad"])]).await?;
    std::mem::forget(gone);
    Ok(())
}
