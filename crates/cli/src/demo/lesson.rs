//! The lessons, and the walk through one of them.

use std::collections::BTreeMap;
use std::time::Instant;

use futures::TryStreamExt;
use partwise_sql::{Execution, PartwiseContext, ScriptStatement, split_statements, substitute};

use super::compare::{Comparison, Grid, compare_rows, compare_texts};
use super::page::Page;
use crate::directive::Expectations;
use crate::figures::Figures;
use crate::interrupt::Interrupts;
use crate::status::{Failure, Result, Status};

/// One script of `sql/`.
pub(super) struct Lesson {
    pub file: &'static str,
    pub text: &'static str,
}

macro_rules! lessons {
    ($($file:literal),* $(,)?) => {
        [$(Lesson { file: $file, text: include_str!(concat!("../../../../sql/", $file)) }),*]
    };
}

/// The lessons, in the order they are walked through.
pub(super) const LESSONS: [Lesson; 8] = lessons![
    "01_report.sql",
    "02_save_modes.sql",
    "03_append.sql",
    "04_full_rebuild.sql",
    "05_static_overwrite.sql",
    "06_dynamic_overwrite.sql",
    "07_straggler_trap.sql",
    "08_one_day.sql",
];

/// What the lessons are walked through with.
pub(super) struct Walk<'a> {
    pub figures: &'a Figures,
    pub variables: BTreeMap<String, String>,
    pub interrupts: Interrupts,
    pub page: Page,
}

/// What a statement gave.
enum Outcome {
    Rows(Grid),
    Said(Option<String>),
    Failed(Failure),
}

impl Walk<'_> {
    /// Runs one lesson in a session of its own. A statement that fails unexpectedly ends the
    /// lesson, not the demo.
    ///
    /// # Errors
    /// The demo was cancelled, its output can't be written, or the script itself is wrong.
    pub(super) async fn lesson(
        &mut self,
        number: usize,
        lesson: &Lesson,
        context: PartwiseContext,
    ) -> Result<()> {
        let started = Instant::now();
        let statements = split_statements(lesson.text)?;
        self.page.title(number, title_of(&statements))?;
        for statement in &statements {
            let place = Some(format!("{}:{}", lesson.file, statement.line));
            let as_expected = self.statement(statement, &context).await;
            if !as_expected.map_err(|failure| failure.at(place))? {
                break;
            }
        }
        self.page.lesson_end(started.elapsed())
    }

    /// Runs one statement and compares; `false` when it failed unexpectedly.
    async fn statement(
        &mut self,
        statement: &ScriptStatement,
        context: &PartwiseContext,
    ) -> Result<bool> {
        let expected = Expectations::read(&statement.comments_before).map_err(Failure::failed)?;
        self.page.statement(&statement.text)?;
        let started = Instant::now();
        let outcome = self.execute(&statement.text, context).await?;
        self.page.time(started.elapsed());
        match outcome {
            Outcome::Failed(failure) if !expected.expects_error() => {
                self.page.unexpected(&failure.message)?;
                return Ok(false);
            }
            Outcome::Failed(failure) => {
                self.page.stopped(&failure.message)?;
                self.texts(&expected.errors, &failure.message)?;
            }
            Outcome::Said(_) | Outcome::Rows(_) if expected.expects_error() => {
                self.page.unexpected("it succeeded, but should have been stopped")?;
            }
            Outcome::Said(message) => self.page.said(message.as_deref())?,
            Outcome::Rows(grid) => self.rows(&expected, &grid)?,
        }
        Ok(true)
    }

    fn rows(&mut self, expected: &Expectations, grid: &Grid) -> Result<()> {
        let rows = compare_rows(&expected.rows, grid, self.figures).map_err(Failure::failed)?;
        self.page.comparisons(&rows)?;
        self.texts(&expected.contains, &grid.text())
    }

    fn texts(&mut self, expected: &[crate::directive::Template], text: &str) -> Result<()> {
        let texts: Vec<Comparison> =
            compare_texts(expected, text, self.figures).map_err(Failure::failed)?;
        self.page.comparisons(&texts)
    }

    /// Runs a statement to its end; the rows of the lessons are few.
    async fn execute(&self, text: &str, context: &PartwiseContext) -> Result<Outcome> {
        let statement = substitute(text, &self.variables)?;
        let context = context.clone();
        let work = async move { drained(context.execute(&statement).await?).await };
        match self.interrupts.or_aborted(work).await? {
            Ok(outcome) => Ok(outcome),
            Err(error) => {
                let failure = Failure::from(error);
                match failure.status {
                    Status::Interrupted => Err(failure),
                    _ => Ok(Outcome::Failed(failure)),
                }
            }
        }
    }
}

async fn drained(execution: Execution) -> Result<Outcome, partwise_sql::Error> {
    match execution {
        Execution::Rows(rows) => {
            let batches: Vec<_> = rows.stream.try_collect().await?;
            Ok(Outcome::Rows(Grid::of(&rows.schema, &batches)))
        }
        Execution::Wrote(report) => Ok(Outcome::Said(Some(report.line()))),
        Execution::Done(message) => Ok(Outcome::Said(message)),
    }
}

/// The first comment line of a script is its title.
fn title_of(statements: &[ScriptStatement]) -> &str {
    let first = statements.first().and_then(|statement| statement.comments_before.first());
    first.map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lesson_has_a_title_and_its_directives_name_figures() {
        let figures = Figures::at_scale(1.0).unwrap();
        for lesson in &LESSONS {
            let statements = split_statements(lesson.text).unwrap();
            assert!(title_of(&statements).contains(':'), "{}", lesson.file);
            for statement in &statements {
                let expected = Expectations::read(&statement.comments_before).unwrap();
                for cell in expected.rows.iter().flatten() {
                    cell.number(&figures).unwrap();
                }
                for text in expected.contains.iter().chain(&expected.errors) {
                    text.filled(&figures).unwrap();
                }
            }
        }
    }

    #[test]
    fn every_script_of_the_folder_is_a_lesson() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sql");
        let mut found: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        found.sort();
        assert_eq!(found, LESSONS.iter().map(|lesson| lesson.file).collect::<Vec<_>>());
    }
}
