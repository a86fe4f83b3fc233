//! PREVIEW beside what the same statement then does.

use std::collections::BTreeMap;

use crate::support::Folder;
use crate::support::session::{Gave, Session};
use crate::support::tree::tree;

const SET_UP: &[&str] = &[
    "CREATE TABLE t (v INT, dt STRING, hr INT) USING parquet PARTITIONED BY (dt, hr)",
    "INSERT INTO t VALUES (1, 'd1', 1), (2, 'd1', 2), (3, 'd2', 1), (4, NULL, 1), (5, 'd2', NULL)",
    "INSERT INTO t SELECT value, 'big', 1 FROM generate_series(1, 100)",
    "INSERT INTO t VALUES (6, 'd2', 1)",
    "CREATE TABLE u (v INT) USING parquet",
    "INSERT INTO u SELECT value FROM generate_series(1, 3)",
];
const STATIC: &str = "SET partwise.partition_overwrite_mode = 'static'";
const TOKEN: &[&str] = &["SET partwise.job = 'nightly'", "SET partwise.run = 7"];
const APPEND: &str = "INSERT INTO t VALUES (9, 'd1', 1)";

/// A case: statements before it, and the one that is previewed.
type Case<'a> = (&'a [&'a str], &'a str);

/// Statements of every kind; `f` is a tree without a log.
const CASES: &[Case<'static>] = &[
    (&[], APPEND),
    (&[], "INSERT INTO t SELECT v, dt, hr FROM t"),
    (&[], "INSERT INTO t BY NAME SELECT 9 AS hr, 'd9' AS dt, 1 AS v"),
    (&[], "INSERT INTO t (hr, dt) VALUES (1, 'x')"),
    (&[], "INSERT INTO t PARTITION (dt = 'd1', hr) SELECT 10, 1"),
    (&[], "INSERT INTO t PARTITION (dt IN ('d1', 'd5')) SELECT 10, 'd5', 1"),
    (&[], "INSERT INTO t PARTITION (dt IN ('d1', 'd5')) SELECT 10, 'd6', 1"),
    (&[], "INSERT INTO t SELECT 1, 'd1', 1 WHERE false"),
    (&[], "INSERT OVERWRITE t SELECT 7, 'd7', 7"),
    (&[], "INSERT OVERWRITE t SELECT 7, 'd1', 1"),
    (&[], "INSERT OVERWRITE t SELECT 7, NULL, NULL"),
    (&[], "INSERT OVERWRITE t SELECT v + 1, dt, hr FROM t"),
    (&[], "INSERT OVERWRITE t SELECT 1, 'big', 1"),
    (&["SET partwise.max_shrink = 1"], "INSERT OVERWRITE t SELECT 1, 'big', 1"),
    (&[], "INSERT OVERWRITE t SELECT 1, 'd1', 1 WHERE false"),
    (&[], "INSERT OVERWRITE t PARTITION (dt = 'd1', hr) SELECT 10, 3"),
    (&[], "INSERT OVERWRITE t PARTITION (dt = 'd1', hr = 2) SELECT 1 WHERE false"),
    (&[], "INSERT OVERWRITE t PARTITION (dt = NULL, hr = 1) SELECT 5"),
    (&[], "INSERT OVERWRITE t PARTITION (dt = 'big', hr = '001') SELECT 5"),
    (&[], "INSERT OVERWRITE t PARTITION (dt IN ('d1', 'd2')) SELECT 10, 'd1', 1"),
    (&[], "INSERT OVERWRITE t PARTITION (dt IN ('d1', 'd2')) SELECT 10, 'd3', 1"),
    (&[], "INSERT OVERWRITE t PARTITION (dt IS NULL) SELECT 10, NULL, 8"),
    (&[], "INSERT OVERWRITE t PARTITION (dt = 'd1', hr > 1) SELECT 1, 2 WHERE false"),
    (&[STATIC], "INSERT OVERWRITE t SELECT 7, 'd7', 7"),
    (&[STATIC], "INSERT OVERWRITE t PARTITION (dt = 'd1', hr) SELECT 10, 1 WHERE false"),
    (&[STATIC], "INSERT OVERWRITE t PARTITION (dt = 'd2', hr) SELECT 10, 1"),
    (&[], "INSERT OVERWRITE t PARTITION (dt = 'd1', hr = 1) IF NOT EXISTS SELECT 1"),
    (&[], "INSERT OVERWRITE t PARTITION (dt = 'd1', hr = 8) IF NOT EXISTS SELECT 1"),
    (TOKEN, APPEND),
    (&[TOKEN[0], TOKEN[1], APPEND, TOKEN[1]], APPEND),
    (&[TOKEN[0], TOKEN[1], APPEND, TOKEN[1]], "INSERT INTO t VALUES (10, 'd1', 1)"),
    (&[TOKEN[0], TOKEN[1], APPEND, "SET partwise.run = 6"], APPEND),
    (&[], "INSERT OVERWRITE u SELECT v FROM u WHERE v > 1"),
    (&[], "INSERT INTO u VALUES (4)"),
    (&[STATIC], "INSERT OVERWRITE u SELECT 1 WHERE false"),
    (&[], "WITH x AS (SELECT 1 AS v) INSERT OVERWRITE f SELECT v, 'd1', 1 FROM x"),
    (&[], "INSERT INTO f VALUES (1, 'd1', 1), (1, 'd8', 1)"),
    (&[STATIC], "INSERT OVERWRITE f SELECT 1, 'd8', 1"),
    (&[], "INSERT OVERWRITE f PARTITION (dt >= 'd1') SELECT 1, 'd8', 1"),
];

/// A tree without a log: two partitions of `t`, copied.
fn copy_foreign(folder: &Folder) {
    for directory in ["dt=d1/hr=1", "dt=d2/hr=1"] {
        let to = folder.table("f").join(directory);
        std::fs::create_dir_all(&to).expect("a directory");
        let from = std::fs::read_dir(folder.table("t").join(directory)).expect("a partition");
        for (n, file) in from.enumerate() {
            let file = file.expect("a file").path();
            std::fs::copy(file, to.join(format!("data_{n}.parquet"))).expect("a copy");
        }
    }
}

/// Rows and files by partition.
type State = BTreeMap<String, (u64, u64)>;

async fn state(session: &Session, table: &str) -> State {
    let sql = match table {
        "u" => "SELECT '', sum(rows), count(*) FROM files('u') HAVING count(*) > 0".to_owned(),
        _ => format!("SELECT dt, hr, rows, files FROM partitions('{table}')"),
    };
    let cut = |row: String| {
        let mut cells = row.rsplitn(3, '|');
        let mut number = || cells.next().expect("a cell").parse().expect("a number");
        let (files, rows) = (number(), number());
        (cells.next().unwrap_or_default().to_owned(), (rows, files))
    };
    session.rows(&sql).await.into_iter().map(cut).collect()
}

/// What a preview's rows say: before, after, and verdicts.
fn told(rows: &[String]) -> (State, State, Vec<String>) {
    let (mut before, mut after, mut verdicts) = (State::new(), State::new(), Vec::new());
    for row in rows {
        // A verdict may hold the mark that sets cells apart; the figures are behind the action.
        let cells: Vec<&str> = row.split('|').collect();
        let at = cells.iter().position(|c| ACTIONS.contains(c)).expect("an action");
        let number = |n: usize| cells[at + n].parse::<u64>().expect("a number");
        let key = cells[..at].join("|");
        if number(3) > 0 {
            before.insert(key.clone(), (number(1), number(3)));
        }
        if number(4) > 0 {
            after.insert(key, (number(2), number(4)));
        }
        verdicts.extend((cells[at + 5] != "NULL").then(|| cells[at + 5..].join("|")));
        let action = match (number(3), number(4), number(1) == number(2)) {
            // Rows outside of the scope.
            (0, 0, _) => ["keep", "keep"],
            (0, _, _) => ["create", "create"],
            (_, 0, _) => ["empty", "empty"],
            (was, is, true) if was == is => ["keep", "replace"],
            _ => ["replace", "append"],
        };
        assert!(action.contains(&cells[at]), "{row}");
    }
    (before, after, verdicts)
}

const ACTIONS: [&str; 5] = ["create", "empty", "keep", "replace", "append"];

/// All that is there, but for the folder that writers stage in, which goes when it is empty.
fn names(tree: &BTreeMap<String, Option<Vec<u8>>>) -> Vec<&String> {
    tree.keys().filter(|name| !name.ends_with("/staging/")).collect()
}

async fn check(case: &Case<'_>) -> (bool, Vec<String>) {
    let (before, sql) = case;
    let folder = Folder::new();
    let session = Session::open(&folder).await;
    session.all(SET_UP).await;
    copy_foreign(&folder);
    session.all(before).await;
    let table = sql.split_whitespace().skip_while(|w| !["INTO", "OVERWRITE"].contains(w)).nth(1);
    let table = table.expect("a table");
    let (was, disk) = (state(&session, table).await, tree(folder.path()));
    let rows = session.rows(&format!("PREVIEW {sql}")).await;
    let left = tree(folder.path());
    assert_eq!(names(&disk), names(&left), "{sql}");
    assert!(disk.iter().all(|(name, file)| left.get(name).is_none_or(|now| now == file)), "{sql}");
    let (told_before, told_after, verdicts) = told(&rows);
    let done = session.run(sql).await;
    let is = state(&session, table).await;
    assert_eq!(told_before, was, "{sql}\n{rows:#?}");
    match &done {
        Ok(_) => assert_eq!(told_after, is, "{sql}\n{rows:#?}"),
        Err(error) => {
            assert!(!verdicts.is_empty(), "{sql} isn't said to be stopped by: {error}\n{rows:#?}");
            assert_eq!(was, is, "{sql}");
        }
    }
    (done.is_ok(), verdicts)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_it_says_is_what_is_done_then_and_nothing_is_left_behind() {
    let (mut stopped, mut silent) = (Vec::new(), Vec::new());
    for case in CASES {
        let (ok, verdicts) = check(case).await;
        match (ok, verdicts.first()) {
            (false, _) => stopped.push(case.1),
            (true, Some(verdict)) => silent.push((case.1, verdict.clone())),
            (true, None) => {}
        }
    }
    // What guard, scope and tokens stop is an error then; what has happened already is none.
    assert_eq!(
        stopped,
        [
            "INSERT INTO t PARTITION (dt IN ('d1', 'd5')) SELECT 10, 'd6', 1",
            "INSERT OVERWRITE t SELECT 1, 'big', 1",
            "INSERT OVERWRITE t PARTITION (dt IN ('d1', 'd2')) SELECT 10, 'd3', 1",
            "INSERT INTO t VALUES (10, 'd1', 1)",
            APPEND,
        ]
    );
    let said: Vec<&str> = silent.iter().map(|(_, verdict)| verdict.as_str()).collect();
    assert_eq!(said.len(), 2, "{silent:?}");
    assert!(said[0].contains("exists") && said[1].contains("already applied"), "{said:?}");
}

#[tokio::test]
async fn a_verdict_names_what_stops_the_statement() {
    let folder = Folder::new();
    let session = Session::open(&folder).await;
    session.all(SET_UP).await;
    for (sql, word) in [
        ("PREVIEW INSERT OVERWRITE t SELECT 1, 'big', 1", "max_shrink"),
        ("PREVIEW INSERT OVERWRITE t PARTITION (dt = 'x' OR hr > 5) SELECT 1, 'd1', 1", "scope"),
    ] {
        let Gave::Rows(rows) = session.all(&[sql]).await else { panic!("{sql} gives rows") };
        let blamed: Vec<_> = rows.iter().filter(|row| !row.ends_with("|NULL")).collect();
        assert!(blamed.len() == 1 && blamed[0].contains(word), "{sql}: {rows:#?}");
    }
}
