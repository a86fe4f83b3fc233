//! The Parquet source's morsels: skipped by partition at run time, counted, their errors named.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::error::ArrowError;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion_datasource::PartitionedFile;
use datafusion_datasource::morsel::{Morsel, MorselPlan, MorselPlanner, Morselizer};
use futures::StreamExt;
use futures::stream::BoxStream;
use parquet::errors::ParquetError;
use partwise_commit::Error;

use super::metrics::ScanCounters;
use super::runtime::RuntimeFilter;
use crate::error::external;
use crate::reader::ScanFile;
use crate::schema::Unfit;

/// The morselizer of one task.
pub(super) struct PartwiseMorselizer {
    inner: Box<dyn Morselizer>,
    runtime: Option<RuntimeFilter>,
    counters: Arc<ScanCounters>,
    metrics: ExecutionPlanMetricsSet,
}

impl PartwiseMorselizer {
    pub(super) fn new(
        inner: Box<dyn Morselizer>,
        runtime: Option<RuntimeFilter>,
        counters: Arc<ScanCounters>,
        metrics: ExecutionPlanMetricsSet,
    ) -> Self {
        Self { inner, runtime, counters, metrics }
    }
}

impl fmt::Debug for PartwiseMorselizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartwiseMorselizer").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl Morselizer for PartwiseMorselizer {
    fn plan_file(&self, file: PartitionedFile) -> Result<Box<dyn MorselPlanner>> {
        let Some(scan_file) = file.extension::<ScanFile>().cloned() else {
            return self.inner.plan_file(file);
        };
        if self.runtime.as_ref().is_some_and(|runtime| runtime.excludes(&file)) {
            self.counters.file_skipped(&scan_file);
            return Ok(Box::new(NothingToRead));
        }
        let watch = Watch { file: scan_file, counters: Arc::clone(&self.counters) };
        let inner = self.inner.plan_file(file).map_err(|error| watch.name(error))?;
        Ok(Box::new(WatchedPlanner { inner, watch }))
    }
}

impl Drop for PartwiseMorselizer {
    fn drop(&mut self) {
        self.counters.rows_dropped(&self.metrics);
    }
}

/// The planner of a file that is skipped.
#[derive(Debug)]
struct NothingToRead;

impl MorselPlanner for NothingToRead {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        Ok(None)
    }
}

/// What accompanies the reading of one file.
#[derive(Clone)]
struct Watch {
    file: ScanFile,
    counters: Arc<ScanCounters>,
}

impl Watch {
    /// Names the file in an error of the decoder, which doesn't.
    fn name(&self, error: DataFusionError) -> DataFusionError {
        let damaged = |cause: DataFusionError| {
            let message = format!("{} is damaged", self.file.name());
            external(Error::corrupt(message).with_source(cause))
        };
        match error {
            DataFusionError::ParquetError(error) => match *error {
                ParquetError::External(cause) => match cause.downcast::<Error>() {
                    Ok(error) => external(*error),
                    Err(cause) => damaged(ParquetError::External(cause).into()),
                },
                error => damaged(error.into()),
            },
            DataFusionError::ArrowError(error, trace) => match *error {
                ArrowError::ParquetError(_) => damaged(DataFusionError::ArrowError(error, None)),
                ArrowError::ExternalError(cause) => match cause.downcast::<Error>() {
                    Ok(error) => external(*error),
                    Err(cause) => {
                        let error = Box::new(ArrowError::ExternalError(cause));
                        DataFusionError::ArrowError(error, trace)
                    }
                },
                error => DataFusionError::ArrowError(Box::new(error), trace),
            },
            DataFusionError::External(cause) => match cause.downcast::<Unfit>() {
                Ok(unfit) => {
                    let message = format!("{} can't be read as the table", self.file.name());
                    external(Error::invalid(message).with_source(unfit))
                }
                Err(cause) => DataFusionError::External(cause),
            },
            error => error,
        }
    }
}

struct WatchedPlanner {
    inner: Box<dyn MorselPlanner>,
    watch: Watch,
}

impl fmt::Debug for WatchedPlanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl MorselPlanner for WatchedPlanner {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        let Self { inner, watch } = *self;
        let planned = inner.plan().map_err(|error| watch.name(error))?;
        Ok(planned.map(|plan| watched(plan, &watch)))
    }
}

/// The plan with everything in it watched.
fn watched(mut plan: MorselPlan, watch: &Watch) -> MorselPlan {
    let again =
        |inner| Box::new(WatchedPlanner { inner, watch: watch.clone() }) as Box<dyn MorselPlanner>;
    let planners = plan.take_ready_planners().into_iter().map(again).collect();
    let morsels = plan
        .take_morsels()
        .into_iter()
        .map(|inner| Box::new(WatchedMorsel { inner, watch: watch.clone() }) as Box<dyn Morsel>);
    let mut wrapped = MorselPlan::new().with_morsels(morsels.collect()).with_planners(planners);
    if let Some(pending) = plan.take_pending_planner() {
        let watch = watch.clone();
        wrapped.set_pending_planner(async move {
            let inner = pending.await.map_err(|error| watch.name(error))?;
            Ok(Box::new(WatchedPlanner { inner, watch }) as Box<dyn MorselPlanner>)
        });
    }
    wrapped
}

struct WatchedMorsel {
    inner: Box<dyn Morsel>,
    watch: Watch,
}

impl fmt::Debug for WatchedMorsel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Morsel for WatchedMorsel {
    fn into_stream(self: Box<Self>) -> BoxStream<'static, Result<RecordBatch>> {
        let Self { inner, watch } = *self;
        let stream = inner.into_stream().map(move |batch| match batch {
            Ok(batch) => {
                watch.counters.rows_kept(batch.num_rows());
                Ok(batch)
            }
            Err(error) => Err(watch.name(error)),
        });
        stream.boxed()
    }
}
