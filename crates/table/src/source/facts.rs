//! What a scan selected, for EXPLAIN and for whoever holds its plan.

use std::fmt;
use std::sync::Arc;

use datafusion::datasource::physical_plan::FileScanConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::ExecutionPlan;
use partwise_commit::Location;

use super::{PartwiseSource, Seen};
use crate::counts::PartitionCountsExec;

/// How many of how many: `1/91`, or `1/?` where the total wasn't counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selected {
    /// Those that the scan may read.
    pub selected: usize,
    /// All of the table's; counted under EXPLAIN, or known because all are selected.
    pub total: Option<usize>,
}

impl fmt::Display for Selected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.total {
            Some(total) => write!(f, "{}/{total}", self.selected),
            None => write!(f, "{}/?", self.selected),
        }
    }
}

/// What a scan selected and why.
#[derive(Clone, Debug)]
pub struct ScanFacts {
    /// The table.
    pub location: Location,
    /// The version read; none for a table without a log.
    pub version: Option<u64>,
    /// The conditions on partitions that were applied, as EXPLAIN prints them.
    pub partition_filters: Vec<String>,
    /// Partitions.
    pub partitions: Selected,
    /// Data files.
    pub files: Selected,
    /// Whether filters select anything at all: `partwise.prune`.
    pub prune: bool,
    /// The files found, for a statement that writes to the same table; none for a version of the
    /// past, which stays as it was.
    pub seen: Option<Arc<Seen>>,
}

impl ScanFacts {
    /// How many partitions are left out, where all were counted.
    pub(crate) fn pruned(&self) -> usize {
        let total = self.partitions.total.unwrap_or(self.partitions.selected);
        total.saturating_sub(self.partitions.selected)
    }
}

/// The facts of every scan of a Partwise table in a plan, in the order of the plan.
pub fn scan_facts(plan: &dyn ExecutionPlan) -> Vec<Arc<ScanFacts>> {
    let mut found: Vec<_> = own_facts(plan).into_iter().collect();
    for child in plan.children() {
        found.extend(scan_facts(child.as_ref()));
    }
    found
}

fn own_facts(plan: &dyn ExecutionPlan) -> Option<Arc<ScanFacts>> {
    if let Some(counts) = plan.downcast_ref::<PartitionCountsExec>() {
        return Some(Arc::clone(counts.facts()));
    }
    let scan = plan.downcast_ref::<DataSourceExec>()?;
    let config = scan.data_source().downcast_ref::<FileScanConfig>()?;
    Some(Arc::clone(&config.file_source().downcast_ref::<PartwiseSource>()?.facts))
}

/// The oldest version at which a plan reads the table at `location`, 0 for one without a log; none
/// if it doesn't read it.
pub fn read_version(plan: &dyn ExecutionPlan, location: &Location) -> Option<u64> {
    let place = location.display();
    let of_table = scan_facts(plan).into_iter().filter(|facts| facts.location.display() == place);
    of_table.map(|facts| facts.version.unwrap_or(0)).min()
}
