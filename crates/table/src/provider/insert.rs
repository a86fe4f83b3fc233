//! INSERT as it reaches the provider: with the statement layer's spec, or plain.

use std::sync::Arc;

use datafusion::catalog::Session;
use datafusion::error::Result;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::physical_plan::ExecutionPlan;
use partwise_commit::{Coverage, Error, Operation};

use super::PartwiseTable;
use crate::config::{OverwriteMode, PartwiseConfig};
use crate::error::external;
use crate::source::{read_version, scan_facts};
use crate::write::{WriteOptions, WriteSpec, plan_write};

impl PartwiseTable {
    /// Plans an insert of `input`. No side effects: EXPLAIN comes here too.
    pub(super) fn plan_insert(
        &self,
        session: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        op: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if self.is_past() {
            return Err(external(Error::invalid("a version of the past can be read, not written")));
        }
        let spec = match &self.write {
            Some(spec) => spec.as_ref().clone(),
            None => self.plain_spec(session, &input, op)?,
        };
        let (table, schema) = (self.table().clone(), self.table_schema().clone());
        plan_write(session, input, table, schema, spec)
    }

    /// An INSERT that DataFusion planned by itself: the session's mode, guard and layout.
    fn plain_spec(
        &self,
        session: &dyn Session,
        input: &Arc<dyn ExecutionPlan>,
        op: InsertOp,
    ) -> Result<WriteSpec> {
        let config = PartwiseConfig::of(session.config_options());
        if config.job_run()?.is_some() {
            return Err(external(Error::unsupported(
                "partwise.job is set, but this INSERT doesn't go through Partwise, which numbers a \
                 job's writes: run it through Partwise's statements, or RESET partwise.job",
            )));
        }
        let operation = match op {
            InsertOp::Append => Operation::Append,
            InsertOp::Overwrite => Operation::Overwrite(coverage(config.partition_overwrite_mode)),
            InsertOp::Replace => {
                return Err(external(Error::unsupported(
                    "REPLACE INTO needs a key, which a directory of files doesn't have: use INSERT \
                     OVERWRITE, or MERGE INTO",
                )));
            }
        };
        let options = WriteOptions::from_config(&config)
            .with_properties(self.properties(), self.table_schema())?;
        Ok(WriteSpec {
            options,
            properties: self.properties().clone(),
            seen: scan_facts(input.as_ref()).iter().filter_map(|f| f.seen.clone()).collect(),
            read_version: read_version(input.as_ref(), self.location()),
            ..WriteSpec::new(operation, &config)
        })
    }
}

fn coverage(mode: OverwriteMode) -> Coverage {
    match mode {
        OverwriteMode::Dynamic => Coverage::Written,
        OverwriteMode::Static => Coverage::Matching(Vec::new()),
    }
}
