//! What the demo prints, and what it counts while doing so.

use std::io::Write;
use std::time::Duration;

use partwise_sql::counted;

use super::compare::Comparison;
use super::data::Data;
use crate::figures::Figures;
use crate::number::seconds;
use crate::output::Console;
use crate::status::{Failure, Result};

/// Characters of a statement that are shown.
const STATEMENT_WIDTH: usize = 92;

/// The demo's output.
pub(super) struct Page {
    console: Console,
    style: Style,
    /// The heading over what the figures are compared with.
    expected_heading: String,
    compared: u64,
    wrong: Vec<String>,
    lesson: String,
    last_time: Duration,
}

impl Page {
    pub(super) fn new(console: Console, figures: &Figures) -> Self {
        let expected_heading = match figures.are_published() {
            true => "published".to_owned(),
            false => "at this scale".to_owned(),
        };
        let style = Style::for_console(&console);
        Self {
            console,
            style,
            expected_heading,
            compared: 0,
            wrong: Vec::new(),
            lesson: String::new(),
            last_time: Duration::ZERO,
        }
    }

    pub(super) fn console(&mut self) -> &mut Console {
        &mut self.console
    }

    pub(super) fn opening(&mut self, data: &Data, lake: &str) -> Result<()> {
        let kind = match data.is_synthetic {
            true => "synthetic trips, calibrated to the published figures",
            false => "trip files as they were found, not made here",
        };
        self.line(&format!("data    {}: {kind}", data.folder.display()))?;
        self.line(&format!("tables  {lake}"))
    }

    pub(super) fn title(&mut self, number: usize, title: &str) -> Result<()> {
        self.lesson = format!("{number}  {title}");
        let title = self.style.bold(&self.lesson);
        self.line(&format!("\n{title}"))
    }

    /// The statement on one line, cut where it gets long.
    pub(super) fn statement(&mut self, text: &str) -> Result<()> {
        let text = one_line(text, STATEMENT_WIDTH);
        let text = self.style.dim(&text);
        self.line(&format!("   > {text}"))
    }

    pub(super) fn time(&mut self, elapsed: Duration) {
        self.last_time = elapsed;
    }

    pub(super) fn said(&mut self, message: Option<&str>) -> Result<()> {
        match message {
            Some(message) => self.line(&format!("     {message}")),
            None => Ok(()),
        }
    }

    pub(super) fn stopped(&mut self, message: &str) -> Result<()> {
        self.line(&format!("     stopped: {message}"))
    }

    pub(super) fn unexpected(&mut self, message: &str) -> Result<()> {
        self.compared += 1;
        self.wrong.push(format!("{}: {message}", self.lesson));
        let wrong = self.style.wrong();
        self.line(&format!("     {wrong} {message}"))
    }

    pub(super) fn comparisons(&mut self, all: &[Comparison]) -> Result<()> {
        if all.iter().any(|one| !matches!(one, Comparison::Text { .. })) {
            let time = seconds(self.last_time);
            let heading =
                format!("     {time:<28} {:>16}   {:>16}", "computed", self.expected_heading);
            let heading = self.style.dim(&heading);
            self.line(&heading)?;
        }
        all.iter().try_for_each(|one| self.comparison(one))
    }

    fn comparison(&mut self, one: &Comparison) -> Result<()> {
        self.compared += u64::from(!matches!(one, Comparison::Kept { .. }));
        let verdict = match one.agrees() {
            true => self.style.tick(),
            false => self.style.wrong(),
        };
        let (line, name) = match one {
            Comparison::Figure { label, computed, expected, .. } => {
                (format!("     {label:<28} {computed:>16}   {expected:>16}  {verdict}"), label)
            }
            Comparison::Kept { label, computed } => {
                (format!("     {label:<28} {computed:>16}"), label)
            }
            Comparison::Text { text, .. } => (format!("     {text:<64}  {verdict}"), text),
        };
        if !one.agrees() {
            self.wrong.push(format!("{}: {name}", self.lesson));
        }
        self.line(&line)
    }

    pub(super) fn lesson_end(&mut self, elapsed: Duration) -> Result<()> {
        self.line(&format!("   {}", seconds(elapsed)))
    }

    /// The sum of it all.
    ///
    /// # Errors
    /// Exit status 1 when anything differs.
    pub(super) fn closing(&mut self, elapsed: Duration, lake: &str) -> Result<()> {
        let compared = counted(self.compared, "figure");
        let time = seconds(elapsed);
        if self.wrong.is_empty() {
            self.line(&format!("\n{compared} compared, all equal, {time}"))?;
            return self.line(&format!("look around: partwise --lake {lake}"));
        }
        self.line(&format!("\n{compared} compared, {time}; these differ:"))?;
        for wrong in std::mem::take(&mut self.wrong) {
            self.line(&format!("   {wrong}"))?;
        }
        Err(Failure::failed("the lessons did not come out as expected"))
    }

    fn line(&mut self, text: &str) -> Result<()> {
        writeln!(self.console.out(), "{text}")?;
        Ok(self.console.out().flush()?)
    }
}

/// Emphasis where there is a terminal that shows it.
struct Style {
    colours: bool,
}

impl Style {
    fn for_console(console: &Console) -> Self {
        Self { colours: console.is_terminal() && std::env::var_os("NO_COLOR").is_none() }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        match self.colours {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        }
    }

    fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    fn dim(&self, text: &str) -> String {
        self.paint("2", text)
    }

    fn tick(&self) -> String {
        self.paint("32", "\u{2713}")
    }

    fn wrong(&self) -> String {
        self.paint("31;1", "WRONG")
    }
}

fn one_line(text: &str, width: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.chars().count() > width {
        true => line.chars().take(width - 3).chain("...".chars()).collect(),
        false => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_statement_is_cut() {
        assert_eq!(one_line("SELECT\n  1", 20), "SELECT 1");
        assert_eq!(one_line("SELECT a, b, c, d FROM t", 12), "SELECT a,...");
    }
}
