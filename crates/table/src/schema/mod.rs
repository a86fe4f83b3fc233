//! Schemas: what the files of one table have in common, and how a file is read as the table.
//!
//! ```text
//!   footers of a foreign tree --infer--> table schema     safe widening, names without case
//!   table schema + one file's schema --adapter--> casts, NULL columns, or an error
//! ```
//! A pinned or declared schema is taken as it is; a file is only looked at when it is read.

mod adapter;
mod infer;
mod unfit;
mod whole_units;
mod widen;

pub(crate) use adapter::WideningAdapterFactory;
pub use adapter::widening_adapters;
pub(crate) use infer::infer_file_schema;
pub(crate) use unfit::Unfit;
use whole_units::{WholeUnits, coarsens};
use widen::common_type;
pub use widen::widens;

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};

/// The same columns, all nullable: a file that another tool put into the table may lack a column.
pub(crate) fn nullable(schema: &Schema) -> SchemaRef {
    let fields: Vec<_> =
        schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// Column names match without case.
pub(crate) fn same_name(a: &str, b: &str) -> bool {
    a == b || a.to_lowercase() == b.to_lowercase()
}
