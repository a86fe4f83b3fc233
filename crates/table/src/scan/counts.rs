//! A scan that gives partitions and their rows.

use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::error::Result;
use datafusion::physical_plan::ExecutionPlan;

use super::plan::{Filters, Scan, ScanRequest};
use crate::counts::{PartitionCountsExec, counts_schema, exec};
use crate::error::external;
use crate::predicate::PartitionPredicate;
use crate::provider::TableParts;
use crate::reader::{FooterRowCounter, ScanFile, ScanPartition};
use crate::source::{ScanCounters, ScanFacts};

/// Plans a scan of a table's partitions; projection and filters are over
/// [`counts_schema`](crate::counts::counts_schema).
///
/// # Errors
/// As of [`plan_scan`](super::plan_scan).
pub(crate) async fn plan_counts(
    parts: &TableParts,
    session: &dyn Session,
    request: ScanRequest<'_>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let columns = parts.partition_columns();
    let filters = Filters::new(parts, session, request.filters)?;
    let predicate = Arc::new(PartitionPredicate::new(columns, &filters.all)?);
    let scan = Scan { parts, session, predicate: Some(predicate), filters: Vec::new() };
    let snapshot = scan.snapshot().await?;
    parts.check_schema(snapshot.version).await.map_err(external)?;
    let facts = scan.facts(&snapshot).await?;
    parts.log.note(snapshot.version, &snapshot.warnings);
    let state = Arc::new(ScanPartition::default());
    let files = snapshot.partitions.iter().flat_map(|partition| &partition.files);
    let files = files.map(|f| ScanFile::new(parts.table.clone(), f.clone(), Arc::clone(&state)));
    let seen = scan.seen(files);
    parts.log.note_seen(seen.clone());
    let schema = counts_schema(columns);
    let projection = request.projection.cloned();
    let projection = projection.unwrap_or_else(|| (0..schema.fields().len()).collect());
    Ok(Arc::new(PartitionCountsExec::new(exec::Inner {
        table: parts.table.clone(),
        columns: columns.to_vec(),
        partitions: snapshot.partitions,
        schema: Arc::new(schema.project(&projection)?),
        projection,
        counters: ScanCounters::new(facts.pruned()),
        facts: Arc::new(ScanFacts { seen, ..facts }),
        footers: FooterRowCounter::new(session.runtime_env()),
    })))
}
