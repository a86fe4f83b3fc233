//! Fault-injecting parts shared by the tests of Partwise; never published.
//!
//! ```text
//!   test -> Location::Local { disk: FaultyDisk }    -> LocalDisk
//!        -> Location::Store { store: FaultyStore }  -> any store
//!              every call is counted; Faults says which fail, and how
//! ```
#![deny(missing_docs)]

mod faults;
mod faulty_disk;
mod faulty_store;
mod gate;
mod postgres_server;
mod python;
mod s3_server;
mod tansu_server;

pub use faults::{Fault, Faults, SEED_VARIABLE, Seed};
pub use faulty_disk::FaultyDisk;
pub use faulty_store::{FaultyStore, Lack, OpenUpload, OpenUploads};
pub use gate::Gate;
pub use postgres_server::PostgresServer;
pub use python::{python, run_python};
pub use s3_server::S3Server;
pub use tansu_server::TansuServer;
