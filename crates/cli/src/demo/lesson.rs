//! The lessons, and the walk through one of them.

use std::collections::BTreeMap;
use std::time::Instant;

use futures::TryStreamExt;
use partwise_sql::{Execution, PartwiseContext, ScriptStatement, split_statements, substitute};

use super::compare::{Comparison, Grid, compare_bounds, compare_rows, compare_texts, keep};
use super::page::Page;
use crate::directive::{Expectations, Template, begins_after, makes_something};
use crate::figures::Figures;
use crate::interrupt::Interrupts;
use crate::number::seconds;
use crate::status::{Failure, Result, Status};
use crate::workers::Workers;

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
pub(super) const LESSONS: [Lesson; 18] = lessons![
    "01_report.sql",
    "02_save_modes.sql",
    "03_append.sql",
    "04_full_rebuild.sql",
    "05_static_overwrite.sql",
    "06_dynamic_overwrite.sql",
    "07_straggler_trap.sql",
    "08_one_day.sql",
    "09_two_months.sql",
    "10_append_trap.sql",
    "11_flat_and_shuffled.sql",
    "12_small_files.sql",
    "13_codecs.sql",
    "14_boroughs.sql",
    "15_two_levels.sql",
    "16_stream_to_table.sql",
    "17_stream_modes.sql",
    "18_stream_memory.sql",
];

/// What the lessons are walked through with.
pub(super) struct Walk {
    pub figures: Figures,
    pub variables: BTreeMap<String, String>,
    pub interrupts: Interrupts,
    pub workers: Workers,
    pub page: Page,
}

/// What a statement gave.
enum Outcome {
    Rows(Grid),
    Said(Option<String>),
    Failed(Failure),
}

impl Walk {
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
        if let Some(file) = begins_after(&statements) {
            self.after(file, &context).await?;
        }
        for statement in &statements {
            let place = Some(format!("{}:{}", lesson.file, statement.line));
            let as_expected = self.statement(statement, &context).await;
            if !as_expected.map_err(|failure| failure.at(place))? {
                break;
            }
        }
        self.page.lesson_end(started.elapsed())
    }

    /// Makes what the lesson before has made, without showing it again.
    async fn after(&mut self, file: &str, context: &PartwiseContext) -> Result<()> {
        let started = Instant::now();
        let lesson = LESSONS.iter().find(|lesson| lesson.file == file);
        let lesson = lesson.ok_or_else(|| Failure::failed(format!("there is no lesson {file}")))?;
        for statement in split_statements(lesson.text)?.iter().filter(|s| makes_something(s)) {
            if let Outcome::Failed(failure) = self.execute(&statement.text, context).await? {
                return self.page.unexpected(&format!("after {file}: {}", failure.message));
            }
        }
        self.page.said(Some(&format!("after {file}, {}", seconds(started.elapsed()))))
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
            Outcome::Said(message) => self.said(&expected, message.as_deref())?,
            Outcome::Rows(grid) => self.rows(&expected, &grid)?,
        }
        Ok(true)
    }

    /// What a write or a setting says; where a script expects rows of it, it is wrong.
    fn said(&mut self, expected: &Expectations, message: Option<&str>) -> Result<()> {
        self.page.said(message)?;
        if !(expected.rows.is_empty() && expected.bounds.is_empty() && expected.keeps.is_empty()) {
            self.page.unexpected("it gave no rows")?;
        }
        self.texts(&expected.contains, message.unwrap_or_default())
    }

    fn rows(&mut self, expected: &Expectations, grid: &Grid) -> Result<()> {
        let mut found = keep(&expected.keeps, grid, &mut self.figures).map_err(Failure::failed)?;
        let rows = compare_rows(&expected.rows, grid, &self.figures);
        found.extend(rows.map_err(Failure::failed)?);
        let bounds = compare_bounds(&expected.bounds, grid, &self.figures);
        found.extend(bounds.map_err(Failure::failed)?);
        self.page.comparisons(&found)?;
        self.texts(&expected.contains, &grid.text())
    }

    fn texts(&mut self, expected: &[Template], text: &str) -> Result<()> {
        let texts: Vec<Comparison> =
            compare_texts(expected, text, &self.figures).map_err(Failure::failed)?;
        self.page.comparisons(&texts)
    }

    /// Runs a statement to its end; the rows of the lessons are few.
    async fn execute(&self, text: &str, context: &PartwiseContext) -> Result<Outcome> {
        let statement = substitute(text, &self.variables)?;
        let context = context.clone();
        let work = async move { drained(context.execute(&statement).await?).await };
        match self.interrupts.or_aborted(&self.workers, work).await? {
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
    use crate::figures::Figure;

    #[test]
    fn every_lesson_has_a_title_and_its_directives_name_figures() {
        for lesson in &LESSONS {
            let mut figures = Figures::at_scale(1.0).unwrap();
            let statements = split_statements(lesson.text).unwrap();
            assert!(title_of(&statements).contains(':'), "{}", lesson.file);
            for statement in &statements {
                let expected = Expectations::read(&statement.comments_before).unwrap();
                for keep in &expected.keeps {
                    figures.keep(&keep.name, Figure::Count(0)).unwrap();
                }
                let limits = expected.bounds.iter().map(|bound| &bound.limit);
                for cell in expected.rows.iter().flatten().chain(limits) {
                    cell.number(&figures).unwrap();
                }
                for text in expected.contains.iter().chain(&expected.errors) {
                    text.filled(&figures).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_lesson_begins_after_an_earlier_one() {
        for (index, lesson) in LESSONS.iter().enumerate() {
            let statements = split_statements(lesson.text).unwrap();
            if let Some(file) = begins_after(&statements) {
                let found = LESSONS[..index].iter().find(|lesson| lesson.file == file);
                let earlier = split_statements(found.unwrap().text).unwrap();
                assert_eq!(begins_after(&earlier), None, "{file} would need its own");
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
