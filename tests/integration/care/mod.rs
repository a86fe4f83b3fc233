//! Looking after a table: small files, other columns, another name.

mod columns;
mod names;
mod optimize;
mod rename;
