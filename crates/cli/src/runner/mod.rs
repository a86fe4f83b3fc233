//! Runs statements one after another and prints what they give.
//!
//! ```text
//! Script -> split -> ${name} filled -> PartwiseContext::execute -> rows | a write | done -> Console
//!                                                  |
//!                                                error -> expected: printed, on | else: stop
//! ```

mod rows;

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use partwise_sql::stream::Progress as Batch;
use partwise_sql::{
    BatchListener, Execution, PartwiseContext, Progress, ScriptStatement, WriteReport,
    split_statements, substitute, substitute_set,
};

use crate::args::Format;
use crate::directive::{Template, begins_after, expected_errors, makes_something};
use crate::display::Display;
use crate::interrupt::Interrupts;
use crate::output::{Console, Shape, printer, shaped_printer};
use crate::plan_lines;
use crate::progress::ProgressLine;
use crate::script::Script;
use crate::status::{Failure, Result, Status};
use crate::workers::Workers;

/// A session: where statements run, what `${name}` stands for, where results go.
pub struct Runner {
    context: PartwiseContext,
    interrupts: Interrupts,
    workers: Workers,
    /// What `${name}` stands for.
    pub variables: BTreeMap<String, String>,
    /// What becomes of a name that isn't set.
    pub unset: Unset,
    /// Where results go.
    pub console: Console,
    /// How the prompt shows results; none: in full, as a script's.
    pub display: Option<Display>,
}

/// What becomes of a `${name}` that nobody has set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unset {
    /// It is an error: a script can't do without.
    Refused,
    /// It stays as it is typed.
    Left,
}

impl Runner {
    /// A session on a context.
    pub fn new(
        context: PartwiseContext,
        variables: BTreeMap<String, String>,
        interrupts: Interrupts,
        workers: Workers,
        console: Console,
    ) -> Self {
        Self {
            context,
            interrupts,
            workers,
            variables,
            unset: Unset::Refused,
            console,
            display: None,
        }
    }

    /// The session that statements run in.
    pub fn context(&self) -> &PartwiseContext {
        &self.context
    }

    /// The threads that statements run on.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Runs `work` on the worker threads; a Ctrl-C aborts it.
    ///
    /// # Errors
    /// [`Status::Interrupted`].
    pub async fn interruptible<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Result<T> {
        self.interrupts.or_aborted(&self.workers, work).await
    }

    /// Prints rows that are there, every one.
    ///
    /// # Errors
    /// Output that can't be written.
    pub fn show(&mut self, rows: &RecordBatch) -> Result<()> {
        let shape = Shape { width: self.console.width(), ..Shape::WHOLE };
        let mut printer = match self.console.format() {
            Format::Table => shaped_printer(&rows.schema(), shape),
            format => printer(format, &rows.schema(), false),
        };
        printer.batch(rows, self.console.out())?;
        printer.finish(self.console.out())?;
        Ok(self.console.out().flush()?)
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
        let statement = self.filled(text)?;
        for line in self.show_plan(&statement).await? {
            self.console.notice(&line)?;
        }
        match self.execute(statement).await? {
            Execution::Rows(rows) => self.print_rows(rows, started).await?,
            Execution::Wrote(report) => {
                let said = self.print_write(&report);
                self.flushed(said).map_err(|why| done_unsaid(&report.untimed_line(), why))?;
            }
            Execution::Done(Some(message)) => {
                let said = self.console.notice(&message);
                self.flushed(said).map_err(|why| done_unsaid(&message, why))?;
            }
            Execution::Done(None) => {}
        }
        Ok(self.console.out().flush()?)
    }

    fn filled(&self, text: &str) -> Result<String> {
        match self.unset {
            Unset::Refused => substitute(text, &self.variables).map_err(unset_name),
            Unset::Left => Ok(substitute_set(text, &self.variables)),
        }
    }

    fn flushed(&mut self, printed: Result<()>) -> Result<()> {
        printed?;
        Ok(self.console.out().flush()?)
    }

    /// Hands a statement to the context; a query comes back with its rows still to be drawn.
    async fn execute(&self, statement: String) -> Result<Execution> {
        let (context, watched) = (self.context.clone(), self.context.clone());
        let progress = Arc::new(self.progress(move || watched.progress()));
        self.context.on_batch(self.batch_listener(progress));
        let work = async move { context.execute(&statement).await };
        let done = self.interrupts.or_aborted(&self.workers, work).await;
        self.context.on_batch(None);
        Ok(done??)
    }
}

impl Runner {
    /// Shows what a statement will scan and write, where the prompt asks for it.
    async fn show_plan(&self, statement: &str) -> Result<Vec<String>> {
        match &self.display {
            Some(display) if display.explain => {
                let (context, statement) = (self.context.clone(), statement.to_owned());
                let lines = async move { plan_lines::of(&context, &statement).await };
                self.interrupts.or_aborted(&self.workers, lines).await
            }
            _ => Ok(vec![]),
        }
    }

    /// A line on standard error for each batch of a query that is waited for.
    fn batch_listener(&self, progress: Arc<ProgressLine>) -> Option<BatchListener> {
        let told = !self.console.is_quiet();
        told.then(|| Arc::new(move |batch: &Batch| progress.aside(|| eprintln!("{batch}"))) as _)
    }

    fn progress(&self, read: impl Fn() -> Option<Progress> + Send + 'static) -> ProgressLine {
        match self.console.shows_progress() {
            true => ProgressLine::watch(read),
            false => ProgressLine::silent(),
        }
    }

    fn print_write(&mut self, report: &WriteReport) -> Result<()> {
        for warning in &report.committed.warnings {
            self.console.warning(warning);
        }
        let timed = self.display.as_ref().is_none_or(|display| display.timing);
        match self.console.format() {
            Format::Json | Format::NdJson => Ok(writeln!(self.console.out(), "{}", report.json())?),
            _ if timed => self.console.notice(&report.line()),
            _ => self.console.notice(&report.untimed_line()),
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

/// What was done stays done where its line can't be printed: says so.
fn done_unsaid(line: &str, why: Failure) -> Failure {
    Failure::new(
        why.status,
        format!("the statement was done, only its output could not be written ({why}): {line}"),
    )
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
