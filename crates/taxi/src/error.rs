//! What can go wrong, named with the path and what to do about it.

use std::path::{Path, PathBuf};

use arrow::error::ArrowError;
use parquet::errors::ParquetError;

use crate::figures::SCALES;

/// A failure to make or to read a quarter. A failed run leaves every file under a final name as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The scale asked for is out of range.
    #[error("scale {scale} is out of range: choose one from {} to {}", SCALES.start(), SCALES.end())]
    Scale {
        /// The scale asked for.
        scale: f64,
    },
    /// A file stands where one of ours would go.
    #[error(
        "{} was not made by this generator and is kept: choose another folder, or move it away",
        path.display()
    )]
    NotOurs {
        /// The file in the way.
        path: PathBuf,
    },
    /// A quarter to be read lacks files.
    #[error("{} lacks {}: make the quarter there first", dir.display(), missing.join(", "))]
    Missing {
        /// The folder read.
        dir: PathBuf,
        /// The file names that are not there.
        missing: Vec<&'static str>,
    },
    /// A trip file lacks a column, or the column has a type that cannot be read as the expected one.
    #[error("{}: column {column} is missing or not {wanted}: is it a yellow taxi file?", path.display())]
    Column {
        /// The file read.
        path: PathBuf,
        /// The column's name.
        column: &'static str,
        /// What it should hold.
        wanted: &'static str,
    },
    /// The system refused a file operation.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operation, as a verb.
        doing: &'static str,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A Parquet file could not be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// The operation, as a verb.
        doing: &'static str,
        /// The reason.
        source: ParquetError,
    },
    /// Rows could not be put into columns, or read from them.
    #[error("{}: {source}", path.display())]
    Arrow {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: ArrowError,
    },
}

/// `map_err` helpers that put the path and the verb beside the cause.
pub(crate) trait At<T> {
    fn at(self, doing: &'static str, path: &Path) -> Result<T, Error>;
}

impl<T> At<T> for Result<T, std::io::Error> {
    fn at(self, doing: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Io { path: path.to_owned(), doing, source })
    }
}

impl<T> At<T> for Result<T, ParquetError> {
    fn at(self, doing: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Parquet { path: path.to_owned(), doing, source })
    }
}

impl<T> At<T> for Result<T, ArrowError> {
    fn at(self, _doing: &'static str, path: &Path) -> Result<T, Error> {
        self.map_err(|source| Error::Arrow { path: path.to_owned(), source })
    }
}
