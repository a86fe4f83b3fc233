//! Writes through DataFusion's planner and optimizer into a folder, and what stands there then.

mod bounds;
mod failures;
mod layout;
mod plans;
mod support;
