//! A table in a folder that goes with the test, and ways to look at what was written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::TableType;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use partwise_commit::{Committed, Coverage, Location, Operation, Table, TableSchema};
use partwise_table::config::PartwiseConfig;
use partwise_table::write::{WriteSpec, plan_write, table_types};

/// A lake of one table, and a session of two threads' worth of tasks.
pub struct Lake {
    dir: tempfile::TempDir,
    pub ctx: SessionContext,
}

/// What is written to: hands inserts to `plan_write` with a spec.
#[derive(Debug)]
struct Target {
    table: Table,
    schema: TableSchema,
    spec: WriteSpec,
}

#[async_trait]
impl TableProvider for Target {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.schema.arrow())
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        _: &dyn Session,
        _: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Err(DataFusionError::NotImplemented("scan".into()))
    }

    async fn insert_into(
        &self,
        session: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        _: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan_write(session, input, self.table.clone(), self.schema.clone(), self.spec.clone())
    }
}

impl Lake {
    pub fn new() -> Self {
        let config = SessionConfig::new().with_target_partitions(2).with_batch_size(1024);
        Self {
            dir: tempfile::tempdir().expect("folder"),
            ctx: SessionContext::new_with_config(config),
        }
    }

    pub fn table_dir(&self) -> PathBuf {
        self.dir.path().join("t")
    }

    pub fn table(&self) -> Table {
        Table::new(Location::local(self.table_dir()))
    }

    pub fn append(&self, options: &[(&str, &str)]) -> Write<'_> {
        self.write(Operation::Append, options)
    }

    pub fn overwrite(&self) -> Write<'_> {
        self.write(Operation::Overwrite(Coverage::Written), &[])
    }

    fn write(&self, operation: Operation, options: &[(&str, &str)]) -> Write<'_> {
        let options =
            options.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Write { lake: self, operation, options }
    }

    /// Every file below the table's directory and the log's, with its path relative to the lake.
    pub fn all_files(&self) -> Vec<String> {
        let mut files = Vec::new();
        walk(self.dir.path(), &mut files);
        let names = files.iter().map(|path| {
            let path = path.strip_prefix(self.dir.path()).expect("below the lake");
            path.to_str().expect("text").to_owned()
        });
        names.collect()
    }

    /// The data files by partition directory.
    pub fn data_files(&self) -> BTreeMap<String, Vec<PathBuf>> {
        let mut files = Vec::new();
        walk(&self.table_dir(), &mut files);
        let mut found: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
        for path in files.into_iter().filter(|path| path.extension().is_some()) {
            let dir = path.parent().expect("directory").strip_prefix(self.table_dir());
            let dir = dir.expect("below the table").to_str().expect("text").to_owned();
            found.entry(dir).or_default().push(path);
        }
        found
    }
}

fn walk(dir: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("entry").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            walk(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// A write about to be run.
pub struct Write<'a> {
    lake: &'a Lake,
    operation: Operation,
    options: BTreeMap<String, String>,
}

/// What a write did.
pub struct Written {
    pub committed: Committed,
    pub plan: Arc<dyn ExecutionPlan>,
}

impl Write<'_> {
    /// The optimized plan, not run, and where it will tell what it did.
    pub async fn plan(&self, rows: DataFrame, partition_by: &[&str]) -> Result<PlannedWrite> {
        let input = rows.schema().as_arrow().clone();
        let schema =
            table_types(&input).map_err(|error| DataFusionError::External(error.into()))?;
        let partition_by = partition_by.iter().map(|name| name.to_string()).collect();
        let schema = TableSchema::new(Arc::new(schema), partition_by).expect("schema");
        let mut spec = WriteSpec::new(self.operation.clone(), &PartwiseConfig::default());
        spec.options = spec.options.with_options(&self.options, &schema, &[])?;
        let outcome = spec.outcome.clone();
        let target = Target { table: self.lake.table(), schema, spec };
        let ctx = &self.lake.ctx;
        ctx.deregister_table("t")?;
        ctx.register_table("t", Arc::new(target))?;
        let plan = insert_plan(ctx, rows).await?;
        Ok(PlannedWrite { plan, outcome })
    }

    pub async fn run(&self, rows: DataFrame, partition_by: &[&str]) -> Result<Written> {
        let PlannedWrite { plan, outcome } = self.plan(rows, partition_by).await?;
        collect(Arc::clone(&plan), self.lake.ctx.task_ctx()).await?;
        Ok(Written { committed: outcome.get().expect("committed"), plan })
    }
}

/// A plan and where it tells what it did.
pub struct PlannedWrite {
    pub plan: Arc<dyn ExecutionPlan>,
    pub outcome: partwise_table::write::Outcome,
}

async fn insert_plan(ctx: &SessionContext, rows: DataFrame) -> Result<Arc<dyn ExecutionPlan>> {
    use datafusion::logical_expr::LogicalPlanBuilder;
    let target = datafusion::datasource::provider_as_source(ctx.table_provider("t").await?);
    let (state, plan) = rows.into_parts();
    let plan = LogicalPlanBuilder::insert_into(plan, "t", target, InsertOp::Append)?.build()?;
    state.create_physical_plan(&plan).await
}

impl Written {
    /// The sum of a counter over the plan.
    pub fn metric(&self, name: &str) -> usize {
        metric(&self.plan, name)
    }
}

fn metric(plan: &Arc<dyn ExecutionPlan>, name: &str) -> usize {
    let own = plan.metrics().and_then(|metrics| metrics.sum_by_name(name));
    let own = own.map_or(0, |value| value.as_usize());
    own + plan.children().into_iter().map(|child| metric(child, name)).sum::<usize>()
}

/// All rows of a file.
pub fn read(path: &Path) -> RecordBatch {
    let file = std::fs::File::open(path).expect("opened");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("a Parquet file");
    let schema: SchemaRef = Arc::new(Schema::clone(reader.schema()));
    let batches: Vec<RecordBatch> =
        reader.build().expect("reader").collect::<Result<_, _>>().expect("rows");
    concat_batches(&schema, &batches).expect("one batch")
}
