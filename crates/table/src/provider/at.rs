//! A table as it was at a version or a time.

use std::sync::Arc;

use partwise_commit::{At, Result};

use super::{Opened, PartwiseTable, TableParts};

impl PartwiseTable {
    /// The table as it was, with the schema it had: it can be read, not written.
    ///
    /// # Errors
    /// A version that isn't there (any more), saying since when the table can be told.
    pub async fn at(&self, at: At) -> Result<Self> {
        let table = self.table().clone();
        let found = table.version_at(at).await?;
        let (version, pinned) = (Some(found.version), Some(found.schema.clone()));
        let parts = TableParts::new(table, found.schema, version, pinned.clone());
        let parts = Arc::new(parts.pinned(found.version));
        let opened = Opened { version, pinned, properties: found.properties };
        Ok(Self { parts, opened: Arc::new(opened), write: None, reading: self.reading })
    }

    /// Whether it is a version of the past, which nobody changes any more.
    pub fn is_past(&self) -> bool {
        self.parts.past.is_some()
    }
}
