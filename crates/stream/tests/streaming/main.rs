//! Streaming queries from their sources to their sinks.

mod again;
mod aggregates;
mod crash;
mod instances;
mod json;
mod kit;
mod landing;
mod refusals;
mod replay;
mod report;
mod sinks;
mod sources;
mod state;
mod taxi;
mod watermark;
