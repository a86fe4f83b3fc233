//! Streaming queries as a series of bounded batches over Apache DataFusion.
//!
//! Delivery into a sink is at least once; the sink makes it exactly once. The model is that of
//! Spark's Structured Streaming: output modes, watermarks, checkpoints.
//!
//! ```text
//!   a query              logical plan over one stream
//!      |  plan           split at its aggregate: rows in | groups | rows out; what the mode allows
//!      v
//!   engine, batch n
//!      |  source         what is new -> offsets, the batch's exact input
//!      |  checkpoint     offsets/<n>                create-once: a second instance loses here
//!      |  run            source rows -> watermark (late rows dropped, counted)
//!      |                   no aggregate:  rows
//!      |                   aggregate:     Partial -> + stored state of the same groups
//!      |                                  -> PartialReduce -> changed groups' states -> Final -> rows
//!      |  sink           write(batch n, digest of its offsets), applied once
//!      |  state          state/<n>: changed groups, or now and then all of them
//!      |  checkpoint     commits/<n>                batch n is done; the watermark moves
//!      v
//!   next batch
//! ```
//!
//! A restart reads the checkpoint and runs the last offsets without a commit again, as the same
//! batch with exactly the same input; the sink knows the batch's token (query id, batch, digest) and
//! skips what it has. Input of committed batches isn't needed again: state carries the result.
//!
//! | module | what it is |
//! |---|---|
//! | [`definition`] | what `CREATE STREAM` and `START QUERY` say |
//! | [`source`] | where rows come from: files, memory, a clock; the traits for more |
//! | `checkpoint` | every name below a checkpoint folder |
//! | `plan` | a query's plan, split; what each output mode allows |
//! | [`window`] | `tumble`, and which group column is a window over event time |
//! | `state` | the groups' partial aggregates, in memory and in the checkpoint |
//! | `engine` | the order of the steps; triggers |
//! | [`sink`] | where rows go: tables, memory, console, a function; the trait for more |
//! | [`progress`] | what each batch did |
//! | [`query`] | the builder and the running query |
//! | `options` | what `OPTIONS (..)` says, for connectors |
//! | [`context`] | streams, queries and connectors of a session |
//!
//! # Guarantees
//!
//! - Offsets are flushed before a batch runs, its state before its commit, so that a process that
//!   dies between any two steps loses nothing and repeats at most one batch.
//! - Groups are DataFusion's own aggregate states: every aggregate with a state works, user-defined
//!   ones included, and gives what the batch query gives.
//! - A checkpoint belongs to one query: another plan, sink or source is refused, with the ways on.
//!
//! # Known limits
//!
//! - One stream per query, one aggregate over it; joins go to tables at rest.
//! - `now()` is the time when the query was started.
//! - Checkpoints lie on a local disk.
#![deny(missing_docs)]

mod checkpoint;
pub mod context;
pub mod definition;
mod engine;
mod options;

mod plan;
pub mod progress;
pub mod query;
pub mod sink;
pub mod source;
mod state;
mod stream_table;
pub mod window;

pub use checkpoint::drop_checkpoint;
pub use context::StreamContext;
pub use definition::{
    Clause, OutputMode, QueryDefinition, SinkDefinition, StreamDefinition, Trigger, Watermark,
};
pub use engine::{Step, StepHook};
pub use options::Options;
pub use partwise_table::error::{Error, ErrorKind, Result};
pub use progress::{Progress, Totals};
pub use query::{StreamQuery, StreamWriter, WriteStream};
pub use sink::{BatchId, ConsoleSink, ForeachBatch, MemorySink, Once, TableSink};
pub use source::MemorySource;
pub use stream_table::StreamTable;
