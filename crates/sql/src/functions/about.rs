//! What a function tells of a table: the provider between its columns and its rows.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::Result as DFResult;
use datafusion::datasource::TableType;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::logical_expr::Expr;
use datafusion::physical_plan::ExecutionPlan;
use partwise_statement::About;
use partwise_table::PartwiseTable;

use super::{call, files, history, partitions};
use crate::{Error, Result, lookup};

/// The function that tells of it.
pub(super) fn name_of(about: About) -> &'static str {
    match about {
        About::Partitions => "partitions",
        About::Files => "files",
        About::History => "history",
    }
}

/// `partitions('t')` and its like.
#[derive(Debug)]
pub(super) struct AboutFunction(pub About);

impl TableFunctionImpl for AboutFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> DFResult<Arc<dyn TableProvider>> {
        let function = name_of(self.0);
        let constants = call::constants(function, args.exprs())?;
        let [name] = constants[..] else { return Err(usage(function).into()) };
        let name = call::text(name).ok_or_else(|| usage(function))?;
        let found = call::table(call::state_of(&args)?, name)?;
        let table = lookup::ours(&name, &found)?;
        Ok(Arc::new(AboutTable::new(self.0, table.clone())?))
    }
}

fn usage(function: &str) -> Error {
    Error::invalid(format!("{function} takes one argument, the table's name: {function}('t')"))
}

/// A table of facts about another; they are gathered when it is read.
pub(crate) struct AboutTable {
    about: About,
    table: PartwiseTable,
    schema: SchemaRef,
}

impl AboutTable {
    /// The facts about a table.
    ///
    /// # Errors
    /// Partitions of a table that has none.
    pub fn new(about: About, table: PartwiseTable) -> Result<Self> {
        let columns = table.table_schema().partition_columns();
        let fields = match about {
            About::Partitions => partitions::fields(columns)?,
            About::Files => files::fields(columns),
            About::History => history::fields(),
        };
        Ok(Self { about, table, schema: Arc::new(Schema::new(fields)) })
    }

    /// The facts as they are now.
    ///
    /// # Errors
    /// A table that can't be read.
    pub async fn rows(&self, session: &dyn Session) -> Result<RecordBatch> {
        let arrays = match self.about {
            About::Partitions => partitions::arrays(session, &self.table).await?,
            About::Files => files::arrays(session, &self.table).await?,
            About::History => history::arrays(&self.table).await?,
        };
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), arrays)?)
    }
}

impl fmt::Debug for AboutTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", name_of(self.about), self.table.location().display())
    }
}

#[async_trait]
impl TableProvider for AboutTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        let rows = self.rows(session).await?;
        let exec = MemorySourceConfig::try_new_exec(
            &[vec![rows]],
            Arc::clone(&self.schema),
            projection.cloned(),
        )?;
        Ok(exec)
    }
}
