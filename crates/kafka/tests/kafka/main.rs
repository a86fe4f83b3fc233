//! Topics as sources and sinks: on librdkafka's mock cluster, and on a real broker.

mod bad;
mod down;
mod kit;
mod loss;
mod numbers;
mod refusals;
mod sink;
mod source;
mod tansu;
mod transactions;
mod types;
mod volume;
