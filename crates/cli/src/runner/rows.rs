//! The rows of a query on their way to whoever reads them.
//!
//! ```text
//! Rows -> Pump -> first batch -> [Pager] -> ResultPrinter -> Console
//!          |___ the progress line is drawn, until there is something to print
//! ```

use std::io::Write;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use partwise_sql::{Rows, ScanTotals, counted};

use super::Runner;
use crate::args::Format;
use crate::display::Display;
use crate::number::seconds;
use crate::output::{Pipe, ResultPrinter, printer, shaped_printer};
use crate::pager::Pager;
use crate::progress::ProgressLine;
use crate::pump::Pump;
use crate::status::{Failure, Result};

/// What was printed of a result.
struct Printed {
    rows: u64,
    /// Until the last row came; what the reader of a pager took isn't in it.
    elapsed: Duration,
    /// Whether the reader left before the end.
    left: bool,
}

/// A pager that shows a result, and the terminal that is its again when the reader has left.
struct Paging {
    pager: Pager,
    terminal: Pipe,
}

impl Runner {
    pub(super) async fn print_rows(&mut self, rows: Rows, started: Instant) -> Result<()> {
        let (scan, is_explain) = (rows.scan(), rows.is_explain);
        let printed = self.print_paged(rows, started).await?;
        if let Some(message) = scan.message() {
            self.console.notice(message)?;
        } else if let Some(display) = self.display.clone().filter(|_| !is_explain) {
            if let Some(left_out) = self.left_out(&display, printed.rows) {
                self.console.notice(&left_out)?;
            }
            self.console.notice(&summary(&printed, scan.totals(), display.timing))?;
        }
        if !printed.left {
            scan.warnings().iter().for_each(|warning| self.console.warning(warning));
        }
        Ok(())
    }

    /// Whether results are made to fit: for people at a terminal, not for what reads a pipe,
    /// unless it has asked.
    fn is_shaped(&self) -> bool {
        let asked = self.display.as_ref().is_some_and(|display| display.anywhere);
        self.console.format() == Format::Table && (asked || self.console.is_terminal())
    }

    fn width(&self) -> usize {
        if self.console.is_terminal() { self.console.width() } else { usize::MAX }
    }

    fn left_out(&self, display: &Display, row_count: u64) -> Option<String> {
        self.is_shaped().then(|| display.left_out(row_count)).flatten()
    }

    /// Prints rows, through the pager where the prompt has one.
    async fn print_paged(&mut self, rows: Rows, started: Instant) -> Result<Printed> {
        let mut paging = None;
        let drained = self.drain(rows, started, &mut paging).await;
        let Some(Paging { pager, terminal }) = paging else { return drained };
        // Its input ends here.
        drop(self.console.redirect(terminal));
        let left = tokio::task::block_in_place(|| pager.wait());
        self.interrupts.in_pager(false);
        self.interrupts.forget();
        left.and(drained)
    }

    /// Prints rows as they come, and counts them.
    async fn drain(
        &mut self,
        rows: Rows,
        started: Instant,
        paging: &mut Option<Paging>,
    ) -> Result<Printed> {
        let mut printer = self.printer(&rows);
        let mut progress = self.progress_of(&rows);
        let is_paged = self.is_paged(&rows);
        let mut batches = Pump::start(&self.workers, rows.stream);
        let mut printed = Printed { rows: 0, elapsed: Duration::ZERO, left: false };
        let mut reading = Duration::ZERO;
        while let Some(batch) = batches.next(&self.interrupts).await? {
            let batch = batch.map_err(partwise_sql::Error::from)?;
            printed.rows += batch.num_rows() as u64;
            printed.elapsed = started.elapsed() - reading;
            if is_paged && paging.is_none() {
                progress = ProgressLine::silent();
                *paging = Some(self.start_pager()?);
            }
            let given = Instant::now();
            self.print_batch(&batch, printer.as_mut(), &progress)?;
            reading += if is_paged { given.elapsed() } else { Duration::ZERO };
            if self.console.out().is_closed() {
                return Ok(Printed { left: true, ..printed });
            }
        }
        printed.elapsed = started.elapsed() - reading;
        drop(progress);
        printer.finish(self.console.out())?;
        Ok(printed)
    }

    /// Only once there are rows: nobody waits for them in an empty pager.
    fn start_pager(&mut self) -> Result<Paging> {
        let (pager, input) = Pager::start()?;
        self.interrupts.in_pager(true);
        Ok(Paging { pager, terminal: self.console.redirect(input) })
    }

    fn is_paged(&self, rows: &Rows) -> bool {
        let wanted = self.display.as_ref().is_some_and(|display| display.pager);
        wanted && !rows.is_explain && self.console.is_terminal()
    }

    fn print_batch(
        &mut self,
        batch: &RecordBatch,
        printer: &mut dyn ResultPrinter,
        progress: &ProgressLine,
    ) -> Result<()> {
        let out = self.console.out();
        progress.aside(|| {
            printer.batch(batch, out)?;
            Ok::<_, Failure>(out.flush()?)
        })
    }

    fn printer(&self, rows: &Rows) -> Box<dyn ResultPrinter> {
        let format = self.console.format();
        match &self.display {
            Some(display) if self.is_shaped() && !rows.is_explain => {
                shaped_printer(&rows.schema, display.shape(self.width()))
            }
            _ => printer(format, &rows.schema, rows.is_explain),
        }
    }

    fn progress_of(&self, rows: &Rows) -> ProgressLine {
        let scan = rows.scan();
        self.progress(move || scan.progress())
    }
}

/// `12 rows, 1 partition, 1 file, 77,033 rows read, 0.004 s`; what wasn't scanned isn't mentioned.
fn summary(printed: &Printed, scan: Option<ScanTotals>, timed: bool) -> String {
    let mut parts = vec![counted(printed.rows, "row")];
    if printed.left {
        parts.push("the rest was not fetched".to_owned());
    }
    if let Some(scan) = scan {
        let partitions = counted(scan.partitions, "partition");
        parts.push(match scan.scans {
            // Two scans of one table may count a partition twice.
            2.. => format!("in {} scans: {partitions}", scan.scans),
            _ => partitions,
        });
        parts.push(counted(scan.files, "file"));
        parts.push(format!("{} read", counted(scan.rows, "row")));
    }
    parts.extend(timed.then(|| seconds(printed.elapsed)));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_that_was_left_is_not_taken_for_whole() {
        let whole = Printed { rows: 8_192, elapsed: Duration::from_millis(4), left: false };
        assert_eq!(summary(&whole, None, true), "8,192 rows, 0.004 s");
        let left = Printed { left: true, ..whole };
        assert_eq!(summary(&left, None, false), "8,192 rows, the rest was not fetched");
    }

    #[test]
    fn partitions_of_several_scans_are_said_to_be() {
        let printed = Printed { rows: 1, elapsed: Duration::ZERO, left: false };
        let one = ScanTotals { scans: 1, partitions: 91, files: 91, rows: 9 };
        let expected = "1 row, 91 partitions, 91 files, 9 rows read";
        assert_eq!(summary(&printed, Some(one), false), expected);
        let two = ScanTotals { scans: 2, partitions: 121, ..one };
        let expected = "1 row, in 2 scans: 121 partitions, 91 files, 9 rows read";
        assert_eq!(summary(&printed, Some(two), false), expected);
    }
}
