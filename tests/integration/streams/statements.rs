//! Statements end to end over files.

use super::{CLICKS, VIEWS, land, landed, two_files};

#[test]
fn a_query_reads_each_file_once_and_goes_on_where_it_was() {
    let folder = two_files();
    let ran = folder.sql(&format!("{CLICKS} {VIEWS} AWAIT QUERY views")).ok();
    assert!(ran.out.contains("views has ended: 2 batches, 4 rows"), "{}", ran.out);
    let lines: Vec<&str> = ran.err.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.err);
    assert!(lines[0].starts_with("views batch 0: 2 rows in ("), "{}", lines[0]);
    assert!(lines[1].starts_with("views batch 1: 2 rows in ("), "{}", lines[1]);
    assert_eq!(folder.rows("SELECT * FROM views ORDER BY page"), ["about,1", "home,3"]);
    assert_eq!(folder.rows("SHOW TABLES"), ["views"]);

    land(&folder, 2, &["9,about,2024-01-01 00:07:00"]);
    let ran = folder.sql(&format!("{CLICKS} {VIEWS} AWAIT QUERY views")).ok();
    assert!(ran.out.contains("views has ended: 1 batch, 1 row\n"), "{}", ran.out);
    assert_eq!(folder.rows("SELECT * FROM views ORDER BY page"), ["about,2", "home,3"]);
}

#[test]
fn a_query_is_shown_and_its_history_has_a_row_per_batch() {
    let folder = two_files();
    let row = folder.row(&format!(
        "{CLICKS} {VIEWS} AWAIT QUERY views; SELECT count(*), sum(input_rows), sum(output_rows), \
         max(state_rows), sum(late_rows), max(watermark), bool_and(total_ms >= run_ms) \
         FROM query_history('views')"
    ));
    assert_eq!(row, "2,4,3,2,0,2023-12-31T23:56:00,true");
    let row = folder.row(&format!("{CLICKS} {VIEWS} AWAIT QUERY views; SHOW QUERIES"));
    assert!(row.starts_with("views,update,TABLE "), "{row}");
    assert!(row.contains(",AVAILABLE NOW,ended,0,0,0,0,0,,0"), "{row}");
    let row = folder.row(&format!("{CLICKS} SHOW STREAMS"));
    assert!(row.starts_with("clicks,FILES 'file://"), "{row}");
    assert!(row.contains("\"user_id, page, ts\",ts - INTERVAL '600 seconds'"), "{row}");
}

#[test]
fn closed_windows_are_given_out_once_and_late_rows_counted() {
    let folder = landed(&[
        &["1,home,2024-01-01 00:00:00", "2,home,2024-01-01 00:20:00"],
        &["3,late,2024-01-01 00:09:59", "4,home,2024-01-01 00:10:00"],
        &["5,home,2024-01-01 01:00:00"],
    ]);
    let query = "START QUERY windows TRIGGER AVAILABLE NOW CHECKPOINT 'ck' INTO MEMORY windows AS \
         SELECT tumble(ts, INTERVAL '5 minutes') AS start, count(*) AS views FROM clicks GROUP BY 1; \
         AWAIT QUERY windows;";
    let rows = folder.rows(&format!("{CLICKS} {query} SELECT * FROM windows ORDER BY start"));
    let expected = ["2024-01-01T00:00:00,1", "2024-01-01T00:10:00,1", "2024-01-01T00:20:00,1"];
    assert_eq!(rows, expected);
}

#[test]
fn a_table_is_found_as_insert_finds_it() {
    let folder = two_files();
    let start = |name: &str, into: &str| {
        format!(
            "START QUERY {name} CHECKPOINT 'ck/{name}' INTO TABLE {into} AS SELECT page, user_id FROM \
             clicks; AWAIT QUERY {name};"
        )
    };
    folder.sql("CREATE TABLE there (PAGE STRING, user_id BIGINT, more INT) USING parquet").ok();
    folder.sql(&format!("{CLICKS} {}", start("one", "THERE"))).ok();
    assert_eq!(folder.row("SELECT count(*), count(more) FROM there"), "4,0");
    let located = start("two", "outside LOCATION 'outside/t' PARTITIONED BY (page)");
    let sql = format!("{CLICKS} {located} SELECT count(*) FROM outside");
    assert_eq!(folder.row(&sql), "4");
    let sql = format!("{CLICKS} {located} INSERT INTO outside VALUES ('x', 7); SHOW TABLES");
    assert_eq!(folder.rows(&sql), ["outside", "there"]);
    assert!(folder.path().join("outside/t/page=home").exists());
    folder.sql(&format!("{CLICKS} {}", start("three", "'by/path'"))).ok();
    assert_eq!(folder.row("SELECT count(*) FROM 'by/path'"), "4");
    let made = start("four", "made OPTIONS ('compression' 'zstd(3)')");
    folder.sql(&format!("{CLICKS} {made}")).ok();
    let created = folder.rows("SHOW CREATE TABLE made").join("\n");
    assert!(created.contains("'compression' 'zstd(3)'"), "{created}");
    folder.sql(&format!("{CLICKS} {made}")).ok();
}

#[test]
fn memory_holds_rows_and_the_console_shows_them() {
    let folder = two_files();
    let complete = "START QUERY c OUTPUT MODE complete CHECKPOINT 'ck/c' INTO MEMORY pages AS \
         SELECT page, count(*) AS n FROM clicks GROUP BY 1 ORDER BY n DESC LIMIT 1; AWAIT QUERY c;";
    let rows = folder.rows(&format!("{CLICKS} {complete} SELECT * FROM pages"));
    assert_eq!(rows, ["home,3"]);
    let once =
        "START QUERY o TRIGGER ONCE CHECKPOINT 'ck/o' INTO CONSOLE AS SELECT page FROM clicks";
    let ran = folder.run(&["-q", "-c", &format!("{CLICKS} {once}")]).ok();
    assert!(ran.out.starts_with("o batch 0\n+") && ran.out.contains("| about |"), "{}", ran.out);
    assert!(!ran.out.contains("o batch 1"), "{}", ran.out);
    assert_eq!(ran.err, "");
}

#[test]
fn a_stream_goes_and_is_replaced_and_a_checkpoint_dropped() {
    let folder = two_files();
    let sql = format!(
        "{CLICKS} {}; CREATE OR REPLACE STREAM clicks FROM RATE; SELECT column_name FROM \
         information_schema.columns WHERE table_name = 'clicks' ORDER BY 1",
        CLICKS.replace("STREAM", "STREAM IF NOT EXISTS").trim_end_matches(';')
    );
    assert_eq!(folder.rows(&sql), ["timestamp", "value"]);
    let sql = format!("{CLICKS} DROP STREAM clicks; DROP STREAM IF EXISTS clicks; SHOW STREAMS");
    assert_eq!(folder.rows(&sql), [] as [&str; 0]);

    folder.sql(&format!("{CLICKS} {VIEWS}")).ok();
    let again = format!("DROP TABLE views PURGE; DROP CHECKPOINT 'ck/views/'; {CLICKS} {VIEWS}");
    folder.sql(&again).ok();
    assert_eq!(folder.rows("SELECT * FROM views ORDER BY page"), ["about,1", "home,3"]);
    folder.sql("DROP CHECKPOINT IF EXISTS 'ck/nosuch'").ok();
}

#[test]
fn a_query_joins_tables_at_rest_and_reads_views() {
    let folder = two_files();
    folder.sql("CREATE TABLE titles AS SELECT 'home' AS page, 'Welcome' AS title").ok();
    let sql = format!(
        "{CLICKS} CREATE VIEW early AS SELECT * FROM clicks WHERE user_id < 3; \
         START QUERY q CHECKPOINT 'ck' INTO MEMORY titled AS SELECT user_id, title FROM early \
         LEFT JOIN titles USING (page); AWAIT QUERY q; SELECT * FROM titled ORDER BY 1, 2"
    );
    assert_eq!(folder.rows(&sql), ["1,Welcome", "1,Welcome", "2,"]);
}
