//! `SHOW TABLES`.

use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};

use crate::Result;

/// One row per table.
///
/// # Errors
/// None that a list of names can give.
pub fn tables(names: Vec<String>) -> Result<RecordBatch> {
    let schema = Schema::new(vec![Field::new("table_name", DataType::Utf8, false)]);
    Ok(RecordBatch::try_new(Arc::new(schema), vec![Arc::new(StringArray::from(names))])?)
}
