//! The morsels of a file: its rows under the stream's columns, its errors with its name.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::error::{DataFusionError, Result as DFResult};
use datafusion_datasource::morsel::{Morsel, MorselPlan, MorselPlanner, Morselizer};
use futures::StreamExt;
use futures::stream::BoxStream;

use super::folder::Folder;
use super::named::named;
use crate::Error;
use crate::source::json::ExactColumns;

/// The morselizer of a task.
#[derive(Debug)]
pub(super) struct NamedMorselizer {
    pub inner: Box<dyn Morselizer>,
    pub folder: Arc<Folder>,
    /// Where rows are read as texts.
    pub columns: Option<Arc<ExactColumns>>,
}

impl Morselizer for NamedMorselizer {
    fn plan_file(&self, file: PartitionedFile) -> DFResult<Box<dyn MorselPlanner>> {
        let name: Arc<str> = self.folder.name_of(&file.object_meta.location).into();
        let inner = self.inner.plan_file(file).map_err(of(&name))?;
        let file = File { name, columns: self.columns.clone() };
        Ok(Box::new(Named { inner, file }))
    }
}

/// A file that is read.
#[derive(Clone)]
struct File {
    name: Arc<str>,
    columns: Option<Arc<ExactColumns>>,
}

/// To an error with the file's name.
fn of(name: &str) -> impl Fn(DataFusionError) -> DataFusionError + '_ {
    |cause| named(name, Error::from(cause)).into()
}

/// A part of reading a file.
struct Named<T> {
    inner: T,
    file: File,
}

impl<T: fmt::Debug> fmt::Debug for Named<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl MorselPlanner for Named<Box<dyn MorselPlanner>> {
    fn plan(self: Box<Self>) -> DFResult<Option<MorselPlan>> {
        let Self { inner, file } = *self;
        let plan = inner.plan().map_err(of(&file.name))?;
        Ok(plan.map(|plan| file.watching(plan)))
    }
}

impl Morsel for Named<Box<dyn Morsel>> {
    fn into_stream(self: Box<Self>) -> BoxStream<'static, DFResult<RecordBatch>> {
        let Self { inner, file } = *self;
        let rows = inner.into_stream();
        rows.map(move |rows| file.exactly(rows).map_err(of(&file.name))).boxed()
    }
}

impl File {
    fn exactly(&self, rows: DFResult<RecordBatch>) -> DFResult<RecordBatch> {
        match &self.columns {
            Some(columns) => Ok(columns.exactly(&rows?)?),
            None => rows,
        }
    }

    /// The plan with all its parts of this file.
    fn watching(&self, mut plan: MorselPlan) -> MorselPlan {
        let planner =
            |inner| -> Box<dyn MorselPlanner> { Box::new(Named { inner, file: self.clone() }) };
        let morsel = |inner| -> Box<dyn Morsel> { Box::new(Named { inner, file: self.clone() }) };
        let planners = plan.take_ready_planners().into_iter().map(planner).collect();
        let morsels = plan.take_morsels().into_iter().map(morsel).collect();
        let mut watched = MorselPlan::new().with_morsels(morsels).with_planners(planners);
        if let Some(pending) = plan.take_pending_planner() {
            let file = self.clone();
            watched.set_pending_planner(async move {
                let inner = pending.await.map_err(of(&file.name))?;
                Ok(Box::new(Named { inner, file }) as Box<dyn MorselPlanner>)
            });
        }
        watched
    }
}
