//! A batch's rows, kept so that they can be written more than once.
//!
//! The query runs once. Its rows stay in memory up to a limit, beyond it in a temporary file of
//! DataFusion's, so that a transaction that has to be run again has them, and none is open while the
//! query runs.

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::execution::SpillFile;
use datafusion::physical_plan::execute_stream_partitioned;
use futures::stream::{StreamExt, select_all};
use partwise_stream::sink::SinkBatch;
use partwise_stream::{Error, ErrorKind, Result};

/// Bytes of rows that are kept in memory.
const IN_MEMORY: usize = 32 << 20;
/// Bits of a row's number that count within a partition of the plan.
const PARTITION_BITS: u32 = 40;

/// The rows of a batch in pieces, each with the number of its first row. The numbers are the same
/// whenever the batch is run: they are by partition, however those take turns.
pub(crate) struct Rows {
    count: u64,
    first_rows: Vec<i64>,
    kept: Kept,
}

enum Kept {
    Here(Vec<RecordBatch>),
    File(Arc<dyn SpillFile>),
}

/// Rows and the number of the first.
pub(crate) type Piece = (i64, RecordBatch);

impl Rows {
    /// Runs the query of a batch.
    ///
    /// # Errors
    /// What the query fails with; no room for the file.
    pub async fn of(batch: &SinkBatch) -> Result<Self> {
        let plan = batch.rows.as_plan()?;
        let partitions = execute_stream_partitioned(plan, batch.state.task_ctx())?;
        let tagged = partitions.into_iter().zip(0_i64..);
        let mut all = select_all(
            tagged.map(|(rows, partition)| rows.map(move |rows| (partition, rows)).boxed()),
        );
        let mut keeper = Keeper::default();
        let mut next = Vec::new();
        let (mut count, mut first_rows) = (0, Vec::new());
        while let Some((partition, rows)) = all.next().await {
            let rows = rows?;
            if rows.num_rows() == 0 {
                continue;
            }
            // A few partitions, by number.
            let at = usize::try_from(partition).unwrap_or_default();
            next.resize(next.len().max(at + 1), 0_i64);
            first_rows.push((partition << PARTITION_BITS) + next[at]);
            next[at] += rows.num_rows() as i64;
            count += rows.num_rows() as u64;
            keeper.keep(rows, batch)?;
        }
        Ok(Self { count, first_rows, kept: keeper.end()? })
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Whether they are few enough to be in memory.
    pub fn are_here(&self) -> bool {
        matches!(self.kept, Kept::Here(_))
    }

    /// The pieces, in the order in which they came.
    ///
    /// # Errors
    /// A file that can't be read.
    pub fn pieces(&self) -> Result<Box<dyn Iterator<Item = Result<Piece>> + Send + '_>> {
        let numbers = self.first_rows.iter().copied();
        match &self.kept {
            Kept::Here(rows) => Ok(Box::new(numbers.zip(rows.iter().cloned()).map(Ok))),
            Kept::File(file) => {
                let file = File::open(path(file.as_ref())?).map_err(|error| unkept(&error))?;
                let reader = StreamReader::try_new(BufReader::new(file), None)?;
                Ok(Box::new(numbers.zip(reader).map(|(first, rows)| Ok((first, rows?)))))
            }
        }
    }
}

/// A file and what writes to it.
type Writing = (Arc<dyn SpillFile>, StreamWriter<BufWriter<File>>);

/// Keeps rows as they come.
#[derive(Default)]
struct Keeper {
    here: Vec<RecordBatch>,
    bytes: usize,
    file: Option<Writing>,
}

impl Keeper {
    fn keep(&mut self, rows: RecordBatch, batch: &SinkBatch) -> Result<()> {
        if let Some((_, writer)) = &mut self.file {
            return Ok(writer.write(&rows)?);
        }
        // Buffers that several share are counted with each: rather too much than too little.
        self.bytes += rows.get_array_memory_size();
        self.here.push(rows);
        if self.bytes > IN_MEMORY { self.move_to_file(batch) } else { Ok(()) }
    }

    fn move_to_file(&mut self, batch: &SinkBatch) -> Result<()> {
        let manager = &batch.state.runtime_env().disk_manager;
        let file = manager.create_tmp_file("keeping the rows of a batch")?;
        let created = File::create(path(file.as_ref())?).map_err(|error| unkept(&error))?;
        let schema = self.here[0].schema();
        let mut writer = StreamWriter::try_new(BufWriter::new(created), &schema)?;
        for rows in self.here.drain(..) {
            writer.write(&rows)?;
        }
        self.file = Some((file, writer));
        Ok(())
    }

    fn end(self) -> Result<Kept> {
        let Some((file, mut writer)) = self.file else { return Ok(Kept::Here(self.here)) };
        writer.finish()?;
        Ok(Kept::File(file))
    }
}

fn path(file: &dyn SpillFile) -> Result<&std::path::Path> {
    file.path().ok_or_else(|| {
        Error::unsupported(
            "the rows of a large batch are kept in a temporary file, and the session's have no path",
        )
    })
}

fn unkept(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("can't keep the rows of a batch: {error}"))
}
