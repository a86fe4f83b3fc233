//! One error type, its kind named by what the caller should do.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::path::Path;

use object_store::path::Path as StorePath;

/// What the caller should do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request can't be right as it stands: mend it.
    Invalid,
    /// Stopped by a guard or a declared scope: nothing changed; say that it is meant, or mend it.
    Refused,
    /// Another writer won: plan the statement again on the new state and run it again.
    Conflict,
    /// Other writers held the table for longer than this one waits: run the statement again later.
    Busy,
    /// A disk or store could not be reached: try again later.
    Unavailable,
    /// What is on disk can't be right: look at the named file.
    Corrupt,
    /// Right, but this table, disk, store or version can't do it: use the way named in the message.
    Unsupported,
    /// A defect of Partwise: report it.
    Internal,
}

/// A failure of the commit protocol. Its `Display` names the thing and the way on; the cause is
/// kept as `source()`.
pub struct Error {
    kind: ErrorKind,
    message: String,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// The result of every fallible function in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error of `kind` that says `message`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// The same error with its cause.
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// An error of kind [`ErrorKind::Invalid`].
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// An error of kind [`ErrorKind::Refused`].
    pub fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    /// An error of kind [`ErrorKind::Conflict`].
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// An error of kind [`ErrorKind::Busy`].
    pub fn busy(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Busy, message)
    }

    /// An error of kind [`ErrorKind::Unavailable`].
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    /// An error of kind [`ErrorKind::Corrupt`].
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// An error of kind [`ErrorKind::Unsupported`].
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// An error of kind [`ErrorKind::Internal`].
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// A failed operation of a disk: `doing` is what was tried, `path` on what.
    pub(crate) fn io(doing: &str, path: &Path, error: io::Error) -> Self {
        Self::unavailable(format!("can't {doing} {}", path.display())).with_source(error)
    }

    /// A failed operation of an object store.
    pub(crate) fn store(doing: &str, key: &StorePath, error: object_store::Error) -> Self {
        use object_store::Error as E;
        let kind = match error {
            E::NotImplemented { .. } | E::NotSupported { .. } => ErrorKind::Unsupported,
            E::InvalidPath { .. } => ErrorKind::Invalid,
            _ => ErrorKind::Unavailable,
        };
        Self::new(kind, format!("can't {doing} {key}")).with_source(error)
    }

    /// What the caller should do.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The message without its cause.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.kind)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.source.as_ref().map(|s| s.as_ref() as &(dyn StdError + 'static))
    }
}
