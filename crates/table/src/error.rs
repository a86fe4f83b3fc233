//! The error of everything above the commit protocol, and its way through DataFusion.

use std::error::Error as StdError;
use std::fmt;
use std::path::Path;

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
pub use partwise_commit::ErrorKind;

/// What went wrong in a statement or a streaming query: the innermost cause first, and what kind of
/// thing the caller can do about it. Its `Display` names the thing and the way on.
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of a kind, with a message that names the thing and the way on.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// What is asked for can't be right as it stands: change it.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// Stopped because data would be lost or doubled; nothing has changed.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    /// Another instance of a query, or another writer, was first.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// What is on disk can't be right.
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// Right, but not done by this version.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// A defect of Partwise.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// A failed operation on a file: `doing` is what was tried.
    pub fn io(doing: &str, path: &Path, error: std::io::Error) -> Self {
        Self::new(ErrorKind::Unavailable, format!("can't {doing} {}: {error}", path.display()))
            .with_source(error)
    }

    /// The same error with its cause.
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same error in other words.
    pub fn saying(self, message: impl Into<String>) -> Self {
        Self { message: message.into(), ..self }
    }

    /// What the caller can do about it.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// As a program shows it whose `main` returns the error: `Invalid: there is no table t`.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as &(dyn StdError + 'static))
    }
}

impl From<partwise_commit::Error> for Error {
    fn from(error: partwise_commit::Error) -> Self {
        Self::new(error.kind(), error.to_string()).with_source(error)
    }
}

impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Self {
        let (kind, message) = ours(&error).unwrap_or_else(|| innermost(&error));
        Self::new(kind, message).with_source(error)
    }
}

impl From<ArrowError> for Error {
    fn from(error: ArrowError) -> Self {
        DataFusionError::from(error).into()
    }
}

/// On the way through a trait of DataFusion's; [`Error::from`] finds it again.
impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        Self::External(Box::new(error))
    }
}

/// An error of ours below DataFusion's layers.
fn ours(error: &DataFusionError) -> Option<(ErrorKind, String)> {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(inner) = cause {
        if let Some(ours) = inner.downcast_ref::<partwise_commit::Error>() {
            return Some((ours.kind(), ours.to_string()));
        }
        if let Some(ours) = inner.downcast_ref::<Error>() {
            return Some((ours.kind, ours.message.clone()));
        }
        cause = inner.source();
    }
    None
}

/// The last cause that says something.
fn innermost(error: &DataFusionError) -> (ErrorKind, String) {
    let kind = match error.find_root() {
        DataFusionError::ResourcesExhausted(why) => {
            return (ErrorKind::Invalid, out_of_memory(why));
        }
        DataFusionError::NotImplemented(_) => ErrorKind::Unsupported,
        DataFusionError::ObjectStore(_) | DataFusionError::IoError(_) => ErrorKind::Unavailable,
        DataFusionError::Internal(_) => ErrorKind::Internal,
        _ => ErrorKind::Invalid,
    };
    let mut cause: &(dyn StdError + 'static) = error;
    while let Some(inner) = inner_of(cause) {
        cause = inner;
    }
    (kind, plain(&cause.to_string()))
}

fn out_of_memory(why: &str) -> String {
    format!(
        "the memory limit is too small for this statement: raise it, --memory-limit or \
         memory_limit_bytes, or run in fewer threads, which share it ({})",
        plain(why)
    )
}

fn inner_of<'a>(cause: &'a (dyn StdError + 'static)) -> Option<&'a (dyn StdError + 'static)> {
    match cause.downcast_ref::<DataFusionError>() {
        Some(DataFusionError::Collection(all)) => all.first().map(|e| e as _),
        Some(DataFusionError::Diagnostic(_, inner)) => Some(inner.as_ref()),
        Some(DataFusionError::Context(_, inner)) => Some(inner.as_ref()),
        Some(DataFusionError::Shared(inner)) => Some(inner.as_ref()),
        Some(DataFusionError::ArrowError(inner, _)) => Some(inner.as_ref()),
        Some(DataFusionError::External(inner)) => Some(inner.as_ref()),
        Some(_) => None,
        None => cause.source(),
    }
}

/// Takes off the words that only repeat which library spoke.
fn plain(message: &str) -> String {
    const PREFIXES: [&str; 13] = [
        "Error during planning: ",
        "Execution error: ",
        "Schema error: ",
        "SQL error: ",
        "Invalid or Unsupported Configuration: ",
        "External error: ",
        "Arrow error: ",
        "Parquet error: ",
        "Parser error: ",
        "Json error: ",
        "Object Store error: ",
        "This feature is not implemented: ",
        "External: ",
    ];
    let mut text = message.trim();
    while let Some(rest) = PREFIXES.iter().find_map(|p| text.strip_prefix(p)) {
        text = rest.trim();
    }
    let text = text.trim_start_matches("ParserError(\"").trim_end_matches("\")");
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    lines.join(" ").replace("datafusion.public.", "")
}

/// A commit error as DataFusion's; [`Error::from`] finds it again.
pub(crate) fn external(error: partwise_commit::Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

/// A DataFusion error as the cause of a commit error of kind `Invalid` that says `message`.
pub(crate) fn invalid(
    message: impl Into<String>,
    cause: DataFusionError,
) -> partwise_commit::Error {
    partwise_commit::Error::invalid(message).with_source(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_cause_is_said_first() {
        let inner = DataFusionError::Execution("division by zero".into());
        let error = Error::from(inner.context("while reading").context("while writing"));
        assert_eq!(error.to_string(), "division by zero");
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }

    #[test]
    fn a_main_that_returns_the_error_prints_kind_and_message() {
        let error = Error::from(DataFusionError::Plan("no column x".into()));
        assert_eq!(format!("{error:?}"), "Invalid: no column x");
    }

    #[test]
    fn memory_that_runs_out_says_what_to_raise() {
        let error = DataFusionError::ResourcesExhausted("Failed to allocate 3.1 MB".into());
        let said = Error::from(error.context("sort")).to_string();
        assert!(said.contains("--memory-limit") && said.contains("3.1 MB"), "{said}");
    }

    #[test]
    fn a_kind_survives_the_way_through_datafusion() {
        let refused = Error::refused("would shrink a=1");
        let error = Error::from(DataFusionError::from(refused).context("sink"));
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert_eq!(error.to_string(), "would shrink a=1");
    }
}
