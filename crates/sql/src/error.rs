use std::fmt;

use datafusion::common::DataFusionError;
pub use partwise_commit::ErrorKind;

/// What went wrong in a statement: the innermost cause first, and what kind of thing the caller
/// can do about it.
///
/// ```
/// use partwise::datafusion::prelude::SessionContext;
/// use partwise::{ErrorKind, SaveMode, WritePartitioned};
///
/// # #[tokio::main]
/// # async fn main() -> partwise::Result<()> {
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let path = folder.path().join("lake/report");
/// # let session = SessionContext::new();
/// # let many = session.sql("SELECT value AS n, '2024-01' AS month FROM generate_series(1, 100)").await?;
/// # many.write_partitioned(&path).partition_by(["month"]).save().await?;
/// let stragglers = session.sql("SELECT 1 AS n, '2024-01' AS month").await?;
/// let write = stragglers.write_partitioned(&path).mode(SaveMode::Overwrite);
/// let error = write.save().await.expect_err("100 rows would become 1");
/// let exit = match error.kind() {
///     ErrorKind::Refused => 3,                    // stopped by the guard: nothing changed
///     ErrorKind::Conflict | ErrorKind::Busy => 4, // others write too: try again
///     _ => 1,
/// };
/// assert_eq!(exit, 3);
/// # Ok(())
/// # }
/// ```
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<DataFusionError>,
}

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of a kind, with a message that names the thing and the way on.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// The statement or a name in it is wrong: change it.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// The statement is understood but this version doesn't do it.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// The same error in other words.
    pub(crate) fn saying(self, words: Self) -> Self {
        Self { message: words.message, ..self }
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

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|e| e as _)
    }
}

impl From<partwise_commit::Error> for Error {
    fn from(error: partwise_commit::Error) -> Self {
        let (kind, message) = (error.kind(), error.to_string());
        Self { kind, message, source: Some(DataFusionError::External(Box::new(error))) }
    }
}

impl From<partwise_stream::Error> for Error {
    fn from(error: partwise_stream::Error) -> Self {
        let (kind, message) = (error.kind(), plain(&error.to_string()));
        Self { kind, message, source: Some(error.into()) }
    }
}

/// So that a sink of ours can be made within a trait of the streams'.
impl From<Error> for partwise_stream::Error {
    fn from(error: Error) -> Self {
        Self::new(error.kind, error.message.clone()).with_source(error)
    }
}

impl From<DataFusionError> for Error {
    fn from(error: DataFusionError) -> Self {
        let (kind, message) = innermost(&error);
        Self { kind, message, source: Some(error) }
    }
}

impl From<datafusion::arrow::error::ArrowError> for Error {
    fn from(error: datafusion::arrow::error::ArrowError) -> Self {
        DataFusionError::from(error).into()
    }
}

/// So that a planning step of ours can be called from within a DataFusion trait.
impl From<Error> for DataFusionError {
    fn from(error: Error) -> Self {
        match error.source {
            Some(source) => source,
            None => {
                let inner = partwise_commit::Error::new(error.kind, error.message);
                DataFusionError::External(Box::new(inner))
            }
        }
    }
}

/// Walks down to the first cause: an error of ours where there is one, else the last one that
/// says something.
fn innermost(error: &DataFusionError) -> (ErrorKind, String) {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    loop {
        if let Some(ours) = cause.downcast_ref::<partwise_commit::Error>() {
            return (ours.kind(), ours.to_string());
        }
        if let Some(ours) = cause.downcast_ref::<partwise_stream::Error>() {
            return (ours.kind(), ours.to_string());
        }
        if let Some(ours) = cause.downcast_ref::<Error>() {
            return (ours.kind, ours.message.clone());
        }
        match inner_of(cause) {
            Some(inner) => cause = inner,
            None => break,
        }
    }
    let kind = match error.find_root() {
        DataFusionError::ResourcesExhausted(why) => {
            return (ErrorKind::Invalid, out_of_memory(why));
        }
        DataFusionError::NotImplemented(_) => ErrorKind::Unsupported,
        DataFusionError::ObjectStore(_) | DataFusionError::IoError(_) => ErrorKind::Unavailable,
        DataFusionError::Internal(_) => ErrorKind::Internal,
        _ => ErrorKind::Invalid,
    };
    (kind, plain(&cause.to_string()))
}

fn out_of_memory(why: &str) -> String {
    format!(
        "the memory limit is too small for this statement: raise it, --memory-limit or \
         memory_limit_bytes, or run in fewer threads, which share it ({})",
        plain(why)
    )
}

fn inner_of<'a>(
    cause: &'a (dyn std::error::Error + 'static),
) -> Option<&'a (dyn std::error::Error + 'static)> {
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
    const PREFIXES: [&str; 11] = [
        "Error during planning: ",
        "Execution error: ",
        "Schema error: ",
        "SQL error: ",
        "Invalid or Unsupported Configuration: ",
        "External error: ",
        "Arrow error: ",
        "Parquet error: ",
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
        let refused = Error::new(ErrorKind::Refused, "would shrink a=1");
        let error = Error::from(DataFusionError::from(refused).context("sink"));
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert_eq!(error.to_string(), "would shrink a=1");
    }
}
