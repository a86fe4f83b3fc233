//! Files as they are: a glob or a single file, as a table of DataFusion's that remembers which
//! files its pattern found.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{ScanArgs, ScanResult, Session, TableProvider};
use datafusion::common::{Constraints, Result as DFResult};
use datafusion::datasource::TableType;
use datafusion::datasource::listing::ListingTable;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use datafusion::physical_plan::ExecutionPlan;
use glob::{MatchOptions, Pattern};
use partwise_commit::{DataFile, Identity, Location, Reads};

use crate::{Error, Result};

/// The files of a pattern as a table.
#[derive(Debug)]
pub(crate) struct FilesTable {
    listing: ListingTable,
    found: Arc<Found>,
}

/// What a pattern found, links resolved.
#[derive(Debug)]
struct Found {
    pattern: Pattern,
    files: HashMap<PathBuf, Identity>,
}

impl FilesTable {
    /// The table of `listing`, whose files `pattern` found.
    ///
    /// # Errors
    /// A pattern that is none.
    pub fn new(listing: ListingTable, pattern: &str, files: &[String]) -> Result<Self> {
        let files = files.iter().filter_map(|file| {
            let path = std::fs::canonicalize(file).ok()?;
            let identity = identity(&path)?;
            Some((path, identity))
        });
        let found = Found { pattern: real_pattern(pattern)?, files: files.collect() };
        Ok(Self { listing, found: Arc::new(found) })
    }

    /// DataFusion's table of the files.
    pub fn listing(&self) -> &ListingTable {
        &self.listing
    }

    /// What was found of the files of the table at `target`.
    pub fn of_target(&self, target: &Location) -> Arc<dyn Reads> {
        let target = target.display();
        let target = std::fs::canonicalize(&target).unwrap_or_else(|_| PathBuf::from(target));
        Arc::new(FoundOfTarget { found: Arc::clone(&self.found), target })
    }
}

/// Which file it is, as the lister of a local disk tells.
fn identity(path: &Path) -> Option<Identity> {
    let metadata = std::fs::metadata(path).ok()?;
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let modified_ns = i64::try_from(modified.as_nanos()).ok();
    Some(Identity { size: metadata.len(), modified_ns, etag: None })
}

/// A pattern with the links resolved in what stands before its first wildcard.
fn real_pattern(pattern: &str) -> Result<Pattern> {
    let is_plain = |part: &&std::ffi::OsStr| !part.to_string_lossy().contains(['*', '?', '[']);
    let path = Path::new(pattern);
    let plain: PathBuf = path.iter().take_while(is_plain).collect();
    let base = if plain.as_os_str().is_empty() { Path::new(".") } else { plain.as_path() };
    let real = std::fs::canonicalize(base).unwrap_or_else(|_| base.to_path_buf());
    let mut text = Pattern::escape(&real.to_string_lossy());
    for part in path.iter().skip_while(is_plain) {
        text = format!("{}/{}", text.trim_end_matches('/'), part.to_string_lossy());
    }
    Pattern::new(&text)
        .map_err(|error| Error::invalid(format!("the pattern {pattern} is wrong: {error}")))
}

#[derive(Debug)]
struct FoundOfTarget {
    found: Arc<Found>,
    target: PathBuf,
}

impl Reads for FoundOfTarget {
    fn missed(&self, file: &DataFile) -> partwise_commit::Result<bool> {
        let path = self.target.join(&file.path);
        let by_part = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
        let matches = self.found.pattern.matches_path_with(&path, by_part);
        Ok(matches && self.found.files.get(&path) != Some(&file.identity))
    }
}

#[async_trait]
impl TableProvider for FilesTable {
    fn schema(&self) -> SchemaRef {
        self.listing.schema()
    }

    fn constraints(&self) -> Option<&Constraints> {
        self.listing.constraints()
    }

    fn table_type(&self) -> TableType {
        self.listing.table_type()
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        self.listing.scan(state, projection, filters, limit).await
    }

    async fn scan_with_args<'a>(
        &self,
        state: &dyn Session,
        args: ScanArgs<'a>,
    ) -> DFResult<ScanResult> {
        self.listing.scan_with_args(state, args).await
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> DFResult<Vec<TableProviderFilterPushDown>> {
        self.listing.supports_filters_pushdown(filters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_keeps_its_wildcards_behind_a_resolved_folder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let real = folder.path().canonicalize().expect("its path");
        std::os::unix::fs::symlink(&real, real.join("link")).expect("a link");
        let pattern = format!("{}/link/p=?/*.parquet", folder.path().display());
        let pattern = real_pattern(&pattern).expect("a pattern");
        let by_part = MatchOptions { require_literal_separator: true, ..MatchOptions::new() };
        let matches = |path: &str| pattern.matches_path_with(&real.join(path), by_part);
        assert!(matches("p=1/a.parquet"));
        assert!(!matches("p=1/q=2/a.parquet") && !matches("p=10/a.parquet"));
    }
}
