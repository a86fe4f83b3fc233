//! `PREVIEW` of a statement that writes: what it would do, as rows, one per partition.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::execution::context::SessionState;
use datafusion::physical_plan::collect;
use partwise_commit::{PartitionColumn, PartitionPreview, Preview, Stopped};
use partwise_table::write::Told;

use super::torn;
use crate::plan::PlannedWrite;
use crate::statement::{Insert, Previewed};
use crate::{Error, ErrorKind, Result, functions, lookup, plan, scans};

/// Runs a statement up to its commit and says what that would do.
///
/// # Errors
/// Whatever stops the query; what the guard or the scope would say is in the rows.
pub async fn preview(state: &SessionState, change: &Previewed) -> Result<RecordBatch> {
    let told = Told::default();
    let write = match change {
        Previewed::Insert(insert) => plan_insert(state, insert, told.clone()).await?,
        Previewed::Rewrite(rewrite) => {
            plan::rewrite::plan(state, rewrite, Some(told.clone())).await?.write
        }
    };
    run(state, &write).await?;
    rows(&write.partition_columns, &told.get().ok_or_else(silent)?)
}

async fn plan_insert(
    state: &SessionState,
    insert: &Insert,
    told: Told<Preview>,
) -> Result<PlannedWrite> {
    let name = lookup::reference(&insert.table.to_string());
    let provider = lookup::changed(state, &name).await?;
    let table = lookup::ours(&insert.table, &provider)?;
    let write = plan::insert::plan(state, insert, &name, table, Some(told)).await?;
    write.ok_or_else(silent)
}

fn silent() -> Error {
    Error::new(ErrorKind::Internal, "the preview ended without saying what it found")
}

async fn run(state: &SessionState, write: &PlannedWrite) -> Result<()> {
    let tables = scans::tables_of(&write.plan)?;
    let plan = state.create_physical_plan(&write.plan).await?;
    if scans::is_torn(&tables) {
        return Err(torn());
    }
    collect(plan, state.task_ctx()).await?;
    Ok(())
}

/// The partition columns, `action, rows_before, rows_after, files_before, files_after, verdict`.
fn rows(columns: &[PartitionColumn], preview: &Preview) -> Result<RecordBatch> {
    let partitions = &preview.partitions;
    let keys: Vec<_> = partitions.iter().map(|partition| &partition.key).collect();
    let figures = ["rows_before", "rows_after", "files_before", "files_after"];
    let mut more = vec![("action", DataType::Utf8)];
    more.extend(figures.map(|name| (name, DataType::UInt64)));
    more.push(("verdict", DataType::Utf8));
    let fields = functions::values::fields(columns, &more);
    let number = |of: fn(&PartitionPreview) -> u64| -> ArrayRef {
        Arc::new(partitions.iter().map(|p| Some(of(p))).collect::<UInt64Array>())
    };
    let verdicts = partitions.iter().map(|p| p.verdict.clone().or_else(|| stopped(preview)));
    let mut arrays = functions::values::key_arrays(columns, &keys)?;
    arrays.push(Arc::new(StringArray::from_iter_values(
        partitions.iter().map(|partition| partition.action.as_str()),
    )));
    arrays.push(number(|p| p.rows_before));
    arrays.push(number(|p| p.rows_after));
    arrays.push(number(|p| p.files_before as u64));
    arrays.push(number(|p| p.files_after as u64));
    arrays.push(Arc::new(verdicts.collect::<StringArray>()));
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)?)
}

/// Why nothing at all would be changed, where no single partition is to blame.
fn stopped(preview: &Preview) -> Option<String> {
    match preview.stopped.as_ref()? {
        Stopped::Applied(version) => {
            Some(format!("already applied by this job and run, as version {version}"))
        }
        Stopped::Existed => Some("the partition exists".to_owned()),
        Stopped::Refused(why) => {
            let blamed = preview.partitions.iter().any(|partition| partition.verdict.is_some());
            (!blamed).then(|| why.clone())
        }
    }
}
