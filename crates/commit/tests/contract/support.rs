//! A table whose data files are lines of text: a row is a line.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use async_trait::async_trait;
use bytes::Bytes;
use partwise_commit::*;

/// Rows by partition, as a reader sees them.
pub type Content = BTreeMap<String, Vec<String>>;

pub fn schema() -> TableSchema {
    keyed_schema(&[("p", DataType::Utf8)])
}

/// One data column `v`, and these partition columns.
pub fn keyed_schema(columns: &[(&str, DataType)]) -> TableSchema {
    let mut fields = vec![Field::new("v", DataType::Utf8, true)];
    fields.extend(columns.iter().map(|(name, ty)| Field::new(*name, ty.clone(), true)));
    let names = columns.iter().map(|(name, _)| name.to_string()).collect();
    TableSchema::new(Arc::new(Schema::new(fields)), names).unwrap()
}

pub fn key(text: &str) -> PartitionKey {
    PartitionKey::new(vec![PartitionValue::Text(text.to_string())])
}

/// Counts lines.
pub struct Lines;

#[async_trait]
impl RowCounter for Lines {
    async fn count(&self, table: &Table, file: &DataFile) -> Result<u64> {
        Ok(read(table, file).await?.lines().count() as u64)
    }
}

pub async fn read(table: &Table, file: &DataFile) -> Result<String> {
    let open = table.open(file).await?;
    let bytes = open.read(0..open.size()).await?;
    Ok(String::from_utf8(bytes.to_vec()).unwrap())
}

/// Stages one file of `rows` for each entry.
pub async fn stage(
    transaction: &Transaction,
    files: &[(PartitionKey, &[&str])],
) -> Result<Vec<StagedFile>> {
    let mut staged = Vec::new();
    for (key, rows) in files {
        let mut writer = transaction.staging().create(key, "snappy.parquet").await?;
        for row in *rows {
            writer.write(Bytes::from(format!("{row}\n"))).await?;
        }
        staged.push(writer.finish(rows.len() as u64, FileStats::default()).await?);
    }
    Ok(staged)
}

pub async fn write_keys(
    table: &Table,
    schema: &TableSchema,
    operation: Operation,
    files: &[(PartitionKey, &[&str])],
    with: impl FnOnce(&mut Change),
) -> Result<Committed> {
    let transaction = table.begin(schema, BTreeMap::new()).await?;
    let staged = match stage(&transaction, files).await {
        Ok(staged) => staged,
        Err(error) => {
            transaction.abort().await;
            return Err(error);
        }
    };
    let mut change = Change::new(operation, staged);
    with(&mut change);
    transaction.commit(change, &Lines).await
}

pub async fn write_with(
    table: &Table,
    operation: Operation,
    files: &[(&str, &[&str])],
    with: impl FnOnce(&mut Change),
) -> Result<Committed> {
    let files: Vec<(PartitionKey, &[&str])> =
        files.iter().map(|(p, rows)| (key(p), *rows)).collect();
    write_keys(table, &schema(), operation, &files, with).await
}

pub async fn write(
    table: &Table,
    operation: Operation,
    files: &[(&str, &[&str])],
) -> Result<Committed> {
    write_with(table, operation, files, |_| {}).await
}

pub fn dynamic() -> Operation {
    Operation::Overwrite(Coverage::Written)
}

pub fn fixed(values: &[&str]) -> Operation {
    let values = values.iter().map(|v| (0, PartitionValue::Text(v.to_string())));
    Operation::Overwrite(Coverage::Matching(values.collect()))
}

/// The scope of these values of `p`.
pub fn one_of(values: &[&str]) -> Scope {
    struct OneOf(Vec<PartitionValue>);
    impl PartitionSelector for OneOf {
        fn select(&self, prefixes: &[Vec<PartitionValue>]) -> Result<Vec<bool>> {
            Ok(prefixes.iter().map(|prefix| self.0.contains(&prefix[0])).collect())
        }
    }
    let text = format!("p IN ({})", values.join(", "));
    let values = values.iter().map(|value| PartitionValue::Text(value.to_string()));
    Scope::new(Arc::new(OneOf(values.collect())), text)
}

pub async fn content_of(table: &Table, columns: &[PartitionColumn]) -> Result<Content> {
    let snapshot = table.snapshot(columns, &AllPartitions).await?;
    content_in(table, &snapshot, columns).await
}

/// What a version of this schema held.
pub async fn content_at(table: &Table, version: u64, schema: &TableSchema) -> Result<Content> {
    let columns = schema.partition_columns();
    let snapshot = table.snapshot_at(At::Version(version), columns, &AllPartitions).await?;
    content_in(table, &snapshot, columns).await
}

async fn content_in(
    table: &Table,
    snapshot: &Snapshot,
    columns: &[PartitionColumn],
) -> Result<Content> {
    let mut content = Content::new();
    for partition in &snapshot.partitions {
        let rows = content.entry(partition.key.display(columns)).or_default();
        for file in &partition.files {
            rows.extend(read(table, file).await?.lines().map(str::to_string));
        }
        rows.sort();
    }
    Ok(content)
}

pub async fn content(table: &Table) -> Result<Content> {
    content_of(table, schema().partition_columns()).await
}

pub fn rows(expected: &[(&str, &[&str])]) -> Content {
    expected
        .iter()
        .map(|(p, rows)| (format!("p={p}"), rows.iter().map(|r| r.to_string()).collect()))
        .collect()
}
