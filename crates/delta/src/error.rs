//! Errors of delta-rs, by what the caller should do.

use std::fmt::Display;

use deltalake::DeltaTableError;
use deltalake::kernel::transaction::{CommitConflictError, TransactionError};
use partwise_stream::{Error, ErrorKind};

/// An error of delta-rs about the table at `place`.
pub(crate) fn from_delta(place: &dyn Display, error: DeltaTableError) -> Error {
    let kind = kind_of(&error);
    let message = match kind {
        ErrorKind::Conflict => format!(
            "{place}: other writers were first, again and again; the query goes on from this batch \
             when it is started again"
        ),
        _ => format!("{place}: {error}"),
    };
    Error::new(kind, message).with_source(error)
}

fn kind_of(error: &DeltaTableError) -> ErrorKind {
    match error {
        error if is_conflict(error) => ErrorKind::Conflict,
        DeltaTableError::ObjectStore { .. } | DeltaTableError::Io { .. } => ErrorKind::Unavailable,
        DeltaTableError::InvalidJsonLog { .. } | DeltaTableError::InvalidStatsJson { .. } => {
            ErrorKind::Corrupt
        }
        DeltaTableError::UnsupportedColumnMapping { .. } => ErrorKind::Unsupported,
        DeltaTableError::Transaction { source } => match source {
            TransactionError::ObjectStore { .. } | TransactionError::LogStoreError { .. } => {
                ErrorKind::Unavailable
            }
            TransactionError::UnsupportedTableFeatures(_) => ErrorKind::Unsupported,
            _ => ErrorKind::Invalid,
        },
        _ => ErrorKind::Invalid,
    }
}

/// Whether another writer was first, so that all is to be done again on the newer snapshot.
fn is_conflict(error: &DeltaTableError) -> bool {
    use CommitConflictError as Lost;
    match error {
        DeltaTableError::VersionAlreadyExists(_) => true,
        DeltaTableError::Transaction { source } => matches!(
            source,
            TransactionError::VersionAlreadyExists(_)
                | TransactionError::MaxCommitAttempts(_)
                | TransactionError::CommitConflict(
                    Lost::ConcurrentAppend
                        | Lost::ConcurrentDeleteRead
                        | Lost::ConcurrentDeleteDelete
                        | Lost::ConcurrentTransaction
                        | Lost::MetadataChanged
                        | Lost::ProtocolChanged(_)
                )
        ),
        _ => false,
    }
}
