//! Keeping other writers off from before a statement reads.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::Result;
use crate::backend::Hold;
use crate::table::Table;

/// The right to commit to a table next: while it is held, no other writer commits. On an object
/// store, which has no locks, it keeps nobody off. Clones share it.
#[derive(Clone)]
pub struct Turn(Arc<Hold>);

impl Table {
    /// Waits for the right to commit next, for a statement that has read the table again and again
    /// only to find that others were faster. Commits take it in
    /// [`Change::turn`](crate::Change::turn).
    ///
    /// # Errors
    /// `Busy` when the wait runs out, naming who holds it.
    pub async fn turn(&self, timeout: Duration, statement: &str) -> Result<Turn> {
        let backend = self.backend().await?;
        Ok(Turn(Arc::new(backend.hold(timeout, statement).await?)))
    }
}

impl Turn {
    pub(crate) fn hold(&self) -> Hold {
        Box::new(Arc::clone(&self.0))
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Turn")
    }
}
