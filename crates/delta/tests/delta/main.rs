//! Streaming queries into Delta tables, read back with delta-rs and the deltalake package of Python.

mod kit;
mod modes;
mod python;
mod race;
mod refusals;
mod replay;
mod store;
mod types;
