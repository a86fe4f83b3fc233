//! A plan as plain text: cells in a frame would only break its lines.

use std::io::Write;

use arrow::array::{Array, RecordBatch};
use arrow::util::display::array_value_to_string;

use super::ResultPrinter;
use crate::status::Result;

/// Prints each plan; its name stands above it where there is more than one.
#[derive(Default)]
pub(super) struct PlanPrinter {
    plans: Vec<(String, String)>,
}

impl ResultPrinter for PlanPrinter {
    fn batch(&mut self, batch: &RecordBatch, _out: &mut dyn Write) -> Result<()> {
        let Some((plan, names)) = batch.columns().split_last() else { return Ok(()) };
        for row in 0..batch.num_rows() {
            let name = match names.last() {
                Some(names) => cell(names, row)?,
                None => String::new(),
            };
            self.plans.push((name, cell(plan, row)?));
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<()> {
        let several = self.plans.len() > 1;
        for (name, plan) in self.plans.drain(..) {
            if several && !name.is_empty() {
                writeln!(out, "{name}:")?;
            }
            writeln!(out, "{}", plan.trim_end())?;
        }
        Ok(())
    }
}

fn cell(column: &dyn Array, row: usize) -> Result<String> {
    Ok(array_value_to_string(column, row)?)
}
