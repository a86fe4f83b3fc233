//! DELETE, UPDATE and MERGE: as PostgreSQL answers, and only in the partitions that change.

mod conditions;
mod merge;
mod partitions;
mod races;
mod refused;
mod statements;

use partwise::Result;

use crate::support::Folder;
use crate::support::postgres::{Answer, Postgres};
use crate::support::session::Session;

/// The tables that statements are run on, without what says how they are stored. Rows that are equal,
/// NULL in every column, and in partitions of their own.
const TABLES: [(&str, &str); 3] = [
    ("CREATE TABLE t (k INT, v VARCHAR, n DECIMAL(10, 2), d DATE, p VARCHAR)", "p"),
    ("CREATE TABLE u (k INT, w VARCHAR, p VARCHAR)", ""),
    ("CREATE TABLE s (k INT, v VARCHAR, n DECIMAL(10, 2), d DATE, p VARCHAR)", ""),
];

const ROWS: [&str; 3] = [
    "INSERT INTO t VALUES (1, 'a', 1.50, '2024-01-01', 'x'), (1, 'a', 1.50, '2024-01-01', 'x'), \
     (2, NULL, 2.25, '2024-01-02', 'x'), (3, 'c', NULL, NULL, 'y'), (4, 'd', 4.00, '2024-02-01', 'y'), \
     (5, 'e', -5.50, '2024-02-02', 'z'), (NULL, 'n', 6.00, '2024-03-01', NULL), \
     (NULL, NULL, NULL, NULL, 'z')",
    "INSERT INTO u VALUES (1, 'one', 'x'), (3, 'three', 'y'), (NULL, 'none', NULL), (9, 'nine', 'q'), \
     (3, 'drei', 'z')",
    "INSERT INTO s VALUES (1, 'A', 10, '2025-01-01', 'x'), (3, 'C', NULL, NULL, 'w'), \
     (5, NULL, 50, '2025-05-05', 'z'), (7, 'G', 70, '2025-07-07', 'x'), (8, 'H', 80, NULL, 'new'), \
     (NULL, 'N', 0, NULL, 'z')",
];

/// All rows of `t`, in one order.
const ASK: &str = "SELECT * FROM t ORDER BY k NULLS FIRST, v NULLS FIRST, n NULLS FIRST, \
                   d NULLS FIRST, p NULLS FIRST";

/// A statement, and what PostgreSQL is asked where it can't say the same.
type Case = (&'static str, Option<&'static str>);

/// The tables in PostgreSQL.
fn setup() -> String {
    let tables = TABLES.iter().map(|(table, _)| *table);
    tables.chain(ROWS).map(|statement| format!("{statement};\n")).collect()
}

/// The tables here, in a session that puts `t` back before each statement.
struct Ours {
    session: Session,
    _folder: Folder,
}

impl Ours {
    async fn new() -> Self {
        let folder = Folder::new();
        let session = Session::open(&folder).await;
        for (table, by) in TABLES {
            let by = if by.is_empty() { String::new() } else { format!("PARTITIONED BY ({by})") };
            session.all(&[&format!("{table} USING parquet {by}")]).await;
        }
        session.all(&ROWS).await;
        session.all(&["SET partwise.partition_overwrite_mode = 'static'"]).await;
        Self { session, _folder: folder }
    }

    /// What a statement gives on the tables as they are at first.
    async fn answer(&self, statement: &str) -> Answer {
        let again = ROWS[0].replace("INSERT INTO", "INSERT OVERWRITE");
        self.session.all(&[&again]).await;
        match answer(&self.session, statement).await {
            Ok(answer) => answer,
            Err(error) => Answer::Error(error.to_string()),
        }
    }
}

async fn answer(session: &Session, statement: &str) -> Result<Answer> {
    Ok(Answer::Rows(session.count(statement).await?, session.rows(ASK).await))
}

/// Runs each case on both and compares; what is an error there is one here.
async fn compare(cases: &[Case]) {
    let Some(postgres) = Postgres::start() else { return };
    let theirs: Vec<&str> = cases.iter().map(|(ours, theirs)| theirs.unwrap_or(ours)).collect();
    let theirs = postgres.answers(&setup(), &theirs, ASK);
    let tables = Ours::new().await;
    let mut wrong = Vec::new();
    for ((statement, _), theirs) in cases.iter().zip(theirs) {
        let ours = tables.answer(statement).await;
        let same = match (&ours, &theirs) {
            (Answer::Error(_), Answer::Error(_)) => true,
            (ours, theirs) => ours == theirs,
        };
        if !same {
            wrong.push(format!("{statement}\nours   {ours:?}\ntheirs {theirs:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
