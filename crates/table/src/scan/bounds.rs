//! Files that their records rule out: the least and the greatest value of each column, and how many
//! are NULL, as they were when we wrote the file.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, UInt64Array};
use arrow::datatypes::SchemaRef;
use datafusion::common::pruning::PruningStatistics;
use datafusion::common::{Column, ScalarValue};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::{collect_columns, conjunction};
use datafusion::physical_optimizer::pruning::PruningPredicateBuilder;
use datafusion_datasource::PartitionedFile;
use partwise_commit::{ColumnStats, DataFile, PartitionColumn};
use serde_json::Value;

use crate::predicate::{Conclusion, sound};
use crate::reader::ScanFile;
use crate::write::stat_value;

/// For each file, whether a row of it may fulfil all `filters` (over the columns of `schema`); none
/// if that isn't known of any.
pub(super) fn may_match(
    filters: &[Arc<dyn PhysicalExpr>],
    schema: &SchemaRef,
    partition_columns: &[PartitionColumn],
    files: &[PartitionedFile],
) -> Option<Vec<bool>> {
    let bounds = FileBounds::new(schema, partition_columns, files)?;
    let is_data = |filter: &&Arc<dyn PhysicalExpr>| {
        collect_columns(filter).iter().any(|column| bounds.level(column.name()).is_none())
    };
    let asked: Vec<_> = filters.iter().filter(is_data).cloned().collect();
    if asked.is_empty() {
        return None;
    }
    let filter = sound(&conjunction(asked), schema, Conclusion::NoRow);
    // A filter that says nothing about bounds rules nothing out.
    let predicate =
        PruningPredicateBuilder::new().with_file_schema(Arc::clone(schema)).build(filter)?;
    predicate.prune(&bounds).ok()
}

/// What is known of files before they are opened.
struct FileBounds<'a> {
    schema: &'a SchemaRef,
    partition_columns: &'a [PartitionColumn],
    files: Vec<Known<'a>>,
}

struct Known<'a> {
    file: &'a DataFile,
    partition_values: &'a [ScalarValue],
}

impl<'a> FileBounds<'a> {
    /// None where no record tells of any of the files.
    fn new(
        schema: &'a SchemaRef,
        partition_columns: &'a [PartitionColumn],
        files: &'a [PartitionedFile],
    ) -> Option<Self> {
        let known = |file: &'a PartitionedFile| {
            let data_file = file.extension::<ScanFile>()?.data_file();
            Some(Known { file: data_file, partition_values: &file.partition_values })
        };
        let files = files.iter().map(known).collect::<Option<Vec<_>>>()?;
        let told = files.iter().any(|known| known.file.stats.is_some());
        told.then_some(Self { schema, partition_columns, files })
    }

    fn level(&self, column: &str) -> Option<usize> {
        self.partition_columns.iter().position(|partition| partition.name == column)
    }

    /// The bounds of a column, one for each file, NULL where it isn't known.
    fn bounds(
        &self,
        column: &Column,
        side: impl Fn(&ColumnStats) -> Option<&Value>,
    ) -> Option<ArrayRef> {
        let data_type = self.schema.field_with_name(&column.name).ok()?.data_type();
        let level = self.level(&column.name);
        let unknown = ScalarValue::try_new_null(data_type).ok()?;
        let bound = |known: &Known<'_>| match level {
            Some(level) => known.partition_values.get(level).cloned(),
            None => stat_value(side(known.column(&column.name)?)?, data_type),
        };
        let bounds = self.files.iter().map(|known| bound(known).unwrap_or_else(|| unknown.clone()));
        ScalarValue::iter_to_array(bounds).ok()
    }
}

impl Known<'_> {
    fn column(&self, name: &str) -> Option<&ColumnStats> {
        self.file.stats.as_ref()?.columns.get(name)
    }

    /// How many rows have NULL in a partition column.
    fn nulls_at(&self, level: usize) -> Option<u64> {
        match self.partition_values.get(level)?.is_null() {
            true => self.file.rows,
            false => Some(0),
        }
    }
}

impl PruningStatistics for FileBounds<'_> {
    fn min_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bounds(column, |stats| stats.min.as_ref())
    }

    fn max_values(&self, column: &Column) -> Option<ArrayRef> {
        self.bounds(column, |stats| stats.max.as_ref())
    }

    fn num_containers(&self) -> usize {
        self.files.len()
    }

    fn null_counts(&self, column: &Column) -> Option<ArrayRef> {
        let level = self.level(&column.name);
        let nulls = |known: &Known<'_>| match level {
            Some(level) => known.nulls_at(level),
            None => known.column(&column.name)?.nulls,
        };
        Some(Arc::new(self.files.iter().map(nulls).collect::<UInt64Array>()))
    }

    fn row_counts(&self) -> Option<ArrayRef> {
        Some(Arc::new(self.files.iter().map(|known| known.file.rows).collect::<UInt64Array>()))
    }

    fn contained(&self, _: &Column, _: &HashSet<ScalarValue>) -> Option<BooleanArray> {
        None
    }
}
