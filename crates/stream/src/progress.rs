//! What a batch did, as a struct and as a line.

use std::fmt;
use std::time::Duration;

/// What a batch did.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Progress {
    /// The query's name.
    pub query: String,
    /// The query's id, of its checkpoint.
    pub query_id: String,
    /// The batch, counted from 0.
    pub batch: u64,
    /// It had begun before a restart and ran again.
    pub replayed: bool,
    /// When it was planned, milliseconds since 1970, UTC.
    pub planned_ms: i64,
    /// Rows read from the source, late ones included.
    pub input_rows: u64,
    /// Rows older than the watermark, dropped.
    pub late_rows: u64,
    /// Input that was no row of the stream: left out or made NULL, as the source was told.
    pub bad_rows: u64,
    /// Rows given to the sink; none where the sink had the batch already.
    pub output_rows: Option<u64>,
    /// Groups remembered for later batches.
    pub state_rows: u64,
    /// The memory that they take, in bytes.
    pub state_bytes: u64,
    /// The watermark that the batch leaves, as text; none before the first event time.
    pub watermark: Option<String>,
    /// Where the time went.
    pub took: Steps,
}

/// How long each step of a batch took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Steps {
    /// Finding what is new and writing the offsets.
    pub offsets: Duration,
    /// Reading the rows and aggregating them. Without an aggregate, rows flow into the sink and
    /// this counts planning alone.
    pub run: Duration,
    /// The sink's write.
    pub sink: Duration,
    /// Writing the state.
    pub state: Duration,
    /// Writing the commit.
    pub commit: Duration,
}

impl Steps {
    /// All of them.
    pub fn total(&self) -> Duration {
        self.offsets + self.run + self.sink + self.state + self.commit
    }
}

impl Progress {
    /// Rows read per second of the batch.
    pub fn input_rows_per_second(&self) -> f64 {
        per_second(self.input_rows, self.took.total())
    }
}

/// Batches of a query together, since it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Totals {
    /// How many.
    pub batches: u64,
    /// Rows read from the source, late ones included.
    pub input_rows: u64,
    /// Rows older than the watermark, dropped.
    pub late_rows: u64,
    /// The time that the batches took.
    pub took: Duration,
}

impl Totals {
    /// Adds a batch.
    pub(crate) fn add(&mut self, progress: &Progress) {
        self.batches += 1;
        self.input_rows += progress.input_rows;
        self.late_rows += progress.late_rows;
        self.took += progress.took.total();
    }

    /// Rows read per second of the batches.
    pub fn input_rows_per_second(&self) -> f64 {
        per_second(self.input_rows, self.took)
    }
}

fn per_second(rows: u64, took: Duration) -> f64 {
    let seconds = took.as_secs_f64();
    if seconds > 0.0 { rows as f64 / seconds } else { 0.0 }
}

/// `page_aggs batch 7: 50,000 rows in (812,000/s), 310 out, ...`
impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let again = if self.replayed { " (again)" } else { "" };
        write!(
            f,
            "{} batch {}{again}: {} rows in",
            self.query,
            self.batch,
            count(self.input_rows)
        )?;
        write!(f, " ({}/s)", count(self.input_rows_per_second() as u64))?;
        match self.output_rows {
            Some(rows) => write!(f, ", {} out", count(rows))?,
            None => write!(f, ", the sink has them already")?,
        }
        if self.late_rows > 0 {
            write!(f, ", {} late dropped", count(self.late_rows))?;
        }
        if self.bad_rows > 0 {
            write!(f, ", {} bad", count(self.bad_rows))?;
        }
        if self.state_rows > 0 {
            write!(f, ", state {} rows {} bytes", count(self.state_rows), count(self.state_bytes))?;
        }
        if let Some(watermark) = &self.watermark {
            write!(f, ", watermark {watermark}")?;
        }
        let Steps { offsets, run, sink, state, commit } = self.took;
        write!(f, ", {} ms", self.took.total().as_millis())?;
        let steps = [offsets, run, sink, state, commit].map(|step| step.as_millis());
        let [offsets, run, sink, state, commit] = steps;
        write!(f, " (offsets {offsets}, run {run}, sink {sink}, state {state}, commit {commit})")
    }
}

/// A number with its thousands set apart.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_what_a_batch_did() {
        let progress = Progress {
            query: "aggs".to_owned(),
            batch: 7,
            input_rows: 50_000,
            output_rows: Some(310),
            late_rows: 2,
            took: Steps { run: Duration::from_millis(40), ..Steps::default() },
            ..Progress::default()
        };
        let line = progress.to_string();
        let start = "aggs batch 7: 50,000 rows in (1,250,000/s), 310 out, 2 late dropped, 40 ms";
        assert!(line.starts_with(start), "{line}");
    }
}
