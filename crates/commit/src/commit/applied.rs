//! Whether a token's write has been applied already, asked before the write is begun.

use std::collections::BTreeMap;

use crate::recover::{Head, published};
use crate::table::Table;
use crate::token::{JobState, StepState, Token, check, standing};
use crate::transaction::Committed;
use crate::{ErrorKind, Result};

/// Times a table is looked at that others write to meanwhile.
const LOOKS: usize = 10;

impl Table {
    /// The last run of each job that has written to the table, from the newest version's record.
    ///
    /// # Errors
    /// `Unavailable` where the log can't be read, `Corrupt` where it can't be right.
    pub async fn jobs(&self) -> Result<BTreeMap<String, JobState>> {
        let backend = self.backend().await?;
        let mut looks = 1;
        loop {
            match published(backend.as_ref()).await {
                // The table moves on while it is looked at.
                Err(error) if error.kind() == ErrorKind::Corrupt && looks < LOOKS => looks += 1,
                head => return Ok(head?.jobs()),
            }
        }
    }

    /// What the write of a token committed, where it has been published; none if it is to be
    /// applied. A commit asks again: another process may carry the same token.
    ///
    /// # Errors
    /// `Refused` where the token's step was applied by another statement, or its run is below the
    /// job's last and the log doesn't hold it.
    pub async fn applied(&self, token: &Token) -> Result<Option<Committed>> {
        let head = match published(self.backend().await?.as_ref()).await {
            Ok(head) => head,
            // The table moves on while it is looked at: the commit will tell.
            Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(None),
            Err(error) => return Err(error),
        };
        let older = older_step(self, token, &head).await?;
        let version = check(Some(token), &head.jobs(), older.as_ref())?;
        Ok(version.map(replayed))
    }
}

/// What a commit comes to whose token was applied before.
pub(super) fn replayed(version: u64) -> Committed {
    Committed { version, replayed: true, ..Committed::default() }
}

/// What an older run of the token's job wrote, from the log: only asked for a run below the job's
/// last.
pub(super) async fn older_step(
    table: &Table,
    token: &Token,
    head: &Head,
) -> Result<Option<StepState>> {
    if head.jobs().get(&token.job).is_none_or(|last| token.run >= last.run) {
        return Ok(None);
    }
    let same =
        |found: &Token| (&found.job, found.run, found.step) == (&token.job, token.run, token.step);
    let records = table.records().await?;
    let held = standing(&records).find(|record| record.token.as_ref().is_some_and(same));
    Ok(held.and_then(|record| {
        let digest = record.token.as_ref()?.digest.clone();
        Some(StepState { digest, version: record.version })
    }))
}
