//! The morsels of a file, their errors with its name.

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

/// The morselizer of a task.
#[derive(Debug)]
pub(super) struct NamedMorselizer {
    inner: Box<dyn Morselizer>,
    folder: Arc<Folder>,
}

impl NamedMorselizer {
    pub fn new(inner: Box<dyn Morselizer>, folder: Arc<Folder>) -> Self {
        Self { inner, folder }
    }
}

impl Morselizer for NamedMorselizer {
    fn plan_file(&self, file: PartitionedFile) -> DFResult<Box<dyn MorselPlanner>> {
        let name: Arc<str> = self.folder.name_of(&file.object_meta.location).into();
        let inner = self.inner.plan_file(file).map_err(of(&name))?;
        Ok(Named { inner, name }.boxed_planner())
    }
}

/// To an error with the file's name.
fn of(name: &str) -> impl Fn(DataFusionError) -> DataFusionError + '_ {
    |cause| named(name, Error::from(cause)).into()
}

/// A part of reading a file.
struct Named<T> {
    inner: T,
    name: Arc<str>,
}

impl<T: fmt::Debug> fmt::Debug for Named<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl Named<Box<dyn MorselPlanner>> {
    fn boxed_planner(self) -> Box<dyn MorselPlanner> {
        Box::new(self)
    }
}

impl MorselPlanner for Named<Box<dyn MorselPlanner>> {
    fn plan(self: Box<Self>) -> DFResult<Option<MorselPlan>> {
        let Self { inner, name } = *self;
        let plan = inner.plan().map_err(of(&name))?;
        Ok(plan.map(|plan| with_name(plan, &name)))
    }
}

impl Morsel for Named<Box<dyn Morsel>> {
    fn into_stream(self: Box<Self>) -> BoxStream<'static, DFResult<RecordBatch>> {
        let Self { inner, name } = *self;
        inner.into_stream().map(move |rows| rows.map_err(of(&name))).boxed()
    }
}

fn with_name(mut plan: MorselPlan, name: &Arc<str>) -> MorselPlan {
    let morsels = plan.take_morsels().into_iter();
    let morsels = morsels.map(|inner| Named { inner, name: Arc::clone(name) });
    let planners = plan.take_ready_planners().into_iter();
    let planners = planners.map(|inner| Named { inner, name: Arc::clone(name) }.boxed_planner());
    let mut wrapped = MorselPlan::new()
        .with_morsels(morsels.map(|morsel| Box::new(morsel) as Box<dyn Morsel>).collect())
        .with_planners(planners.collect());
    if let Some(pending) = plan.take_pending_planner() {
        let name = Arc::clone(name);
        wrapped.set_pending_planner(async move {
            let inner = pending.await.map_err(of(&name))?;
            Ok(Named { inner, name }.boxed_planner())
        });
    }
    wrapped
}
