//! Kafka topics for streaming queries.
