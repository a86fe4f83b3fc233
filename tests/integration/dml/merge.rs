//! MERGE beside PostgreSQL's.

use super::{Case, compare};

const SAME: &[&str] = &[
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v",
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN DO NOTHING",
    "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v, s.n, s.d, s.p)",
    "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN DO NOTHING",
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = s.v, n = s.n \
     WHEN NOT MATCHED THEN INSERT (k, v, p) VALUES (s.k, s.v, s.p)",
    "MERGE INTO t AS a USING s AS b ON a.k = b.k WHEN MATCHED THEN UPDATE SET v = a.v || b.v, n = b.n + a.n",
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED AND s.v IS NULL THEN DELETE \
     WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v, s.n, s.d, s.p)",
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED AND t.n > 1 THEN UPDATE SET n = 0 \
     WHEN MATCHED AND t.n IS NULL THEN DELETE WHEN MATCHED THEN DO NOTHING",
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED AND t.n > 100 THEN DELETE",
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED AND NULL THEN DELETE",
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET p = s.p",
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET p = s.p, k = s.k + 100 \
     WHEN NOT MATCHED AND s.p = 'x' THEN INSERT VALUES (s.k, s.v, s.n, s.d, s.p)",
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET p = NULL, v = DEFAULT",
    "MERGE INTO t USING s ON t.k = s.k AND t.p = s.p WHEN MATCHED THEN UPDATE SET v = 'both' \
     WHEN NOT MATCHED THEN INSERT VALUES (s.k, 'fresh', 1, NULL, s.p)",
    "MERGE INTO t USING (SELECT k, max(w) AS w FROM u GROUP BY k) AS x ON t.k = x.k \
     WHEN MATCHED THEN UPDATE SET v = x.w WHEN NOT MATCHED THEN INSERT (k, v, p) VALUES (x.k, x.w, 'q')",
    "MERGE INTO t USING (VALUES (1, 'v1'), (50, 'v50')) AS x (k, v) ON t.k = x.k \
     WHEN MATCHED THEN UPDATE SET v = x.v WHEN NOT MATCHED THEN INSERT (k, v, p) VALUES (x.k, x.v, 'x')",
    "MERGE INTO t USING s ON false WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v, s.n, s.d, s.p)",
    "MERGE INTO t USING s ON t.k = s.k AND s.k > 100 WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING (SELECT * FROM s WHERE false) AS x ON t.k = x.k WHEN MATCHED THEN DELETE \
     WHEN NOT MATCHED THEN INSERT VALUES (x.k, x.v, x.n, x.d, x.p)",
    "MERGE INTO t USING s ON t.k IS NOT DISTINCT FROM s.k AND s.k IS NULL WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING s ON t.k < s.k AND s.k = 3 WHEN MATCHED THEN UPDATE SET v = 'less'",
    "MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN UPDATE SET v = u.w",
    "MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING u ON t.k = u.k WHEN MATCHED AND u.w = 'drei' THEN UPDATE SET v = u.w",
    "MERGE INTO t USING u ON t.k = u.k WHEN MATCHED AND u.w = 'drei' THEN UPDATE SET v = u.w \
     WHEN MATCHED AND u.w = 'three' THEN DO NOTHING WHEN MATCHED THEN DELETE \
     WHEN NOT MATCHED THEN INSERT (k, v, p) VALUES (u.k, u.w, u.p)",
    "MERGE INTO t USING u ON t.k = u.k WHEN MATCHED THEN DO NOTHING \
     WHEN NOT MATCHED THEN INSERT (k, v, p) VALUES (u.k, u.w, u.p)",
    "MERGE INTO t USING t AS b ON t.k = b.k + 1 AND b.k > 2 WHEN MATCHED THEN UPDATE SET v = b.v",
    "WITH w AS (SELECT * FROM s WHERE k > 4) MERGE INTO t USING w ON t.k = w.k \
     WHEN MATCHED THEN UPDATE SET v = 'w' WHEN NOT MATCHED THEN INSERT (k, p) VALUES (w.k, w.p)",
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET n = (SELECT max(n) FROM s)",
    "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (k, p) VALUES (t.k, s.p)",
    "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN INSERT (k, p) VALUES (s.k)",
    "MERGE INTO t USING s ON k = 1 WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET v = 'x', v = 'y'",
    "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET n = 1 / (s.k - 3)",
];

/// What version 15 can't say, and the same in its words.
const OTHERWISE: &[(&str, &str)] = &[
    (
        "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED BY SOURCE THEN DELETE",
        "DELETE FROM t WHERE NOT EXISTS (SELECT 1 FROM s WHERE t.k = s.k)",
    ),
    (
        "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED BY SOURCE AND t.p = 'x' THEN DO NOTHING \
         WHEN NOT MATCHED BY SOURCE THEN UPDATE SET v = 'alone'",
        "UPDATE t SET v = 'alone' WHERE p IS DISTINCT FROM 'x' AND \
         NOT EXISTS (SELECT 1 FROM s WHERE t.k = s.k)",
    ),
    (
        "MERGE INTO t USING u ON t.k = u.k WHEN NOT MATCHED BY SOURCE THEN UPDATE SET p = 'left'",
        "UPDATE t SET p = 'left' WHERE NOT EXISTS (SELECT 1 FROM u WHERE t.k = u.k)",
    ),
    (
        "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED BY TARGET THEN \
         INSERT VALUES (s.k, s.v, s.n, s.d, s.p)",
        "MERGE INTO t USING s ON t.k = s.k WHEN NOT MATCHED THEN \
         INSERT VALUES (s.k, s.v, s.n, s.d, s.p)",
    ),
    (
        "MERGE INTO t USING s ON t.k = s.k WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        "MERGE INTO t USING s ON t.k = s.k \
         WHEN MATCHED THEN UPDATE SET k = s.k, v = s.v, n = s.n, d = s.d, p = s.p \
         WHEN NOT MATCHED THEN INSERT VALUES (s.k, s.v, s.n, s.d, s.p)",
    ),
    (
        "MERGE INTO t USING u ON t.k = u.k WHEN MATCHED AND u.w = 'drei' THEN UPDATE SET v = u.w \
         WHEN NOT MATCHED BY SOURCE AND t.k > 4 THEN UPDATE SET v = 'none'",
        "UPDATE t SET v = CASE WHEN k = 3 THEN 'drei' ELSE 'none' END WHERE k = 3 OR k > 4",
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_merge_gives_what_postgresql_gives() {
    let same = SAME.iter().map(|statement| (*statement, None));
    let otherwise = OTHERWISE.iter().map(|(ours, theirs)| (*ours, Some(*theirs)));
    compare(&same.chain(otherwise).collect::<Vec<Case>>()).await;
}
