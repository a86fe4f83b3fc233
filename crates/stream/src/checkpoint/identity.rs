//! Whose checkpoint it is: the query's id and fingerprint.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::lock::now_ms;
use crate::{Error, Result};

/// The format of checkpoints.
const FORMAT: u32 = 1;

/// Name and version of this engine.
const ENGINE: &str = concat!("partwise ", env!("CARGO_PKG_VERSION"));

/// What stands in `query.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Identity {
    format: u32,
    pub id: String,
    name: String,
    engine: String,
    created_ms: i64,
    fingerprint: Fingerprint,
}

/// What a state and a sink's rows depend on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fingerprint {
    /// Where the rows come from.
    pub source: String,
    /// The stream's columns that are read, with their types: compared where the same engine wrote
    /// it.
    pub input: Vec<String>,
    /// The event time.
    pub watermark: Option<String>,
    /// The group columns, in order.
    pub groups: Vec<String>,
    /// The aggregates, in order.
    pub aggregates: Vec<String>,
    /// The columns of the result, with their types.
    pub columns: Vec<String>,
    /// The output mode.
    pub mode: String,
    /// Where the rows go.
    pub sink: String,
    /// The columns that tell rows apart.
    pub keys: Vec<String>,
    /// The plan as it was asked: compared where the same engine wrote it.
    pub plan: String,
}

impl Identity {
    /// A new query's.
    pub fn new(name: &str, fingerprint: Fingerprint) -> Self {
        Self {
            format: FORMAT,
            id: uuid::Uuid::new_v4().to_string(),
            name: name.to_owned(),
            engine: ENGINE.to_owned(),
            created_ms: now_ms(),
            fingerprint,
        }
    }

    /// Whether it is of a format that is known.
    pub fn is_known(&self) -> bool {
        self.format == FORMAT
    }

    /// Whether this version of the engine wrote it.
    pub fn is_current(&self) -> bool {
        self.engine == ENGINE
    }

    /// The same as this version of the engine writes it, of a query that may be corrected before its
    /// first batch.
    pub fn with(self, name: &str, fingerprint: Fingerprint) -> Self {
        Self { name: name.to_owned(), fingerprint, engine: ENGINE.to_owned(), ..self }
    }

    /// Checks that the checkpoint is this query's.
    ///
    /// # Errors
    /// What is another, and the ways on.
    pub fn check(&self, dir: &Path, name: &str, now: &Fingerprint) -> Result<()> {
        let dir = dir.display();
        if self.format > FORMAT {
            return Err(Error::unsupported(format!(
                "the checkpoint {dir} was written by {}, a newer version, in format {}: use that \
                 version",
                self.engine, self.format
            )));
        }
        if self.name != name {
            return Err(Error::refused(format!(
                "the checkpoint {dir} belongs to the query {}, not to {name}: give {name} a \
                 CHECKPOINT of its own, or start {0}",
                self.name
            )));
        }
        match self.fingerprint.difference(now, self.is_current()) {
            None => Ok(()),
            Some(difference) => Err(Error::refused(format!(
                "the query {name} has changed since its checkpoint {dir} was made: {difference}. \
                 What the checkpoint holds is of the query as it was. Run it as it was, or start \
                 the new one under a new name with a new CHECKPOINT: it reads its source from the \
                 beginning"
            ))),
        }
    }
}

impl Fingerprint {
    /// In words, the first thing that differs.
    fn difference(&self, now: &Self, same_engine: bool) -> Option<String> {
        let lists = [
            ("its group columns", &self.groups, &now.groups),
            ("its aggregates", &self.aggregates, &now.aggregates),
            ("its result's columns", &self.columns, &now.columns),
            ("its keys", &self.keys, &now.keys),
        ];
        let texts = [
            ("its source", &self.source, &now.source),
            ("its output mode", &self.mode, &now.mode),
            ("its sink", &self.sink, &now.sink),
        ];
        let watermark = |of: &Self| of.watermark.clone().unwrap_or_else(|| "none".to_owned());
        let said = |what: &str, was: &str, is: &str| Some(format!("{what}: was {was}, is {is}"));
        if let Some((what, was, is)) = texts.iter().find(|(_, was, is)| was != is) {
            return said(what, was, is);
        }
        if let Some((what, was, is)) = lists.iter().find(|(_, was, is)| was != is) {
            return said(what, &list(was), &list(is));
        }
        if self.watermark != now.watermark {
            return said("its event time", &watermark(self), &watermark(now));
        }
        // What an optimizer makes of a query may change from version to version.
        if same_engine && self.input != now.input {
            return said("the columns it reads", &list(&self.input), &list(&now.input));
        }
        if same_engine && self.plan != now.plan {
            let (was, is) = first_difference(&self.plan, &now.plan);
            return said("its plan", &was, &is);
        }
        None
    }
}

fn list(items: &[String]) -> String {
    format!("({})", items.join(", "))
}

/// The first lines that differ.
fn first_difference(was: &str, is: &str) -> (String, String) {
    let (mut was, mut is) = (was.lines(), is.lines());
    loop {
        match (was.next(), is.next()) {
            (Some(a), Some(b)) if a == b => {}
            (a, b) => {
                let line = |line: Option<&str>| line.unwrap_or("nothing").trim().to_owned();
                return (line(a), line(b));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swapped_group_columns_are_named() {
        let of = |groups: [&str; 2]| Fingerprint {
            groups: groups.map(str::to_owned).to_vec(),
            ..Fingerprint::default()
        };
        let was = Identity::new("q", of(["a", "b"]));
        assert!(was.check(Path::new("ck"), "q", &of(["a", "b"])).is_ok());
        let error = was.check(Path::new("ck"), "q", &of(["b", "a"])).expect_err("swapped");
        let said = error.to_string();
        assert!(said.contains("its group columns: was (a, b), is (b, a)"), "{said}");
        assert!(said.contains("new CHECKPOINT"), "{said}");
    }
}
