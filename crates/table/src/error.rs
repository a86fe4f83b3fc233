//! Errors of the commit protocol on their way through DataFusion.

use datafusion::error::DataFusionError;

/// A commit error as DataFusion's; the statement layer finds it again by downcasting
/// [`DataFusionError::External`].
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
