//! Errors of delta-rs, by what the caller should do.

use std::error::Error as StdError;
use std::fmt::Display;

use deltalake::DeltaTableError;
use deltalake::kernel::transaction::{CommitConflictError, TransactionError};
use partwise_stream::{Error, ErrorKind};

/// What the kernel says of its store.
const KERNEL_STORE_ERRORS: [&str; 2] = ["object store", "reqwest"];

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
        error if is_of_store(error) => ErrorKind::Unavailable,
        DeltaTableError::InvalidJsonLog { .. } | DeltaTableError::InvalidStatsJson { .. } => {
            ErrorKind::Corrupt
        }
        DeltaTableError::UnsupportedColumnMapping { .. } => ErrorKind::Unsupported,
        DeltaTableError::Transaction { source } => match source {
            TransactionError::LogStoreError { .. } => ErrorKind::Unavailable,
            TransactionError::UnsupportedTableFeatures(_) => ErrorKind::Unsupported,
            _ => ErrorKind::Invalid,
        },
        _ => ErrorKind::Invalid,
    }
}

/// Whether a store or a disk is at the bottom of it, however deep.
fn is_of_store(error: &DeltaTableError) -> bool {
    if let DeltaTableError::KernelError(kernel) = error {
        // The kernel hides its causes, and its type isn't delta-rs's to give out.
        let said = kernel.to_string();
        return KERNEL_STORE_ERRORS.iter().any(|words| said.contains(words));
    }
    let mut cause: Option<&(dyn StdError + 'static)> = Some(error);
    while let Some(inner) = cause {
        if inner.is::<object_store::Error>() || inner.is::<std::io::Error>() {
            return true;
        }
        cause = inner.source();
    }
    false
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
