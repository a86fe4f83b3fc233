//! What a session knows by name, for the completion.

use std::time::Duration;

use datafusion::common::TableReference;
use partwise_sql::PartwiseContext;
use partwise_table::PartwiseTable;
use tokio::runtime::Handle;

use super::complete::Names;
use super::describe::partition_columns;

/// A completion that takes longer than this stays empty.
const PATIENCE: Duration = Duration::from_secs(1);

/// The names of a session, looked up when they are asked for.
pub struct SessionNames {
    context: PartwiseContext,
    runtime: Handle,
}

impl SessionNames {
    /// The names of a session. The lookups run on `runtime`, from a thread that may wait for them.
    pub fn new(context: PartwiseContext, runtime: Handle) -> Self {
        Self { context, runtime }
    }

    fn wait<T: Default>(&self, lookup: impl Future<Output = T>) -> T {
        let bounded = async { tokio::time::timeout(PATIENCE, lookup).await.unwrap_or_default() };
        self.runtime.block_on(bounded)
    }
}

impl Names for SessionNames {
    fn tables(&self) -> Vec<String> {
        self.wait(async { self.context.table_names().await.unwrap_or_default() })
    }

    fn columns(&self, table: &str) -> Vec<String> {
        let session = self.context.session();
        let provider = self.wait(async {
            session.table_provider(TableReference::bare(table.to_owned())).await.ok()
        });
        let fields = provider.map(|table| table.schema().fields().clone());
        fields.iter().flatten().map(|field| field.name().clone()).collect()
    }

    fn partition_columns(&self, table: &str) -> Vec<String> {
        let session = self.context.session();
        let provider = self.wait(async {
            session.table_provider(TableReference::bare(table.to_owned())).await.ok()
        });
        let table = provider.as_ref().and_then(|table| table.downcast_ref::<PartwiseTable>());
        let columns = table.map(partition_columns).unwrap_or_default();
        columns.into_iter().map(str::to_owned).collect()
    }

    fn settings(&self) -> Vec<(String, String)> {
        let state = self.context.session().state();
        let entries = state.config_options().entries().into_iter();
        entries.map(|entry| (entry.key, entry.value.unwrap_or_default())).collect()
    }

    fn functions(&self) -> Vec<String> {
        let state = self.context.session().state();
        let mut names: Vec<String> = state.scalar_functions().keys().cloned().collect();
        names.extend(state.aggregate_functions().keys().cloned());
        names.extend(state.window_functions().keys().cloned());
        names.sort();
        names.dedup();
        names
    }
}
