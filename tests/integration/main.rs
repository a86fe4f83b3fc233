//! The product from outside: its binary, its directories, and other systems reading them.

mod support;

mod api;
mod bucket;
mod care;
mod crash;
mod definitions;
mod dml;
mod docs;
mod failures;
mod faults;
mod foreign;
mod keys;
mod modes;
mod order;
mod preview;
mod prune;
mod races;
mod readers;
mod real_data;
mod report;
mod scope;
mod scripts;
mod self_read;
mod slt;
mod streams;
mod terminal;
mod tokens;
mod undo;
