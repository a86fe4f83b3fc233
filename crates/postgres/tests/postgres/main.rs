//! Streaming queries into a real PostgreSQL.

mod bulk;
mod kit;
mod ledger;
mod modes;
mod names;
mod outage;
mod race;
mod secrets;
mod table;
mod tls;
mod types;
