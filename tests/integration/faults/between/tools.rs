//! Other tools that write, each in a session of its own that does what it is told.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use crate::support::process::Process;
use partwise_testkit::python;

const SESSION: &str = include_str!("tools.py");

/// The values in each partition, in order.
pub type Content = BTreeMap<String, Vec<i64>>;

/// What a tool does to the partition `a`; its own row is 77.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// A file beside those that are there.
    Append,
    /// Its file alone.
    Overwrite,
    /// Its file under the name that its first one had; others stay.
    Reuse,
    /// The directory goes.
    Delete,
}

/// A session of a tool.
pub struct Tool {
    /// `duckdb`, `polars`, `pyarrow` or `spark`.
    pub name: &'static str,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    process: Option<Process>,
}

impl Tool {
    /// None without Python.
    pub fn start(name: &'static str) -> Option<Self> {
        let mut command = Command::new(python()?);
        command.args(["-c", SESSION, name]).env("PYTHONWARNINGS", "ignore").stdin(Stdio::piped());
        let mut process = Process::start(command);
        let (input, output) = process.pipes();
        let output = BufReader::new(output);
        let mut tool = Self { name, input: Some(input), output, process: Some(process) };
        assert_eq!(tool.line(), "ready");
        Some(tool)
    }

    /// Makes a table with 1 in `a` and 2 in `b`.
    pub fn make(&mut self, table: &Path) {
        self.tell("make", table);
    }

    /// What it can do: Spark names no file twice.
    pub fn acts(&self) -> &'static [Act] {
        let acts = &[Act::Append, Act::Overwrite, Act::Delete, Act::Reuse];
        if self.name == "spark" { &acts[..3] } else { acts }
    }

    pub fn act(&mut self, act: Act, table: &Path) {
        let verb = match act {
            Act::Append => "append",
            Act::Overwrite => "overwrite",
            Act::Reuse => "reuse",
            Act::Delete => "delete",
        };
        self.tell(verb, table);
    }

    /// What it finds in the table.
    pub fn read(&mut self, table: &Path) -> Content {
        let rows = self.tell("read", table);
        let rows = rows.split(';').filter_map(|row| row.split_once('='));
        content(rows.map(|(p, v)| (p.to_owned(), v.parse().expect("a number"))))
    }

    fn tell(&mut self, verb: &str, table: &Path) -> String {
        let input = self.input.as_mut().expect("an open session");
        writeln!(input, "{verb} {}", table.display()).expect("the session listens");
        self.line()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("an answer");
        if !line.ends_with('\n') {
            let process = self.process.take().expect("an open session");
            panic!("{} ended: {}", self.name, process.end().err);
        }
        line.trim_end().to_owned()
    }
}

impl Drop for Tool {
    /// It is asked to end, so that Spark tidies up.
    fn drop(&mut self) {
        drop(self.input.take());
        if let Some(process) = self.process.take().filter(|_| !std::thread::panicking()) {
            process.end();
        }
    }
}

/// Rows by partition.
pub fn content(rows: impl Iterator<Item = (String, i64)>) -> Content {
    let mut content = Content::new();
    for (partition, value) in rows {
        content.entry(partition).or_default().push(value);
    }
    content.values_mut().for_each(|values| values.sort_unstable());
    content
}
