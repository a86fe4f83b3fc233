//! Reading tables: what is selected, what comes out, what EXPLAIN says.

mod counts;
mod explain;
mod files;
mod floats;
mod insert;
mod kit;
mod provider;
mod prune;
