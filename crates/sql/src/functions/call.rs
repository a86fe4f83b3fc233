//! The arguments of a table function, and the table they name.

use std::future::Future;
use std::sync::Arc;

use datafusion::catalog::{TableFunctionArgs, TableProvider};
use datafusion::common::{ScalarValue, TableReference};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::Expr;
use tokio::runtime::{Builder, Handle, RuntimeFlavor};

use crate::path_table::looks_like_path;
use crate::{Error, ErrorKind, Result, lookup};

/// The constants that a function was called with.
///
/// # Errors
/// An argument that isn't a constant.
pub(super) fn constants<'a>(function: &str, exprs: &'a [Expr]) -> Result<Vec<&'a ScalarValue>> {
    exprs
        .iter()
        .map(|expr| match expr {
            Expr::Literal(value, _) => Ok(value),
            Expr::Column(name) => Err(Error::invalid(format!(
                "{function} takes the table's name as a text: {function}('{}')",
                name.flat_name().replace('\'', "''")
            ))),
            other => Err(Error::invalid(format!("{function} takes constants, not {other}"))),
        })
        .collect()
}

/// The text of a constant.
pub(super) fn text(value: &ScalarValue) -> Option<&str> {
    value.try_as_str().flatten()
}

/// The state of the session that calls.
///
/// # Errors
/// A session that isn't DataFusion's own.
pub(super) fn state_of<'a>(args: &'a TableFunctionArgs<'_, '_>) -> Result<&'a SessionState> {
    args.session().as_any().downcast_ref().ok_or_else(|| {
        Error::new(ErrorKind::Unsupported, "table functions need a DataFusion SessionState")
    })
}

/// The table of that name or path.
///
/// # Errors
/// No such table.
pub(super) fn table(state: &SessionState, name: &str) -> Result<Arc<dyn TableProvider>> {
    let reference = match looks_like_path(name) {
        true => TableReference::bare(name),
        false => lookup::reference(name),
    };
    wait(lookup::table(state, &reference))?
}

/// Runs a future to its end from a place that can't await: planning calls functions so.
///
/// # Errors
/// No thread or runtime to be had.
pub(crate) fn wait<T: Send>(future: impl Future<Output = T> + Send) -> Result<T> {
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => {
            Ok(tokio::task::block_in_place(|| handle.block_on(future)))
        }
        _ => std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let runtime = Builder::new_current_thread().enable_all().build();
                runtime.map(|runtime| runtime.block_on(future))
            });
            let done = waiting.join().map_err(|_| internal("a table function panicked"))?;
            done.map_err(|e| internal(&format!("no runtime for a table function: {e}")))
        }),
    }
}

fn internal(message: &str) -> Error {
    Error::new(ErrorKind::Internal, message)
}
