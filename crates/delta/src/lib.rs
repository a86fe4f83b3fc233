//! Delta tables for streaming queries.
