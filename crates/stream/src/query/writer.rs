//! `write_stream`: what a frame over a stream is to become.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::dataframe::DataFrame;

use super::running::{ProgressHook, StreamQuery};
use crate::definition::{OutputMode, Trigger};
use crate::engine::{Opening, Step, StepHook};
use crate::progress::Progress;
use crate::sink::{BatchId, ConsoleSink, ForeachBatch, Sink};
use crate::{Error, Result};

/// Runs a frame over a stream as a query.
pub trait WriteStream {
    /// Starts to say how. Nothing happens before [`start`](StreamWriter::start).
    fn write_stream(self) -> StreamWriter;
}

impl WriteStream for DataFrame {
    fn write_stream(self) -> StreamWriter {
        StreamWriter {
            frame: self,
            name: None,
            mode: OutputMode::default(),
            trigger: Trigger::default(),
            checkpoint: None,
            sink: None,
            step_hook: None,
            progress_hook: None,
        }
    }
}

/// A query to be started.
#[derive(Clone)]
#[must_use = "nothing runs before start()"]
pub struct StreamWriter {
    frame: DataFrame,
    name: Option<String>,
    mode: OutputMode,
    trigger: Trigger,
    checkpoint: Option<PathBuf>,
    sink: Option<Arc<dyn Sink>>,
    step_hook: Option<StepHook>,
    progress_hook: Option<ProgressHook>,
}

impl StreamWriter {
    /// The query's name; if nothing is said, that of the checkpoint's folder. Sinks know it.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// What each batch gives out; append if nothing is said.
    pub fn output_mode(mut self, mode: OutputMode) -> Self {
        self.mode = mode;
        self
    }

    /// When batches run; all that is available now if nothing is said.
    pub fn trigger(mut self, trigger: Trigger) -> Self {
        self.trigger = trigger;
        self
    }

    /// The folder of the checkpoint, a folder for each query. It is made if it is missing.
    pub fn checkpoint(mut self, folder: impl Into<PathBuf>) -> Self {
        self.checkpoint = Some(folder.into());
        self
    }

    /// Where the rows go.
    pub fn sink(mut self, sink: impl Sink + 'static) -> Self {
        self.sink = Some(Arc::new(sink));
        self
    }

    /// Where the rows go, where it is known at run time alone.
    pub fn shared_sink(mut self, sink: Arc<dyn Sink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// Shows the rows on the standard output.
    pub fn console(self) -> Self {
        self.sink(ConsoleSink::stdout())
    }

    /// Calls a function with each batch's rows and id; see [`ForeachBatch`].
    pub fn foreach_batch<F, R>(self, call: F) -> Self
    where
        F: Fn(DataFrame, BatchId) -> R + Send + Sync + 'static,
        R: Future<Output = Result<()>> + Send + 'static,
    {
        self.sink(ForeachBatch::new(call))
    }

    /// Calls a function with what each batch did.
    pub fn on_progress(mut self, call: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.progress_hook = Some(Arc::new(call));
        self
    }

    /// Calls a function before each step of each batch; an error stops the query there, as a crash
    /// would: for tests of what comes after.
    pub fn before_each_step(
        mut self,
        call: impl Fn(Step, u64) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.step_hook = Some(Arc::new(call));
        self
    }

    /// Opens the query and starts its batches in a task of its own.
    ///
    /// # Errors
    /// What the query, the output mode, the checkpoint or the sink don't allow, with the reason and
    /// the ways on; nothing has changed then.
    pub async fn start(self) -> Result<StreamQuery> {
        let Some(checkpoint) = self.checkpoint else {
            return Err(Error::invalid(
                "a query needs a folder of its own that says how far it has come: checkpoint(..)",
            ));
        };
        let Some(sink) = self.sink else {
            return Err(Error::invalid(
                "a query needs a sink: sink(..), console() or foreach_batch(..)",
            ));
        };
        let folder = checkpoint.file_name().map(|name| name.to_string_lossy().into_owned());
        let Some(name) = self.name.or(folder).filter(|name| !name.trim().is_empty()) else {
            return Err(Error::invalid("a query needs a name: name(..)"));
        };
        let (state, plan) = self.frame.into_parts();
        let (mode, hook) = (self.mode, self.step_hook);
        let opening = Opening { name, mode, checkpoint, sink, state, plan, hook };
        let engine = opening.open().await?;
        Ok(StreamQuery::start(engine, self.trigger, self.progress_hook))
    }
}

impl fmt::Debug for StreamWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamWriter")
            .field("name", &self.name)
            .field("mode", &self.mode)
            .field("trigger", &self.trigger)
            .field("checkpoint", &self.checkpoint)
            .field("sink", &self.sink)
            .finish_non_exhaustive()
    }
}
