//! States that keep no more memory than they need.
//!
//! A view of a string points into a buffer that rows of many batches share. Rows that are filtered,
//! taken or put together keep whole buffers, and so do those that are written: one group that lives
//! on would keep every string that was ever beside it.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, RecordBatch, RecordBatchOptions, make_array,
};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::error::ArrowError;

use crate::Result;

/// Bytes of states that are put together to one batch: an array of text holds 2 GiB.
const MAX_BYTES: usize = 1 << 30;

/// States in few batches, with nothing in them but their own values.
pub(super) fn joined(schema: &SchemaRef, states: &[RecordBatch]) -> Result<Vec<RecordBatch>> {
    joined_below(MAX_BYTES, schema, states)
}

fn joined_below(
    max_bytes: usize,
    schema: &SchemaRef,
    states: &[RecordBatch],
) -> Result<Vec<RecordBatch>> {
    let (mut pieces, mut first, mut bytes) = (Vec::new(), 0, 0_usize);
    for (at, states) in states.iter().enumerate() {
        let more = bytes_of(states)?;
        if bytes.saturating_add(more) > max_bytes && first < at {
            pieces.push(first..at);
            (first, bytes) = (at, 0);
        }
        bytes = bytes.saturating_add(more);
    }
    pieces.push(first..states.len());
    // One alone would be given back as it is, within the lists and messages it is a slice of.
    let none = RecordBatch::new_empty(Arc::clone(schema));
    let whole = |piece: Range<usize>| -> Result<RecordBatch> {
        compacted(&concat_batches(schema, states[piece].iter().chain([&none]))?)
    };
    let whole = pieces.into_iter().map(whole).collect::<Result<Vec<_>>>()?;
    Ok(whole.into_iter().filter(|states| states.num_rows() > 0).collect())
}

/// The states with views of buffers of their own.
pub(super) fn compacted(states: &RecordBatch) -> Result<RecordBatch> {
    let columns = states.columns().iter().map(own).collect::<Result<_, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(states.num_rows()));
    Ok(RecordBatch::try_new_with_options(states.schema(), columns, &options)?)
}

fn own(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match array.data_type() {
        DataType::Utf8View => Ok(Arc::new(array.as_string_view().gc())),
        DataType::BinaryView => Ok(Arc::new(array.as_binary_view().gc())),
        kind if has_views(kind) => own_within(array),
        _ => Ok(Arc::clone(array)),
    }
}

fn own_within(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let data = array.to_data();
    let within =
        data.child_data().iter().map(|child| Ok(own(&make_array(child.clone()))?.to_data()));
    let within = within.collect::<Result<Vec<_>, ArrowError>>()?;
    Ok(make_array(data.into_builder().child_data(within).build()?))
}

fn has_views(kind: &DataType) -> bool {
    match kind {
        DataType::Utf8View | DataType::BinaryView => true,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _)
        | DataType::RunEndEncoded(_, item) => has_views(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_views(field.data_type())),
        DataType::Union(fields, _) => fields.iter().any(|(_, field)| has_views(field.data_type())),
        DataType::Dictionary(_, value) => has_views(value),
        _ => false,
    }
}

/// The bytes of its values, without what else is in their buffers.
fn bytes_of(states: &RecordBatch) -> Result<usize> {
    let mut bytes = 0_usize;
    for column in states.columns() {
        bytes = bytes.saturating_add(column.to_data().get_slice_memory_size()?);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{
        ArrayRef, BooleanArray, Int64Array, ListArray, RecordBatch, StringArray, StringViewArray,
        StructArray,
    };
    use datafusion::arrow::buffer::OffsetBuffer;
    use datafusion::arrow::compute::filter_record_batch;
    use datafusion::arrow::datatypes::Field;

    use super::*;

    fn texts(rows: usize) -> StringViewArray {
        (0..rows).map(|row| Some(format!("a text of its own, {row:08}"))).collect()
    }

    /// The texts in a list each, next to a number, in a structure.
    fn nested(texts: StringViewArray) -> ArrayRef {
        let numbers: ArrayRef = Arc::new((0..texts.len() as i64).collect::<Int64Array>());
        let item = Arc::new(Field::new("item", DataType::Utf8View, true));
        let lists = OffsetBuffer::from_lengths(vec![1; texts.len()]);
        let lists: ArrayRef = Arc::new(ListArray::new(item, lists, Arc::new(texts), None));
        let fields = [("n", numbers), ("texts", lists)].map(|(name, column)| {
            (Arc::new(Field::new(name, column.data_type().clone(), true)), column)
        });
        Arc::new(StructArray::from(fields.to_vec()))
    }

    #[test]
    fn a_part_of_the_rows_keeps_a_part_of_the_memory() {
        let columns: [ArrayRef; 2] = [Arc::new(texts(1_000)), nested(texts(1_000))];
        for column in columns {
            let all = RecordBatch::try_from_iter([("texts", column)]).expect("a batch");
            let chosen: BooleanArray = (0..1_000).map(|row| Some(row % 100 == 7)).collect();
            let some = filter_record_batch(&all, &chosen).expect("filtered");
            let own = compacted(&some).expect("compacted");
            assert_eq!(own, some);
            let (before, after) = (all.get_array_memory_size(), own.get_array_memory_size());
            assert!(after < before / 2, "{after} of {before} bytes");
            // A slice of a list lies in the whole list.
            let own =
                joined(&all.schema(), &[all.slice(500, 10), some.slice(0, 5)]).expect("joined");
            assert_eq!(own.len(), 1);
            assert_eq!(own[0].num_rows(), 15);
            let after = own[0].get_array_memory_size();
            assert!(after < before / 10, "{after} of {before} bytes");
        }
    }

    #[test]
    fn states_are_joined_as_far_as_an_array_holds_them() {
        let text: ArrayRef = Arc::new(StringArray::from(vec!["1234567890"; 100]));
        let states = RecordBatch::try_from_iter([("text", text)]).expect("a batch");
        let schema = states.schema();
        let rows = |max_bytes, states: &[RecordBatch]| -> Vec<usize> {
            let joined = joined_below(max_bytes, &schema, states).expect("joined");
            joined.iter().map(RecordBatch::num_rows).collect()
        };
        let five = vec![states; 5];
        assert_eq!(rows(3_000, &five), [200, 200, 100]);
        assert_eq!(rows(1, &five), [100; 5]);
        assert_eq!(rows(1 << 20, &five), [500]);
        assert_eq!(rows(1 << 20, &[]), [0; 0]);
    }
}
