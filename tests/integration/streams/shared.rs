//! A stream and batch jobs share a table.

use super::{CLICKS, land, two_files};
use crate::support::tree::data_files;

const BY_DAY: &str = "START QUERY q TRIGGER AVAILABLE NOW CHECKPOINT 'ck/q' INTO TABLE shared \
     PARTITIONED BY (day) AS SELECT user_id, page, CAST(ts AS DATE) AS day FROM clicks; AWAIT QUERY q;";

#[test]
fn batches_and_jobs_write_one_table_and_no_row_is_lost_or_doubled() {
    let folder = two_files();
    let stream = format!("{CLICKS} {BY_DAY}");
    let mut expected = vec![("2024-01-01", 4)];
    let counts = || folder.rows("SELECT day, count(*) FROM shared GROUP BY day ORDER BY day");
    let as_rows = |expected: &[(&str, u32)]| -> Vec<String> {
        expected.iter().map(|(day, count)| format!("{day},{count}")).collect()
    };
    folder.sql(&stream).ok();
    assert_eq!(counts(), as_rows(&expected));

    // A job appends, the stream appends, another replaces a day, files are put together.
    folder.sql("INSERT INTO shared VALUES (7, 'job', '2024-01-02'), (8, 'job', '2024-01-01')").ok();
    land(&folder, 2, &["1,home,2024-01-02 00:00:00", "1,home,2024-01-03 00:00:00"]);
    folder.sql(&stream).ok();
    expected = vec![("2024-01-01", 5), ("2024-01-02", 2), ("2024-01-03", 1)];
    assert_eq!(counts(), as_rows(&expected));

    folder
        .sql("SET partwise.max_shrink = 1; INSERT OVERWRITE shared VALUES (9, 'job', '2024-01-01')")
        .ok();
    land(&folder, 3, &["1,home,2024-01-03 00:01:00", "2,home,2024-01-03 00:02:00"]);
    folder.sql(&stream).ok();
    expected = vec![("2024-01-01", 1), ("2024-01-02", 2), ("2024-01-03", 3)];
    assert_eq!(counts(), as_rows(&expected));

    folder.sql("OPTIMIZE shared").ok();
    assert_eq!(data_files(&folder.table("shared")).len(), 3);
    land(&folder, 4, &["1,home,2024-01-04 00:00:00"]);
    folder.sql(&stream).ok();
    expected.push(("2024-01-04", 1));
    assert_eq!(counts(), as_rows(&expected));
    // Each batch once, whatever came between.
    let runs = "SELECT count(*), count(DISTINCT run) FROM history('shared') WHERE job LIKE 'q@%'";
    assert_eq!(folder.row(runs), "5,5");
}

#[test]
fn an_updating_query_and_jobs_beside_it_write_at_once() {
    let folder = two_files();
    let update = "START QUERY u OUTPUT MODE update TRIGGER EVERY '10 milliseconds' CHECKPOINT 'ck/u' \
         INTO TABLE totals PARTITIONED BY (k) AS SELECT value % 4 AS k, count(*) AS n, sum(value) AS s \
         FROM ticks GROUP BY 1;";
    let ticks = "CREATE STREAM ticks FROM RATE OPTIONS ('rows_per_second' '2000');";
    let mut sql = format!("{ticks} {update}");
    for job in 10..20 {
        sql += &format!("INSERT INTO totals VALUES ({job}, {job}, {job}); OPTIMIZE totals;");
    }
    // The ticks are counted from 0: of n of them, each once, the sum is known.
    sql += "STOP QUERY u; SELECT sum(s) FILTER (WHERE k < 4) = sum(n) FILTER (WHERE k < 4) * \
            (sum(n) FILTER (WHERE k < 4) - 1) / 2 AS exact, count(*) FILTER (WHERE k >= 10) AS of_jobs, \
            count(*) FILTER (WHERE k < 4) AS of_query FROM totals";
    assert_eq!(folder.row(&sql), "true,10,4");
}
