//! Runs statements one after another and prints what they give.
//!
//! ```text
//! Script -> split -> ${name} filled -> PartwiseContext::execute -> rows | a write | done -> Console
//!                                                  |
//!                                                error -> expected: printed, on | else: stop
//! ```

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use partwise_sql::{
    Execution, PartwiseContext, Rows, ScanTotals, ScriptStatement, WriteReport, counted,
    split_statements, substitute,
};

use crate::args::Format;
use crate::directive::{Template, begins_after, expected_errors, makes_something};
use crate::interrupt::Interrupts;
use crate::number::seconds;
use crate::output::{Console, printer};
use crate::pump::Pump;
use crate::script::Script;
use crate::status::{Failure, Result, Status};

/// A session: where statements run, what `${name}` stands for, where results go.
pub struct Runner {
    context: PartwiseContext,
    variables: BTreeMap<String, String>,
    interrupts: Interrupts,
    /// Where results go.
    pub console: Console,
    /// Whether a query is followed by a line on what it read.
    pub summaries: bool,
}

impl Runner {
    /// A session on a context.
    pub fn new(
        context: PartwiseContext,
        variables: BTreeMap<String, String>,
        interrupts: Interrupts,
        console: Console,
    ) -> Self {
        Self { context, variables, interrupts, console, summaries: false }
    }

    /// Runs a script up to its first failure; what it begins after is made first.
    ///
    /// # Errors
    /// The failure, with file and line.
    pub async fn run_script(&mut self, script: &Script) -> Result<()> {
        let statements = statements_of(script)?;
        if let Some(file) = begins_after(&statements) {
            let before = script.beside(file)?;
            let mut making = statements_of(&before)?;
            making.retain(makes_something);
            self.run_statements(&before, &making).await?;
        }
        self.run_statements(script, &statements).await
    }

    async fn run_statements(
        &mut self,
        script: &Script,
        statements: &[ScriptStatement],
    ) -> Result<()> {
        for statement in statements {
            let done = self.run_expecting(statement).await;
            done.map_err(|failure| failure.at(script.place(statement.line)))?;
        }
        Ok(())
    }

    /// Runs a statement of a script, which may be one that must fail.
    async fn run_expecting(&mut self, statement: &ScriptStatement) -> Result<()> {
        let expected = expected_errors(&statement.comments_before);
        let done = self.run_statement(&statement.text).await;
        if expected.is_empty() {
            return done;
        }
        let message = settle_expected(done, &expected)?;
        self.console.notice(&format!("error, as expected: {message}"))
    }

    /// Runs one statement and prints its result.
    ///
    /// # Errors
    /// Why it failed; [`Status::Interrupted`] when it was cancelled.
    pub async fn run_statement(&mut self, text: &str) -> Result<()> {
        let started = Instant::now();
        let statement = substitute(text, &self.variables).map_err(unset_name)?;
        match self.execute(statement).await? {
            Execution::Rows(rows) => self.print_rows(rows, started).await?,
            Execution::Wrote(report) => self.print_write(&report)?,
            Execution::Done(Some(message)) => self.console.notice(&message)?,
            Execution::Done(None) => {}
        }
        Ok(self.console.out().flush()?)
    }

    /// Hands a statement to the context; a query comes back with its rows still to be drawn.
    async fn execute(&self, statement: String) -> Result<Execution> {
        let context = self.context.clone();
        let work = async move { context.execute(&statement).await };
        Ok(self.interrupts.or_aborted(work).await??)
    }
}

impl Runner {
    async fn print_rows(&mut self, rows: Rows, started: Instant) -> Result<()> {
        let scan = rows.scan();
        let mut printer = printer(self.console.format(), &rows.schema, rows.is_explain);
        let mut batches = Pump::start(rows.stream);
        let mut row_count = 0;
        while let Some(batch) = batches.next(&self.interrupts).await? {
            let batch = batch.map_err(partwise_sql::Error::from)?;
            row_count += batch.num_rows() as u64;
            printer.batch(&batch, self.console.out())?;
            self.console.out().flush()?;
            if self.console.out().is_closed() {
                return Ok(());
            }
        }
        printer.finish(self.console.out())?;
        if self.summaries && !rows.is_explain {
            self.console.notice(&summary(row_count, scan.totals(), started.elapsed()))?;
        }
        scan.warnings().iter().for_each(|warning| self.console.warning(warning));
        Ok(())
    }

    fn print_write(&mut self, report: &WriteReport) -> Result<()> {
        for warning in &report.committed.warnings {
            self.console.warning(warning);
        }
        match self.console.format() {
            Format::Json | Format::NdJson => Ok(writeln!(self.console.out(), "{}", report.json())?),
            _ => self.console.notice(&report.line()),
        }
    }
}

fn statements_of(script: &Script) -> Result<Vec<ScriptStatement>> {
    split_statements(&script.text).map_err(|error| Failure::from(error).at(script.name.clone()))
}

/// A name that nobody set is the command line's fault, not the statement's.
fn unset_name(error: partwise_sql::Error) -> Failure {
    Failure::usage(error.to_string())
}

/// `12 rows, 1 partition, 1 file, 77,033 rows read, 0.004 s`; what wasn't scanned isn't mentioned.
fn summary(rows: u64, scan: Option<ScanTotals>, elapsed: Duration) -> String {
    let mut parts = vec![counted(rows, "row")];
    if let Some(scan) = scan {
        parts.push(counted(scan.partitions, "partition"));
        parts.push(counted(scan.files, "file"));
        parts.push(format!("{} read", counted(scan.rows, "row")));
    }
    parts.push(seconds(elapsed));
    parts.join(", ")
}

/// The message of a failure that was expected.
///
/// # Errors
/// The statement succeeded, was cancelled, or failed for another reason.
fn settle_expected(done: Result<()>, expected: &[Template]) -> Result<String> {
    let Err(failure) = done else {
        let texts: Vec<String> = expected.iter().map(|text| format!("`{text}`")).collect();
        let texts = texts.join(" and ");
        let message = format!("the statement succeeded, but was expected to fail with {texts}");
        return Err(Failure::failed(message));
    };
    if failure.status == Status::Interrupted {
        return Err(failure);
    }
    for text in expected {
        if !text.is_in(&failure.message, None).map_err(Failure::failed)? {
            let message = format!("{} (an error that says `{text}` was expected)", failure.message);
            return Err(Failure::new(failure.status, message));
        }
    }
    Ok(failure.message)
}
