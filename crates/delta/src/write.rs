//! Append and complete: rows into data files, and one commit.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::execution::SessionState;
use datafusion::execution::object_store::DefaultObjectStoreRegistry;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::prelude::SessionConfig;
use deltalake::DeltaTable;
use deltalake::delta_datafusion::DeltaSessionConfig;
use deltalake::delta_datafusion::planner::DeltaPlanner;
use deltalake::kernel::EagerSnapshot;
use deltalake::kernel::engine::arrow_conversion::TryIntoArrow;
use deltalake::operations::write::WriteBuilder;
use deltalake::protocol::SaveMode;
use partwise_stream::Result;
use partwise_stream::sink::SinkBatch;

use crate::claims::Claims;
use crate::error::from_delta;
use crate::fit::Fit;
use crate::place::Place;
use crate::rows::fitted;

/// Adds the rows to what the table holds.
pub(crate) async fn append(
    place: &Place,
    table: &DeltaTable,
    batch: &SinkBatch,
    claims: Claims,
) -> Result<u64> {
    whole(place, table, batch, claims, SaveMode::Append).await
}

/// Puts the rows in the place of all there are.
pub(crate) async fn replace(
    place: &Place,
    table: &DeltaTable,
    batch: &SinkBatch,
    claims: Claims,
) -> Result<u64> {
    whole(place, table, batch, claims, SaveMode::Overwrite).await
}

async fn whole(
    place: &Place,
    table: &DeltaTable,
    batch: &SinkBatch,
    claims: Claims,
    mode: SaveMode,
) -> Result<u64> {
    let snapshot = snapshot(place, table)?;
    let fit = fit(place, snapshot, &batch.query.schema)?;
    let (rows, flow) = fitted(batch, fit)?;
    let properties = claims.commit(batch);
    let properties = match mode {
        // What others add meanwhile is not in its way, but for claims of the same query.
        SaveMode::Append => properties,
        _ => properties.with_max_retries(0),
    };
    let written = WriteBuilder::new(table.log_store(), Some(snapshot.clone()))
        .with_input_plan(rows)
        .with_save_mode(mode)
        .with_session_state(Arc::new(session(&batch.state)?))
        .with_commit_properties(properties)
        .await;
    match written {
        Ok(_) => Ok(flow.rows()),
        Err(error) => Err(flow.error().unwrap_or_else(|| from_delta(place, error))),
    }
}

/// The snapshot that was loaded.
pub(crate) fn snapshot<'a>(place: &Place, table: &'a DeltaTable) -> Result<&'a EagerSnapshot> {
    Ok(table.snapshot().map_err(|e| from_delta(place, e))?.snapshot())
}

/// How the query's rows become the table's.
pub(crate) fn fit(place: &Place, snapshot: &EagerSnapshot, query: &Schema) -> Result<Fit> {
    let schema: Schema = snapshot.schema().as_ref().try_into_arrow()?;
    let schema: SchemaRef = Arc::new(schema);
    let parts = snapshot.metadata().partition_columns();
    Fit::new(&schema, parts, query, &place.to_string())
}

/// A session of delta-rs with the memory, the disk and the sizes of the query's. Its stores are its
/// own: the table's is not to be taken for one that the query reads from.
pub(crate) fn session(query: &SessionState) -> Result<SessionState> {
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::clone(&query.runtime_env().memory_pool))
        .with_object_store_registry(Arc::new(DefaultObjectStoreRegistry::new()));
    let mut runtime = runtime.build()?;
    runtime.disk_manager = Arc::clone(&query.runtime_env().disk_manager);
    let config = SessionConfig::from(DeltaSessionConfig::default())
        .with_target_partitions(query.config().target_partitions())
        .with_batch_size(query.config().batch_size());
    Ok(SessionStateBuilder::new()
        .with_default_features()
        .with_config(config)
        .with_runtime_env(Arc::new(runtime))
        .with_query_planner(DeltaPlanner::new())
        .build())
}
