//! The commit protocol of Partwise: a directory of Parquet files as a table whose partitions are the
//! unit of replacement. No query engine in here: it deals in files, partition values and records.
//!
//! ```text
//!   write                                              read
//!
//!   Table::begin                                       Table::snapshot
//!       |                                                  |
//!   StagingHandle   files no reader sees               published = v, listing, later records
//!       |                                                  |
//!   Transaction::commit                                walk back to v      (snapshot)
//!       | hold, finish what is logged  (recover)           |
//!       | decide                       (decide, pure)  Snapshot: partitions, files, rows, statistics
//!       | log/<v>.json                 commit point        |
//!       | bring the files in           (local, store)  Table::open: in place, retained, in place
//!       | published = v                the switch
//!       | clean, _SUCCESS, retention   (keep)
//!       v
//!   Committed
//! ```
//!
//! [`Transaction::preview`] goes the same way up to the decision and logs nothing. [`Table::restore`]
//! is a commit whose files are those of an earlier version, told by the same walk, further back
//! ([`Table::snapshot_at`]).
//!
//! | module | what it is |
//! |---|---|
//! | `names` | every name on disk |
//! | `partition` | typed values, their directories, types of foreign trees |
//! | `record`, `token` | what the log holds |
//! | `change` | what a commit is to do, and what may stop it |
//! | `decide` | change, state and files to a record: pure |
//! | `snapshot` | listing, records and outcome to the files of any version; the walk is pure |
//! | `history` | what each version did |
//! | `recover`, `commit`, `keep`, `vacuum`, `rename` | the order of the steps, over either kind of place |
//! | `local`, `store` | the steps on a local disk and on an object store |
//!
//! # Guarantees
//!
//! - A commit is visible as a whole or not at all, across all its partitions. Before its record is
//!   in the log nothing has happened; from then on it is completed or voided, once, by its writer or
//!   by whoever writes next.
//! - [`Transaction::commit`] returns success only once `published` says so.
//! - The listing of the directory is the truth: what other tools add or remove is there or gone at
//!   the next snapshot, and a file is removed only if it is the one that was decided on (name, size,
//!   time or tag).
//! - A partition is its typed values: all directories that read as the same values are one
//!   partition.
//! - Readers write nothing and need no permission to.
//! - A lost log loses history and undo, never data.
//! - On a local disk one writer commits at a time; readers wait for nobody. On a store nobody waits:
//!   whoever loses a conditional write decides again.
//!
//! # Known limits
//!
//! - On a store, another tool can slip in between the identity check of an object and its delete:
//!   there is no conditional delete.
//! - On a store, the upload that was being started when its writer died stays open where no vacuum
//!   knows of it. It holds nothing; a rule of the bucket for open uploads ends it.
//! - On a local disk, a crash in the middle of a swap that met another tool's new content makes
//!   readers of that partition fail until the next write.
//! - On a local disk a file that a restore brings back is a second name of the retained one: a tool
//!   that changes files in place changes both.
//! - What another tool removed without a commit after it can't be told or brought back.
//! - Futures of this crate want a tokio runtime with time enabled.
//! - A commit whose future is dropped once its record is being logged goes on in the background.

#![deny(missing_docs)]

mod address;
mod backend;
mod cache;
mod change;
mod commit;
mod decide;
mod error;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod history;
mod keep;
mod local;
mod location;
#[cfg(test)]
#[path = "../tests/model/mod.rs"]
mod model;
mod names;
mod partition;
mod record;
mod recover;
mod rename;
mod schema;
mod snapshot;
mod store;
mod table;
mod token;
mod transaction;
mod turn;
mod vacuum;

pub use address::{StoreAddress, hide_secrets, is_address, is_secret, is_store_option};
pub use backend::FoundFile;
pub use change::{Change, Coverage, IfExists, Operation, Reads, Scope};
pub use commit::{PartitionAction, PartitionPreview, Preview, Restore, Restored, Stopped, Undone};
pub use decide::{Base, Decision, Touched, decide};
pub use error::{Error, ErrorKind, Result};
pub use history::HistoryEntry;
pub use local::{
    DirectoryState, Disk, DiskEntry, DiskKind, DiskLock, DiskMetadata, DiskReader, DiskWriter,
    LocalDisk,
};
pub use location::{Location, TableStore};
pub use partition::{
    PartitionColumn, PartitionKey, PartitionType, PartitionValue, parse_partition_path,
    partition_path,
};
pub use record::{
    AddedFile, ColumnStats, FORMAT, FileStats, Identity, Outcome, Record, RecordedOperation,
    RecordedPartition, RecordedScope, RemovedFile, Totals, TransactionId, Upload,
};
pub use schema::{RecordedColumn, RecordedSchema, RecordedType, TableSchema};
pub use snapshot::{
    AllPartitions, At, DataFile, PartitionFiles, PartitionSelector, Snapshot, Step, Walk, Walked,
    WalkedFile, WalkedFiles,
};
pub use table::{Description, OpenFile, Table, VersionAt};
pub use token::{JobState, StepState, Token};
pub use transaction::{
    Committed, PartitionChange, RowCounter, StagedFile, StagedWriter, StagingHandle, Transaction,
};
pub use turn::Turn;
pub use vacuum::{Vacuum, Vacuumed, Waste, WasteKind};
