//! A lab for the tests of streams, shared by the engine and the connectors; never published.
//!
//! ```text
//!   test -> Lab: a folder, a session  -> query -> run -> table, at_rest: rows as lines, compared
//!        -> until_done: stopped before each step of each batch
//!        -> forget_last_commit: the batch is run again
//! ```
//! Whatever can't be done panics: it is a test that fails.
#![deny(missing_docs)]

mod files;
mod lab;
mod run;

pub use files::{copy_folder, forget_last_commit, write_parquet};
pub use lab::{Lab, rows, rows_of};
pub use run::{run, until_done};
