//! One error type, its kind named by what the caller should do.

use std::error::Error as StdError;
use std::fmt;
use std::path::Path;

use datafusion::arrow::error::ArrowError;
use datafusion::common::DataFusionError;
pub use partwise_commit::ErrorKind;

/// What went wrong in a streaming query. Its `Display` names the thing and the way on.
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

    /// What is asked for can't be right as it stands.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// Stopped because data would be lost or doubled; nothing has changed.
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    /// Another instance of the query, or another writer, was first.
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

    /// The same error with its cause.
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// A failed operation on a file: `doing` is what was tried.
    pub(crate) fn io(doing: &str, path: &Path, error: std::io::Error) -> Self {
        Self::new(ErrorKind::Unavailable, format!("can't {doing} {}: {error}", path.display()))
            .with_source(error)
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

/// As a program shows it whose `main` returns the error.
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
        let (kind, message) = innermost(&error);
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

/// An error of ours below DataFusion's layers, where there is one; else its root.
fn innermost(error: &DataFusionError) -> (ErrorKind, String) {
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(inner) = cause {
        if let Some(ours) = inner.downcast_ref::<partwise_commit::Error>() {
            return (ours.kind(), ours.to_string());
        }
        if let Some(ours) = inner.downcast_ref::<Error>() {
            return (ours.kind, ours.message.clone());
        }
        cause = inner.source();
    }
    let root = error.find_root();
    let kind = match root {
        DataFusionError::NotImplemented(_) => ErrorKind::Unsupported,
        DataFusionError::ObjectStore(_) | DataFusionError::IoError(_) => ErrorKind::Unavailable,
        DataFusionError::Internal(_) => ErrorKind::Internal,
        _ => ErrorKind::Invalid,
    };
    (kind, root.message().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_survives_the_way_through_datafusion() {
        let refused = Error::refused("the sink was used by another query");
        let error = Error::from(DataFusionError::from(refused).context("sink"));
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert_eq!(error.to_string(), "the sink was used by another query");
    }
}
