//! The first lines of CSV files: they name the columns that the stream has, in its order.

use std::io::Cursor;

use datafusion::arrow::csv::reader::Format;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::error::DataFusionError;
use object_store::{ObjectStore, ObjectStoreExt};

use super::FilesSource;
use super::named::named;
use crate::{Error, Result};

/// Bytes that a header may have.
const LONGEST: u64 = 64 * 1024;

/// How CSV files are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Csv {
    /// The first line names the columns.
    pub header: bool,
    /// What stands between two values.
    pub delimiter: u8,
}

/// Checks that each file has the stream's columns: they are read by their places.
///
/// # Errors
/// A file with others, named with them; one that can't be read.
pub(super) async fn check(
    source: &FilesSource,
    csv: Csv,
    store: &dyn ObjectStore,
    files: &[PartitionedFile],
) -> Result<()> {
    let wanted: Vec<&str> = source.schema.fields().iter().map(|f| f.name().as_str()).collect();
    for file in files.iter().filter(|file| file.object_meta.size > 0) {
        let path = &file.object_meta.location;
        let name = source.folder.name_of(path);
        let range = 0..file.object_meta.size.min(LONGEST);
        let start = store.get_range(path, range).await;
        let start =
            start.map_err(|cause| named(&name, Error::from(DataFusionError::from(cause))))?;
        let format = Format::default().with_header(true).with_delimiter(csv.delimiter);
        let found = format.infer_schema(Cursor::new(start), Some(0));
        let (found, _) = found.map_err(|cause| named(&name, cause.into()))?;
        let found: Vec<&str> = found.fields().iter().map(|f| f.name().trim()).collect();
        let same = found.len() == wanted.len()
            && found.iter().zip(&wanted).all(|(a, b)| a.eq_ignore_ascii_case(b));
        if !same {
            return Err(Error::invalid(format!(
                "{name} has the columns ({}), and the stream ({}): declare them in the file's order, \
                 or move the file out of the folder",
                found.join(", "),
                wanted.join(", ")
            )));
        }
    }
    Ok(())
}
