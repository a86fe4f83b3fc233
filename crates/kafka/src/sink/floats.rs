//! [`FloatTexts`]: NaN and the infinities, which JSON has no numbers for, as texts.

use std::sync::LazyLock;

use arrow::json::writer::make_encoder;
use arrow::json::{Encoder, EncoderFactory, EncoderOptions, writer::NullableEncoder};
use datafusion::arrow::array::{Array, ArrowPrimitiveType, AsArray, PrimitiveArray};
use datafusion::arrow::datatypes::{DataType, FieldRef, Float32Type, Float64Type};
use datafusion::arrow::error::ArrowError;

/// Writes `"NaN"`, `"Infinity"` and `"-Infinity"`, at any depth; all else as it is written without.
#[derive(Debug)]
pub(super) struct FloatTexts;

static PLAIN: LazyLock<EncoderOptions> = LazyLock::new(EncoderOptions::default);

impl EncoderFactory for FloatTexts {
    fn make_default_encoder<'a>(
        &self,
        field: &'a FieldRef,
        array: &'a dyn Array,
        _: &'a EncoderOptions,
    ) -> Result<Option<NullableEncoder<'a>>, ArrowError> {
        let finite = || make_encoder(field, array, &PLAIN);
        let encoder: Box<dyn Encoder + 'a> = match array.data_type() {
            DataType::Float32 => {
                let floats = array.as_primitive::<Float32Type>();
                Box::new(Floats { floats, as_f64: f64::from, finite: finite()? })
            }
            DataType::Float64 => {
                let floats = array.as_primitive::<Float64Type>();
                Box::new(Floats { floats, as_f64: |float| float, finite: finite()? })
            }
            _ => return Ok(None),
        };
        Ok(Some(NullableEncoder::new(encoder, array.nulls().cloned())))
    }
}

struct Floats<'a, T: ArrowPrimitiveType> {
    floats: &'a PrimitiveArray<T>,
    as_f64: fn(T::Native) -> f64,
    finite: NullableEncoder<'a>,
}

impl<T: ArrowPrimitiveType> Encoder for Floats<'_, T> {
    fn encode(&mut self, row: usize, out: &mut Vec<u8>) {
        let text: &[u8] = match (self.as_f64)(self.floats.value(row)) {
            nan if nan.is_nan() => br#""NaN""#,
            f64::INFINITY => br#""Infinity""#,
            f64::NEG_INFINITY => br#""-Infinity""#,
            _ => return self.finite.encode(row, out),
        };
        out.extend_from_slice(text);
    }
}
