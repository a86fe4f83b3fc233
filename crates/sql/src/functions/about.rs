//! What a function tells of a table: its columns and its rows.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::Schema;
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::Result as DFResult;
use partwise_statement::About;
use partwise_table::PartwiseTable;

use super::gathered::{Gather, Gathered};
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
        Ok(Arc::new(about_table(self.0, table.clone())?))
    }
}

fn usage(function: &str) -> Error {
    Error::invalid(format!("{function} takes one argument, the table's name: {function}('t')"))
}

/// The table of facts about another.
///
/// # Errors
/// Partitions of a table that has none.
pub(crate) fn about_table(about: About, table: PartwiseTable) -> Result<Gathered<Facts>> {
    let columns = table.table_schema().partition_columns();
    let fields = match about {
        About::Partitions => partitions::fields(columns)?,
        About::Files => files::fields(columns),
        About::History => history::fields(),
    };
    Ok(Gathered::new(Facts { about, table }, Arc::new(Schema::new(fields))))
}

/// Facts about a table.
pub(crate) struct Facts {
    about: About,
    table: PartwiseTable,
}

#[async_trait]
impl Gather for Facts {
    async fn columns(&self, session: &dyn Session) -> Result<Vec<ArrayRef>> {
        match self.about {
            About::Partitions => partitions::arrays(session, &self.table).await,
            About::Files => files::arrays(session, &self.table).await,
            About::History => history::arrays(&self.table).await,
        }
    }
}

impl fmt::Debug for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", name_of(self.about), self.table.location().display())
    }
}
