//! Where a stream's rows come from.
//!
//! ```text
//! SourceFactory  CREATE STREAM .. FROM kind 'path' OPTIONS (..)
//!      |
//! StreamSource   columns, what it is: part of the query's fingerprint
//!      |
//! Source         one query's reader: resume -> next (offsets) -> read (exactly these) -> committed
//! ```
//! Offsets are JSON that names a batch's exact input, so that a replay reads the same rows whatever
//! has arrived since.

mod files;
pub mod json;
mod memory;
mod rate;

pub use files::{FileFormatName, FilesFactory, FilesSource};
pub use memory::MemorySource;
pub use rate::{RateFactory, RateSource};

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::context::SessionState;
use datafusion::physical_plan::ExecutionPlan;
use serde_json::Value;

use crate::Result;
use crate::definition::StreamDefinition;

/// Makes the sources of one kind.
#[async_trait]
pub trait SourceFactory: Debug + Send + Sync {
    /// The source of a stream.
    ///
    /// # Errors
    /// A path or an option that is missing or isn't known; columns that can't be found out.
    async fn source(
        &self,
        state: &SessionState,
        definition: &StreamDefinition,
    ) -> Result<Arc<dyn StreamSource>>;
}

/// Where a stream's rows come from; queries read it each for itself.
#[async_trait]
pub trait StreamSource: Debug + Send + Sync {
    /// What it is and where, in words.
    fn describe(&self) -> String;

    /// What a checkpoint is tied to: the same without what may change while the rows stay, such as
    /// limits and the addresses of servers.
    fn identity(&self) -> String {
        self.describe()
    }

    /// The folder of this machine that it reads, with all below it.
    fn folder(&self) -> Option<&Path> {
        None
    }

    /// The columns.
    fn schema(&self) -> SchemaRef;

    /// A reader for one query.
    ///
    /// # Errors
    /// A source that can't be reached.
    async fn reader(&self, state: &SessionState) -> Result<Box<dyn Source>>;
}

/// One query's reader of a source.
#[async_trait]
pub trait Source: Debug + Send + Sync {
    /// Takes up where an earlier run of the query left: what [`remembered`](Self::remembered) gave
    /// at some time, and the offsets of the batches since, oldest first. The last of them may not be
    /// committed; then its offsets are read again.
    ///
    /// # Errors
    /// What isn't this source's.
    async fn resume(&mut self, remembered: Option<Value>, since: Vec<Value>) -> Result<()>;

    /// From here on, only what is there now counts: [`next`](Self::next) ends with it.
    ///
    /// # Errors
    /// A source that can't be reached.
    async fn available_now(&mut self) -> Result<()>;

    /// The offsets of the next batch, within the source's limits; none where nothing is new.
    ///
    /// # Errors
    /// A source that can't be reached.
    async fn next(&mut self) -> Result<Option<Value>>;

    /// A plan of the rows of exactly these offsets.
    ///
    /// # Errors
    /// Input that is gone or isn't the same any more, named.
    async fn read(
        &self,
        offsets: &Value,
        request: ReadRequest<'_>,
    ) -> Result<Arc<dyn ExecutionPlan>>;

    /// The batch of these offsets, and all before it, won't be read again.
    ///
    /// # Errors
    /// A source that has to be told and can't.
    async fn committed(&mut self, _offsets: &Value) -> Result<()> {
        Ok(())
    }

    /// Input of the batch that was read last that is no row of the stream, where the source goes on
    /// without it or with NULLs in its place.
    fn bad_rows(&self) -> u64 {
        0
    }

    /// All that has to be remembered of the batches so far, in place of their offsets.
    fn remembered(&self) -> Value;
}

/// What is to be read of a batch.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequest<'a> {
    /// The query's session.
    pub state: &'a SessionState,
    /// The columns, by their places in the source's schema, in this order.
    pub projection: &'a [usize],
    /// The batch began before a restart: is its input still the same?
    pub replayed: bool,
}
