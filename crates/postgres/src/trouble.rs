//! What goes wrong on the way to the server, by what is to be done about it.

use std::error::Error as StdError;
use std::fmt::{Display, Write};
use std::time::{Duration, Instant};

use partwise_stream::{Error, ErrorKind};
use tokio_postgres::error::SqlState;

/// The first and the longest pause before another try.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Times a transaction is run again that the server ended in favour of another.
const CLASHES: usize = 20;

/// Why a transaction didn't come to its end.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The server is away, or what is needed is locked: another connection may do it, later.
    Away(Error),
    /// The server ended it in favour of another one: once more.
    Clash(Error),
    /// Another try would end the same.
    Final(Error),
}

impl Trouble {
    /// What a statement failed with that waits for a lock of `what`.
    pub fn of_lock(error: tokio_postgres::Error, what: &dyn Display) -> Self {
        match error.code() {
            Some(&SqlState::LOCK_NOT_AVAILABLE) => Self::Away(Error::new(
                ErrorKind::Unavailable,
                format!(
                    "{what} is locked by another session (pg_locks and pg_stat_activity say whose): {}",
                    told(&error)
                ),
            )),
            _ => error.into(),
        }
    }

    /// The error.
    pub fn error(self) -> Error {
        match self {
            Self::Away(error) | Self::Clash(error) | Self::Final(error) => error,
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

impl From<tokio_postgres::Error> for Trouble {
    fn from(error: tokio_postgres::Error) -> Self {
        let text = told(&error);
        let unavailable = |text| Error::new(ErrorKind::Unavailable, text);
        let Some(code) = error.code() else {
            return match is_lost(&error) {
                true => Self::Away(unavailable(text)),
                false => Self::Final(unavailable(text)),
            };
        };
        let conflict = [SqlState::T_R_DEADLOCK_DETECTED, SqlState::T_R_SERIALIZATION_FAILURE];
        match code {
            code if conflict.contains(code) => Self::Clash(Error::new(ErrorKind::Conflict, text)),
            code if is_away(code) => Self::Away(unavailable(text)),
            code => Self::Final(Error::new(kind_of(code), text)),
        }
    }
}

/// No answer, or none to be understood: the connection is gone.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    let mut lost = error.is_closed();
    let mut cause = error.source();
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<std::io::Error>() {
            // A handshake that fails by its certificate fails again.
            lost |= !io.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
        }
        cause = inner.source();
    }
    lost
}

/// The server goes down, comes up, has no room for another connection, is a standby (since a failover,
/// maybe: another connection finds the primary), or another session has a lock for too long.
fn is_away(code: &SqlState) -> bool {
    let states = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::TOO_MANY_CONNECTIONS,
        SqlState::READ_ONLY_SQL_TRANSACTION,
        SqlState::LOCK_NOT_AVAILABLE,
    ];
    states.contains(code) || code.code().starts_with("08")
}

fn kind_of(code: &SqlState) -> ErrorKind {
    match code.code().get(..2) {
        // Insufficient resources, and errors outside the server.
        Some("53" | "58") => ErrorKind::Unavailable,
        _ => ErrorKind::Invalid,
    }
}

/// An error and its causes, the server's with its details.
fn told(error: &tokio_postgres::Error) -> String {
    if let Some(said) = error.as_db_error() {
        let mut text = format!("{} (SQLSTATE {})", said.message(), said.code().code());
        for more in [said.detail(), said.hint(), said.where_()].into_iter().flatten() {
            // Writing to a string.
            let _ = write!(text, "; {}", more.replace('\n', " "));
        }
        return text;
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let _ = write!(text, ": {inner}");
        cause = inner.source();
    }
    text
}

/// How often and how long a transaction is tried again.
#[derive(Debug)]
pub(crate) struct Patience {
    away_for: Duration,
    away_since: Option<Instant>,
    pause: Duration,
    clashes: usize,
}

impl Patience {
    /// That of one batch: `away_for` is how long the server may be away.
    pub fn new(away_for: Duration) -> Self {
        Self { away_for, away_since: None, pause: FIRST_PAUSE, clashes: 0 }
    }

    /// Waits before the next try.
    ///
    /// # Errors
    /// The trouble, where there is to be no other try.
    pub async fn wait(&mut self, trouble: Trouble) -> Result<(), Error> {
        match trouble {
            Trouble::Final(error) => Err(error),
            Trouble::Clash(error) if self.clashes >= CLASHES => Err(Error::new(
                error.kind(),
                format!("{error}: {CLASHES} times in a row, each time in favour of another"),
            )),
            Trouble::Clash(_) => {
                self.clashes += 1;
                tokio::time::sleep(FIRST_PAUSE / 5 * self.clashes as u32).await;
                Ok(())
            }
            Trouble::Away(error) => {
                // The first time, it may be just the connection that has grown old.
                let since = self.away_since.replace(self.away_since.unwrap_or_else(Instant::now));
                if since.is_some_and(|since| since.elapsed() >= self.away_for) {
                    return Err(Error::new(
                        error.kind(),
                        format!(
                            "{error}; tried again for {} seconds (option 'retry_seconds'). The batch \
                             runs again when the query is started again",
                            self.away_for.as_secs()
                        ),
                    ));
                }
                tokio::time::sleep(self.pause).await;
                self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                Ok(())
            }
        }
    }
}
