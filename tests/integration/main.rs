//! The product from outside: its binary, its directories, and other systems reading them.

mod support;

mod api;
mod crash;
mod definitions;
mod docs;
mod failures;
mod foreign;
mod modes;
mod order;
mod prune;
mod races;
mod readers;
mod real_data;
mod report;
mod scripts;
mod slt;
mod terminal;
