//! RENAME: a table's directory and its log folder under another name beside it.
//!
//! ```text
//!   hold -> finish what is logged -> _partwise/t  to  _partwise/u -> t  to  u
//!                                    ^ the lock goes along         ^ the switch
//! ```
//! The log goes first. Until the directory follows, the table is a plain tree of its old name, with
//! all its data; the marker in it tells that the log under the new name is its own, so the same
//! rename run again finishes it.

use std::sync::Arc;
use std::time::Duration;

use crate::backend::Backend;
use crate::local::{LocalTable, blocking};
use crate::location::Location;
use crate::recover::settle;
use crate::table::Table;
use crate::{Error, Result};

impl Table {
    /// Gives the table another name in the same folder of a local disk. What is logged is finished
    /// before. `statement` is for whoever waits for this one; `lock_timeout` bounds its own wait.
    ///
    /// # Errors
    /// `Unsupported` on an object store, and for a place that isn't beside the table; `Invalid`
    /// where there is no table, or the new name is taken; `Busy` where other writers keep one of
    /// the two for longer than the wait.
    pub async fn rename(
        &self,
        to: &Location,
        lock_timeout: Duration,
        statement: &str,
    ) -> Result<()> {
        let (from, to) = (local(self.location()).await?, local(to).await?);
        from.check_rename(&to)?;
        let hold = from.hold(lock_timeout, statement).await?;
        let moved = match settle(&from).await {
            Ok(head) => move_both(&from, &to, head.meta.is_some(), lock_timeout, statement).await,
            Err(error) => Err(error),
        };
        drop(hold);
        from.tidy().await;
        to.tidy().await;
        moved
    }
}

async fn local(location: &Location) -> Result<LocalTable> {
    match location {
        Location::Local { disk, dir } => {
            let (disk, dir) = (Arc::clone(disk), dir.clone());
            blocking(move || LocalTable::resolve(disk, &dir)).await
        }
        Location::Store { .. } => Err(Error::unsupported(format!(
            "{} is on an object store, where a rename would copy every file: make the new table \
             with CREATE TABLE .. AS SELECT, then drop this one",
            location.display()
        ))),
    }
}

/// Both folders, while the lock of the old name is held; that of the new one is taken where there
/// is a folder for it.
async fn move_both(
    from: &LocalTable,
    to: &LocalTable,
    logged: bool,
    timeout: Duration,
    statement: &str,
) -> Result<()> {
    let _held = match to.has_log_folder()? {
        true => Some(to.hold(timeout, statement).await?),
        false => None,
    };
    let (from, to) = (from.clone(), to.clone());
    blocking(move || from.move_to(&to, logged)).await
}
