//! The manifest: what the writing tasks tell the sink, as plain Arrow rows, so that they may run on
//! other machines.
//!
//! ```text
//! file     input_partition input_partitions attempt | partition directory name identity rows stats upload
//! file     ...
//! covered  input_partition input_partitions attempt | how many files and rows this task wrote
//! ```
//!
//! A task ends with its `covered` row. A task that was run twice has two attempts: one counts.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt32Type, UInt64Type};
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use partwise_commit::StagedFile;

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    Arc::new(Schema::new(vec![
        Field::new("input_partition", DataType::UInt32, false),
        Field::new("input_partitions", DataType::UInt32, false),
        Field::new("attempt", DataType::UInt64, false),
        Field::new("files", DataType::UInt64, false),
        Field::new("rows", DataType::UInt64, false),
        Field::new("bytes", DataType::UInt64, false),
        Field::new("partition", DataType::Utf8, true),
        Field::new("directory", DataType::Utf8, true),
        Field::new("name", DataType::Utf8, true),
        Field::new("identity", DataType::Utf8, true),
        Field::new("stats", DataType::Utf8, true),
        Field::new("upload", DataType::Utf8, true),
    ]))
});

/// The columns of the manifest.
pub fn manifest_schema() -> SchemaRef {
    Arc::clone(&SCHEMA)
}

/// Who wrote a row: which input partition out of how many, in which run of its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    /// The input partition that the task covers.
    pub input_partition: u32,
    /// How many there are.
    pub input_partitions: u32,
    /// Tells runs of the same task apart.
    pub attempt: u64,
}

/// One row of the manifest.
#[derive(Clone, Debug, PartialEq)]
pub enum ManifestRow {
    /// A finished file.
    File(StagedFile),
    /// The task has written all of its input.
    Covered {
        /// The files it made.
        files: u64,
        /// The rows in them.
        rows: u64,
        /// Their bytes.
        bytes: u64,
    },
}

impl ManifestRow {
    /// The row as a batch of [`manifest_schema`].
    ///
    /// # Errors
    /// A part that can't be written as JSON.
    pub fn to_batch(&self, origin: Origin) -> Result<RecordBatch> {
        let (files, rows, bytes) = self.counts();
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(UInt32Array::from(vec![origin.input_partition])),
            Arc::new(UInt32Array::from(vec![origin.input_partitions])),
            Arc::new(UInt64Array::from(vec![origin.attempt])),
            Arc::new(UInt64Array::from(vec![files])),
            Arc::new(UInt64Array::from(vec![rows])),
            Arc::new(UInt64Array::from(vec![bytes])),
        ];
        for text in self.texts()? {
            columns.push(Arc::new(StringArray::from(vec![text])));
        }
        Ok(RecordBatch::try_new(manifest_schema(), columns)?)
    }

    fn counts(&self) -> (u64, u64, u64) {
        match self {
            ManifestRow::File(file) => (1, file.rows, file.bytes()),
            ManifestRow::Covered { files, rows, bytes } => (*files, *rows, *bytes),
        }
    }

    fn texts(&self) -> Result<[Option<String>; 6]> {
        let ManifestRow::File(file) = self else { return Ok(Default::default()) };
        Ok([
            Some(json(serde_json::to_string(&file.partition))?),
            Some(file.directory.clone()),
            Some(file.name.clone()),
            Some(json(serde_json::to_string(&file.identity))?),
            Some(json(serde_json::to_string(&file.stats))?),
            file.upload.as_ref().map(serde_json::to_string).map(json).transpose()?,
        ])
    }

    /// The rows of a batch of [`manifest_schema`].
    ///
    /// # Errors
    /// A batch of other columns or with text that isn't what `to_batch` writes.
    pub fn from_batch(batch: &RecordBatch) -> Result<Vec<(Origin, ManifestRow)>> {
        if batch.schema() != manifest_schema() {
            return Err(DataFusionError::Internal(format!(
                "rows of a manifest are expected, not {}",
                batch.schema()
            )));
        }
        (0..batch.num_rows()).map(|row| read_row(batch, row)).collect()
    }
}

fn read_row(batch: &RecordBatch, row: usize) -> Result<(Origin, ManifestRow)> {
    let short = |column: usize| batch.column(column).as_primitive::<UInt32Type>().value(row);
    let long = |column: usize| batch.column(column).as_primitive::<UInt64Type>().value(row);
    let text = |column: usize| {
        let strings = batch.column(column).as_string::<i32>();
        strings.is_valid(row).then(|| strings.value(row))
    };
    let origin = Origin { input_partition: short(0), input_partitions: short(1), attempt: long(2) };
    let Some(name) = text(8) else {
        return Ok((
            origin,
            ManifestRow::Covered { files: long(3), rows: long(4), bytes: long(5) },
        ));
    };
    let file = StagedFile {
        partition: json(serde_json::from_str(some(text(6))))?,
        directory: text(7).unwrap_or_default().to_owned(),
        name: name.to_owned(),
        identity: json(serde_json::from_str(some(text(9))))?,
        rows: long(4),
        stats: json(serde_json::from_str(some(text(10))))?,
        upload: text(11).map(serde_json::from_str).map(json).transpose()?,
    };
    Ok((origin, ManifestRow::File(file)))
}

/// JSON text that has to be there.
fn some(text: Option<&str>) -> &str {
    text.unwrap_or("null")
}

fn json<T>(result: serde_json::Result<T>) -> Result<T> {
    result.map_err(json_error)
}

fn json_error(error: serde_json::Error) -> DataFusionError {
    DataFusionError::Internal(format!("a row of a manifest: {error}"))
}

/// Collects manifest rows and tells whether they are complete.
#[derive(Debug, Default)]
pub struct Manifest {
    tasks: BTreeMap<Origin, Task>,
}

#[derive(Debug, Default)]
struct Task {
    files: Vec<StagedFile>,
    covered: Option<u64>,
}

impl Manifest {
    /// Adds a batch of rows.
    ///
    /// # Errors
    /// As [`ManifestRow::from_batch`].
    pub fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        for (origin, row) in ManifestRow::from_batch(batch)? {
            let task = self.tasks.entry(origin).or_default();
            match row {
                ManifestRow::File(file) => task.files.push(file),
                ManifestRow::Covered { files, .. } => task.covered = Some(files),
            }
        }
        Ok(())
    }

    /// The files to commit: each input partition's from one task that covered it.
    ///
    /// # Errors
    /// An input partition that no task covered, or a task whose files are not all here.
    pub fn files(self) -> Result<Vec<StagedFile>> {
        let mut complete: BTreeMap<u32, Task> = BTreeMap::new();
        let mut expected = None;
        for (origin, task) in self.tasks {
            let Some(files) = task.covered else { continue };
            if files != task.files.len() as u64
                || *expected.get_or_insert(origin.input_partitions) != origin.input_partitions
            {
                return Err(incomplete("a task's files are not all in the manifest"));
            }
            complete.entry(origin.input_partition).or_insert(task);
        }
        if !complete.keys().copied().eq(0..expected.unwrap_or(1)) {
            return Err(incomplete("a part of the query's rows was not written"));
        }
        Ok(complete.into_values().flat_map(|task| task.files).collect())
    }
}

fn incomplete(what: &str) -> DataFusionError {
    crate::error::external(partwise_commit::Error::internal(format!(
        "{what}: nothing was committed; run the statement again"
    )))
}

#[cfg(test)]
mod tests {
    use partwise_commit::{ColumnStats, FileStats, Identity, PartitionKey, PartitionValue, Upload};

    use super::*;

    fn file(name: &str) -> StagedFile {
        let column = ColumnStats { min: Some(1.into()), max: Some("z".into()), nulls: Some(3) };
        StagedFile {
            partition: PartitionKey::new(vec![
                PartitionValue::Null,
                PartitionValue::Decimal(-15),
                PartitionValue::Text("a/b".into()),
            ]),
            directory: "d=__HIVE_DEFAULT_PARTITION__".into(),
            name: name.into(),
            identity: Identity { size: 10, modified_ns: Some(7), etag: None },
            rows: 5,
            stats: FileStats { columns: [("c".to_owned(), column)].into() },
            upload: Some(Upload { id: "u".into(), parts: vec!["1".into(), "2".into()] }),
        }
    }

    fn origin(input_partition: u32, attempt: u64) -> Origin {
        Origin { input_partition, input_partitions: 2, attempt }
    }

    fn covered(files: u64) -> ManifestRow {
        ManifestRow::Covered { files, rows: files * 5, bytes: files * 10 }
    }

    fn names(rows: &[(Origin, ManifestRow)]) -> Result<Vec<String>> {
        let mut manifest = Manifest::default();
        for (origin, row) in rows {
            manifest.add(&row.to_batch(*origin)?)?;
        }
        Ok(manifest.files()?.into_iter().map(|file| file.name).collect())
    }

    #[test]
    fn rows_come_back_as_they_were() {
        let mut bare = file("b");
        bare.upload = None;
        for row in [ManifestRow::File(file("a")), ManifestRow::File(bare), covered(3)] {
            let batch = row.to_batch(origin(1, u64::MAX)).expect("written");
            let read = ManifestRow::from_batch(&batch).expect("read");
            assert_eq!(read, [(origin(1, u64::MAX), row)]);
        }
    }

    #[test]
    fn each_input_partition_counts_once() {
        let rows = [
            (origin(0, 1), ManifestRow::File(file("a"))),
            (origin(0, 2), ManifestRow::File(file("a again"))),
            (origin(1, 3), ManifestRow::File(file("half"))),
            (origin(0, 1), covered(1)),
            (origin(0, 2), covered(1)),
            (origin(1, 4), covered(0)),
        ];
        assert_eq!(names(&rows).expect("complete"), ["a"]);
    }

    #[test]
    fn an_input_partition_that_nobody_covered_is_an_error() {
        let error = names(&[(origin(0, 1), covered(0))]).expect_err("incomplete");
        assert!(error.to_string().contains("nothing was committed"), "{error}");
        assert!(names(&[]).is_err());
    }

    #[test]
    fn a_file_missing_from_the_manifest_is_an_error() {
        let rows = [(origin(0, 1), covered(1)), (origin(1, 2), covered(0))];
        assert!(names(&rows).is_err());
    }
}
