//! The builder of a query, and the running query.

mod running;
mod writer;

pub use running::StreamQuery;
pub use writer::{StreamWriter, WriteStream};
