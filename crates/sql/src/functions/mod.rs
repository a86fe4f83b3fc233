//! Table functions: what there is to know of a table, as rows.
//!
//! ```text
//! partitions('t')  files('t')  history('t') --plan--> Gathered (columns known)
//!                                               --scan--> snapshot, records -> rows
//! at('t', n) --------------------------------plan--> the table at a version, read as any other
//! ```
//! `query_history('q')` tells of the batches of a streaming query.
//!
//! `now()` gives microseconds. `to_char`, also called `date_format`, is DataFusion's with more patterns; `year`, `month` and the
//! like are its `date_part`.
//!
//! A name in the argument is found as in FROM: a table of the lake or the session, or a path.

mod about;
mod at;
mod call;
mod date_parts;
mod files;
mod gathered;
mod history;
mod now;
mod parquet_metadata;
mod partitions;
mod query_history;
mod to_char;
pub(crate) mod values;

use std::sync::Arc;

use datafusion::catalog::TableFunctionImpl;
use datafusion::execution::context::{SessionContext, SessionState};
use datafusion::logical_expr::ScalarUDF;
use partwise_table::PartwiseTable;

use crate::Result;
pub(crate) use about::about_table;
use about::{AboutFunction, name_of};
use at::AtFunction;
pub(crate) use at::point_of;
use now::Now;
use parquet_metadata::ParquetMetadata;
use partwise_statement::About;
use query_history::QueryHistory;
use to_char::ToChar;

/// Makes the functions known to a session.
pub(crate) fn register(session: &SessionContext) {
    for about in [About::Partitions, About::Files, About::History] {
        session.register_udtf(
            name_of(about),
            Arc::new(AboutFunction(about)) as Arc<dyn TableFunctionImpl>,
        );
    }
    session.register_udf(ScalarUDF::from(ToChar::default()));
    session.register_udf(ScalarUDF::from(Now::new(session.copied_config().options())));
    date_parts::all().for_each(|part| session.register_udf(part));
    session.register_udtf("at", Arc::new(AtFunction));
    session.register_udtf("parquet_metadata", Arc::new(ParquetMetadata));
    session.register_udtf("query_history", Arc::new(QueryHistory));
}

/// The rows of `about`, as the statement that shows them gives them.
///
/// # Errors
/// A table that can't be read; partitions of a table that has none.
pub(crate) async fn show(
    about: About,
    state: &SessionState,
    table: &PartwiseTable,
) -> Result<datafusion::arrow::array::RecordBatch> {
    about_table(about, table.clone())?.rows(state).await
}
