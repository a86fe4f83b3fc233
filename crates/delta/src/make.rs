//! A table that is made: empty, of the query's columns.

use std::collections::BTreeSet;

use datafusion::arrow::datatypes::Schema;
use deltalake::DeltaTable;
use deltalake::kernel::StructType;
use deltalake::kernel::engine::arrow_conversion::TryIntoKernel;
use deltalake::kernel::transaction::CommitProperties;
use deltalake::logstore::LogStoreRef;
use deltalake::operations::create::CreateBuilder;
use deltalake::protocol::SaveMode;
use futures::StreamExt;
use partwise_stream::sink::SinkQuery;
use partwise_stream::{Error, ErrorKind, Result};
use partwise_table::write::table_types;

use crate::error::from_delta;
use crate::place::Place;

/// What Delta and Parquet don't take in a column's name.
const NOT_IN_NAMES: [char; 9] = [' ', ',', ';', '{', '}', '(', ')', '\n', '\t'];

/// Makes the table; the one that is there, where another writer was first.
pub(crate) async fn make(place: &Place, query: &SinkQuery, parts: &[String]) -> Result<DeltaTable> {
    let schema = table_types(&query.schema)?;
    check_names(&schema)?;
    let parts = part_columns(&schema, parts)?;
    let columns: StructType = (&schema).try_into_kernel()?;
    let log = place.make_log()?;
    refuse_foreign(place, &log).await?;
    // Its retries would put this table's columns in the place of those of another writer's.
    let once = CommitProperties::default().with_max_retries(0);
    let made = CreateBuilder::new()
        .with_log_store(log.clone())
        .with_columns(columns.fields().cloned())
        .with_partition_columns(parts)
        .with_save_mode(SaveMode::ErrorIfExists)
        .with_commit_properties(once)
        .await;
    let error = match made {
        Ok(table) => return Ok(table),
        Err(error) => from_delta(place, error),
    };
    let mut table = DeltaTable::new(log);
    match table.load().await {
        Ok(()) => Ok(table),
        Err(_) => Err(error),
    }
}

fn check_names(schema: &Schema) -> Result<()> {
    let mut seen = BTreeSet::new();
    for field in schema.fields() {
        let name = field.name();
        if name.is_empty() || name.contains(['=', '\r']) || name.contains(NOT_IN_NAMES) {
            return Err(Error::invalid(format!(
                "Delta takes no column named '{name}': give it a name of letters, digits and _ with \
                 AS"
            )));
        }
        if !seen.insert(name.to_lowercase()) {
            return Err(Error::invalid(format!(
                "two columns are named {name}, and Delta doesn't tell upper from lower case: name \
                 one of them with AS"
            )));
        }
    }
    Ok(())
}

/// The partition columns as the table spells them.
fn part_columns(schema: &Schema, parts: &[String]) -> Result<Vec<String>> {
    let mut found = Vec::with_capacity(parts.len());
    for part in parts {
        let column = schema.fields().iter().find(|f| f.name().eq_ignore_ascii_case(part));
        let Some(column) = column else {
            return Err(Error::invalid(format!(
                "PARTITIONED BY ({part}): the query has no such column"
            )));
        };
        if column.data_type().is_nested() {
            return Err(Error::invalid(format!(
                "PARTITIONED BY ({part}): a column of {} can't be a partition column",
                column.data_type()
            )));
        }
        found.push(column.name().clone());
    }
    if found.len() == schema.fields().len() {
        return Err(Error::invalid(
            "every column is a partition column, so the files would be empty: leave one out of \
             PARTITIONED BY",
        ));
    }
    Ok(found)
}

async fn refuse_foreign(place: &Place, log: &LogStoreRef) -> Result<()> {
    match log.object_store(None).list(None).next().await {
        None => Ok(()),
        Some(Err(cause)) => {
            let said = format!("can't look at {place}: {cause}");
            Err(Error::new(ErrorKind::Unavailable, said).with_source(cause))
        }
        Some(Ok(_)) if log.is_delta_table_location().await.unwrap_or(false) => Ok(()),
        Some(Ok(found)) => Err(Error::refused(format!(
            "{place} holds {} and no Delta log: write to an empty location, or make it a Delta table \
             first",
            found.location
        ))),
    }
}
