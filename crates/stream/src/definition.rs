//! What the statements say, as types: `CREATE STREAM` and `START QUERY` map straight onto them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use datafusion::arrow::datatypes::SchemaRef;

use crate::{Error, Result};

/// A stream: `CREATE STREAM name (columns, WATERMARK FOR ts AS ts - INTERVAL ..) FROM kind 'path'
/// OPTIONS (..)`.
#[derive(Clone, PartialEq)]
pub struct StreamDefinition {
    /// The name that queries read it by.
    pub name: String,
    /// The kind of its source, `FILES`, `RATE` or what a connector brings; case doesn't count.
    pub kind: String,
    /// Where the source is, for kinds that are somewhere.
    pub path: Option<String>,
    /// The source's options by lower-case name.
    pub options: BTreeMap<String, String>,
    /// The declared columns; none: the source tells them.
    pub columns: Option<SchemaRef>,
    /// The event time and how late a row may be.
    pub watermark: Option<Watermark>,
}

impl StreamDefinition {
    /// A stream of a kind of source, with nothing else said.
    pub fn new(name: impl Into<String>, kind: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            kind: kind.into(),
            path: None,
            options: BTreeMap::new(),
            columns: None,
            watermark: None,
        }
    }

    /// A stream of the files that arrive in a folder.
    pub fn files(name: impl Into<String>, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..Self::new(name, "FILES") }
    }

    /// Sets an option.
    #[must_use]
    pub fn option(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.insert(name.into().to_ascii_lowercase(), value.into());
        self
    }

    /// Declares the columns.
    #[must_use]
    pub fn columns(mut self, columns: SchemaRef) -> Self {
        self.columns = Some(columns);
        self
    }

    /// Declares the event time and how late a row may be.
    #[must_use]
    pub fn watermark(mut self, column: impl Into<String>, delay: Duration) -> Self {
        self.watermark = Some(Watermark { column: column.into(), delay });
        self
    }
}

/// Options by name alone: passwords are among the values.
impl fmt::Debug for StreamDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamDefinition")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("path", &self.path)
            .field("options", &self.options.keys())
            .field("columns", &self.columns)
            .field("watermark", &self.watermark)
            .finish()
    }
}

/// `WATERMARK FOR column AS column - delay`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watermark {
    /// The column with the event time.
    pub column: String,
    /// How far the watermark stays behind the highest event time seen.
    pub delay: Duration,
}

/// A query to be started: all that `START QUERY` says but its `SELECT`.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryDefinition {
    /// The query's name; in a session, one at a time runs under it.
    pub name: String,
    /// What each batch gives out.
    pub mode: OutputMode,
    /// When batches run.
    pub trigger: Trigger,
    /// The checkpoint's folder.
    pub checkpoint: PathBuf,
    /// Where the rows go.
    pub sink: SinkDefinition,
}

/// `INTO kind target PARTITIONED BY (..) KEYS (..) OPTIONS (..)`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SinkDefinition {
    /// `TABLE`, `MEMORY`, `CONSOLE` or what a connector brings; case doesn't count.
    pub kind: String,
    /// The table or name it writes to.
    pub target: Option<String>,
    /// Partition columns of a table that is made.
    pub partitioned_by: Vec<String>,
    /// The columns that tell rows apart; empty: the group columns.
    pub keys: Vec<String>,
    /// The sink's options by lower-case name.
    pub options: BTreeMap<String, String>,
}

/// A part of a [`SinkDefinition`] that not every sink has a use for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clause {
    /// A table or a name behind the kind.
    Target,
    /// `PARTITIONED BY (..)`.
    PartitionedBy,
    /// `KEYS (..)`.
    Keys,
    /// `OPTIONS (..)`, and `LOCATION`, which is one of them.
    Options,
}

impl SinkDefinition {
    /// Refuses clauses that the sink would pass over in silence.
    ///
    /// # Errors
    /// The first of them that is there.
    pub fn refuse(&self, clauses: &[Clause]) -> Result<()> {
        let given = |clause: &&Clause| match clause {
            Clause::Target => self.target.is_some(),
            Clause::PartitionedBy => !self.partitioned_by.is_empty(),
            Clause::Keys => !self.keys.is_empty(),
            Clause::Options => !self.options.is_empty(),
        };
        let Some(clause) = clauses.iter().find(given) else { return Ok(()) };
        let option = self.options.keys().next().map_or("", String::as_str);
        Err(Error::invalid(match clause {
            Clause::Target => format!("INTO {} takes no name: leave it out", self.kind),
            Clause::PartitionedBy => format!("INTO {} has no partitions", self.kind),
            Clause::Keys => format!("INTO {} replaces no rows: leave KEYS out", self.kind),
            Clause::Options => {
                format!("INTO {} has no option '{option}', nor any other", self.kind)
            }
        }))
    }
}

/// Options by name alone: passwords are among the values.
impl fmt::Debug for SinkDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SinkDefinition")
            .field("kind", &self.kind)
            .field("target", &self.target)
            .field("partitioned_by", &self.partitioned_by)
            .field("keys", &self.keys)
            .field("options", &self.options.keys())
            .finish()
    }
}

/// What each batch gives out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutputMode {
    /// Rows that will never change: with an aggregate, a window once the watermark has passed its
    /// end.
    #[default]
    Append,
    /// The groups that changed in the batch, with their current values.
    Update,
    /// The whole result.
    Complete,
}

impl OutputMode {
    /// The word in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Append => "append",
            Self::Update => "update",
            Self::Complete => "complete",
        }
    }
}

impl fmt::Display for OutputMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for OutputMode {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let all = [Self::Append, Self::Update, Self::Complete];
        all.into_iter().find(|mode| mode.name().eq_ignore_ascii_case(text)).ok_or_else(|| {
            Error::invalid(format!("OUTPUT MODE {text}: it is append, update or complete"))
        })
    }
}

/// When batches run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trigger {
    /// All that is there when the query starts, in as many batches as the source's limits make;
    /// then the query ends.
    #[default]
    AvailableNow,
    /// A batch each time this has passed, or as soon as the last one is done; until stopped.
    Every(Duration),
    /// One batch; then the query ends.
    Once,
}

impl Trigger {
    /// Whether the query goes on until it is stopped.
    pub fn is_endless(self) -> bool {
        matches!(self, Self::Every(_))
    }
}

/// As SQL has it: `EVERY '5 seconds'`.
impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AvailableNow => f.write_str("AVAILABLE NOW"),
            Self::Once => f.write_str("ONCE"),
            Self::Every(every) if every.subsec_nanos() == 0 => {
                write!(f, "EVERY '{} seconds'", every.as_secs())
            }
            Self::Every(every) => write!(f, "EVERY '{} milliseconds'", every.as_millis()),
        }
    }
}
