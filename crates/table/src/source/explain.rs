//! The scan's line in EXPLAIN.

use std::fmt;
use std::sync::Arc;

use datafusion::datasource::physical_plan::FileSource;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::split_conjunction;
use datafusion::physical_plan::DisplayFormatType;

use super::facts::ScanFacts;
use crate::predicate::render;

pub(super) fn fmt(
    facts: &ScanFacts,
    source: &dyn FileSource,
    format: DisplayFormatType,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let partition = facts.partition_filters.join(", ");
    let pushed = pushed_filters(source.filter().as_ref()).join(", ");
    let (partitions, files) = (facts.partitions, facts.files);
    match format {
        DisplayFormatType::Default => write!(
            f,
            ", PartitionFilters=[{partition}], PushedFilters=[{pushed}], partitions={partitions}, \
             files={files}"
        ),
        DisplayFormatType::Verbose => {
            write!(
                f,
                ", PartitionFilters=[{partition}], PushedFilters=[{pushed}], \
                 partitions={partitions}, files={files}"
            )?;
            source.fmt_extra(format, f)
        }
        DisplayFormatType::TreeRender => {
            writeln!(f, "PartitionFilters=[{partition}]")?;
            writeln!(f, "PushedFilters=[{pushed}]")?;
            writeln!(f, "partitions={partitions}")?;
            writeln!(f, "files={files}")?;
            // DataFusion adds `files=<n>` behind this, the number of files and ranges of files
            // that its groups hold: under a name of its own it doesn't hide ours.
            write!(f, "ranges of ")
        }
    }
}

/// The conjuncts that go into row groups, pages and the row filter.
fn pushed_filters(filter: Option<&Arc<dyn PhysicalExpr>>) -> Vec<String> {
    let Some(filter) = filter else { return Vec::new() };
    split_conjunction(filter).into_iter().map(render).collect()
}
