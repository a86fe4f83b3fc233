//! Why a file can't be read as the table.

use arrow::datatypes::DataType;

/// A column of a file that doesn't fit the table's; whoever knows the file names it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unfit {
    /// The types alone forbid it.
    #[error(
        "column {column} is {table} in the table and {file} in the file, which could lose values: \
         declare the table with the wider type, or rewrite the file"
    )]
    Type { column: String, table: DataType, file: DataType },
    /// The file has a column more, and is to be written anew.
    #[error(
        "its column {column} is none of the table's, and would be lost where its rows are written \
         anew: ALTER TABLE .. ADD COLUMN {column} keeps it, or rewrite the file without it"
    )]
    Extra { column: String },
    /// One of its values does.
    #[error(
        "{value} in column {column} doesn't fit the table's {table} without loss: declare the \
         table with {file}, or rewrite the file"
    )]
    Value { column: String, value: String, table: DataType, file: DataType },
}
