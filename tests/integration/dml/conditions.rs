//! Conditions put together from parts that are true, false and unknown for some rows: what is not true
//! stays, whatever stands around it.

use super::{Ours, setup};
use crate::support::postgres::Postgres;

const PARTS: [&str; 7] = [
    "k IN (SELECT k FROM u)",
    "k NOT IN (SELECT k FROM u WHERE p IS NOT NULL)",
    "k NOT IN (SELECT k FROM u WHERE u.p = t.p)",
    "EXISTS (SELECT 1 FROM u WHERE u.k > t.k)",
    "v > 'b'",
    "NOT EXISTS (SELECT 1 FROM u WHERE k = 77)",
    "n > (SELECT avg(n) FROM t b WHERE b.p = t.p)",
];

/// How two parts stand together.
const TOGETHER: [&str; 5] = [
    "{a} OR {b}",
    "{a} AND NOT ({b})",
    "NOT ({a} OR {b})",
    "({a}) = ({b})",
    "CASE WHEN {a} THEN {b} ELSE k = 4 END",
];

fn conditions() -> Vec<String> {
    let mut found = Vec::new();
    for (n, a) in PARTS.iter().enumerate() {
        for (m, b) in PARTS.iter().enumerate().filter(|(m, _)| *m != n) {
            let together = TOGETHER[(n + m) % TOGETHER.len()];
            found.push(together.replace("{a}", a).replace("{b}", b));
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_true_of_a_condition_stays_as_in_postgresql() {
    let Some(postgres) = Postgres::start() else { return };
    let conditions = conditions();
    let deletes: Vec<String> =
        conditions.iter().map(|condition| format!("DELETE FROM t WHERE {condition}")).collect();
    let asked: Vec<&str> = deletes.iter().map(String::as_str).collect();
    let theirs = postgres.answers(&setup(), &asked, super::ASK);
    let tables = Ours::new().await;
    let mut wrong = Vec::new();
    for (delete, theirs) in asked.iter().zip(theirs) {
        let ours = tables.answer(delete).await;
        if ours != theirs {
            wrong.push(format!("{delete}\nours   {ours:?}\ntheirs {theirs:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), asked.len(), wrong.join("\n"));
}
