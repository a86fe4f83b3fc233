//! PostgreSQL tables for streaming queries.
