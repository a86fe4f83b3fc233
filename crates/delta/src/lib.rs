//! Delta tables as sinks of streaming queries: `INTO DELTA OPTIONS ('location' '..')`.
//!
//! ```text
//!   batch n  rows ------> Fit: the table's columns and types, or an error that names the value
//!      |
//!      v                                                              another writer was first
//!   snapshot  <-----------------------------------------------------------------------+
//!      |  claims     whose batches does it hold? batch n: skip, refuse or             |
//!      v                                                                              |
//!   append    rows -> data files -----------\                                         |
//!   complete  rows -> data files, all old --- commit: files + claims of batch n ------+
//!             files removed                /     (a new file in _delta_log)
//!   update    MERGE on the keys ----------/
//! ```
//! A Delta commit is a file that is made once: until it is there, the table is as it was, and what was
//! written for it are files that no reader sees and VACUUM removes.
//!
//! # How a batch is in once
//! delta-rs records a transaction id in a commit, and doesn't look at it: the same id twice doubles
//! the rows. Here it is enforced, by `txn` actions (app id, version) that each commit carries:
//!
//! | app id | version | says |
//! |---|---|---|
//! | `name@id` | the batch | the query's last batch |
//! | `name@digest` | 63 bits of a hash of the batch's number and digest | which input that batch had |
//! | `partwise@queries` | 63 bits of a hash of the name; 0: of several | the one query that writes here; written when it changes |
//!
//! They are part of the table's state: checkpoints keep them when the log before is cleaned up, as
//! they don't keep `commitInfo`. They are read from the snapshot that the commit is based on; and
//! a commit that comes between is caught: an append's by delta-rs, which stops where one of the app
//! ids was written since, an update's and a complete result's by any commit at all. Then all begins
//! again on the newer snapshot. A batch older than the last is looked up in the `commitInfo`s that
//! the log still has.
//!
//! # Guarantees
//!
//! - A batch that is in is skipped, the same batch with other input is an error; of two writers that
//!   race the same batch, one writes.
//! - Another checkpoint of the same query, and a table that lacks what was delivered, are refused with
//!   the ways on; with each batch, as a table may be dropped and made anew while the query runs.
//! - Values are stored as they are or not at all: timestamps with less than microseconds, numbers
//!   that don't fit and empty text in a partition column are errors.
//! - NULL keys are equal to each other. `KEYS` are of an update: where rows are added, as those of a
//!   query without an aggregate are, they are refused rather than left without effect.
//! - Rows of an append flow to the files; nothing is collected. Those of an update are groups, which
//!   are in memory already.
//!
//! # Types
//! Those of a table of Partwise: unsigned integers become the next wider signed ones (64 bits:
//! `DECIMAL(20, 0)`), timestamps have microseconds. A timestamp with a time zone is Delta's
//! `timestamp`, in UTC; one without is `timestamp_ntz`, a table feature that readers since Delta 3.0
//! know.
//!
//! # Known limits
//!
//! - A column that the query doesn't give is NULL in its rows; one that the table computes (`GENERATED
//!   ALWAYS AS`) has to be selected, and is checked.
//! - A Delta RESTORE, or a delete by another tool, takes rows back but not the `txn` actions: their
//!   batches are not written again.
//! - Where a table's `delta.setTransactionRetentionDuration` is set, other writers may drop the claims
//!   of a query that has paused for longer; the query is then refused as if the table was rebuilt.
//! - An update or a complete result needs the table to itself from the snapshot to the commit. Where
//!   others commit more often than that takes, it is tried 50 times; then the query stops, and goes on
//!   from the same batch when it is started again.
//! - Local tables are as durable as delta-rs makes them: it doesn't flush files to the disk.
#![deny(missing_docs)]

mod claims;
mod error;
mod factory;
mod fit;
mod make;
mod merge;
mod place;
mod rows;
mod sink;
mod write;

use std::sync::Arc;

use partwise_stream::StreamContext;

pub use factory::DeltaFactory;
pub use sink::DeltaSink;

/// Has `INTO DELTA` write to Delta tables.
pub fn register(streams: &StreamContext) {
    streams.register_sink("DELTA", Arc::new(DeltaFactory));
}
