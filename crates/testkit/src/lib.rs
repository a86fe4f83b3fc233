//! Fault-injecting parts shared by the tests of Partwise; never published.
//!
//! ```text
//!   test -> Location::Local { disk: FaultyDisk } -> LocalDisk
//!              every call is counted; the k-th stops the process, or fails alone
//! ```
#![deny(missing_docs)]

mod faulty_disk;

pub use faulty_disk::{Fault, FaultyDisk};
