//! What a query reads: each answer also without pruning.

use crate::support::Folder;

const ROWS: &str = "SELECT * FROM (VALUES \
    (1, 'a', 1, DATE '2024-01-01'), (2, 'a', 2, DATE '2024-01-02'), (3, 'b', 1, DATE '2024-01-03'), \
    (4, 'b', 2, DATE '2024-02-01'), (5, NULL, NULL, NULL), (6, 'c/d%', 3, DATE '2024-02-02')) \
    AS v (n, s, i, d)";

#[test]
fn predicates_select_their_directories_and_change_no_answer() {
    let folder = Folder::new();
    folder.sql(&format!("CREATE TABLE t USING parquet PARTITIONED BY (s, i, d) AS {ROWS}")).ok();
    for (predicate, selected) in [
        ("s = 'a'", 2),
        ("s = 'c/d%'", 1),
        ("s IN ('a', 'c/d%')", 3),
        ("s IS NULL", 1),
        ("s IS NOT NULL", 5),
        ("i = 1", 2),
        ("i BETWEEN 2 AND 3", 3),
        ("i + 1 = 2", 2),
        ("d = DATE '2024-01-02'", 1),
        ("d >= '2024-02-01'", 2),
        ("s = 'a' AND i = 2", 1),
        ("(s = 'a' AND i = 1) OR (s = 'b' AND i = 2)", 2),
        ("s = 'a' OR n = 3", 6),
        ("upper(s) = 'B'", 2),
        ("s LIKE 'c%'", 1),
        ("s = 'nosuch'", 0),
    ] {
        let query = format!("SELECT n FROM t WHERE {predicate} ORDER BY n");
        let plan = folder.sql(&format!("EXPLAIN {query}")).ok().out;
        assert!(plan.contains(&format!("partitions={selected}/6")), "{predicate}\n{plan}");
        let unpruned = folder.rows(&format!("SET partwise.prune = false; {query}"));
        assert_eq!(folder.rows(&query), unpruned, "{predicate}");
    }
}
