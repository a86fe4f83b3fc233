//! The lesson scripts: walked by the demo, and each alone.

use std::fs;
use std::path::Path;

use crate::support::{Folder, SCALE, quarter};

#[test]
fn the_demo_walks_all_scripts_and_every_figure_is_right() {
    let folder = Folder::new();
    let scale = SCALE.to_string();
    let ran = folder.run(&["demo", "--data", "data", "--scale", &scale]).ok();
    assert!(!ran.out.contains("WRONG"), "{}", ran.out);
    let again = folder.run(&["demo", "--data", "data", "--scale", &scale]).ok();
    assert!(!again.out.contains("WRONG"), "{}", again.out);
}

#[test]
fn each_script_runs_alone() {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql");
    let mut found = 0;
    for entry in fs::read_dir(scripts).expect("the scripts") {
        let script = entry.expect("an entry").path();
        if script.extension().is_some_and(|e| e == "sql") {
            let folder = Folder::new();
            let data = format!("data={}", quarter().display());
            let ran = folder.run(&["--set", &data, "-f", &script.display().to_string()]);
            assert_eq!(ran.status, Some(0), "{}\n{}{}", script.display(), ran.out, ran.err);
            found += 1;
        }
    }
    assert!(found >= 18, "{found} scripts");
}

#[test]
fn a_script_begins_after_the_one_it_names() {
    let folder = Folder::new();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect(name);
    write("first.sql", "CREATE TABLE t USING parquet AS SELECT 1 AS v; SELECT 98765;");
    write("second.sql", "-- Second\n-- after: first.sql\nSELECT count(*) + 40 FROM t;");
    let ran = folder.run(&["-q", "--format", "csv", "-f", "second.sql"]).ok();
    assert!(ran.out.contains("41") && !ran.out.contains("98765"), "{}", ran.out);

    write("third.sql", "-- after: nosuch.sql\nSELECT 98765;");
    let ran = folder.run(&["-f", "third.sql"]);
    assert_eq!(ran.status, Some(2), "{}", ran.err);
    assert!(ran.err.contains("nosuch.sql") && !ran.out.contains("98765"), "{}", ran.err);
}

#[test]
fn a_backslash_command_runs_in_a_script_as_at_the_prompt() {
    let folder = Folder::new();
    folder.sql("CREATE TABLE t PARTITIONED BY (p) AS SELECT 1 AS v, 'x' AS p");
    let ran = folder.run(&["-c", "\\d t"]).ok();
    assert!(ran.out.contains("| p      | STRING | level 1   |"), "{}", ran.out);
    let script = "\\set n 42\nSELECT ${n}\n  AS answer;\n\\q\nSELECT nosuch;\n";
    fs::write(folder.path().join("job.sql"), script).expect("a script");
    let ran = folder.run(&["-q", "--format", "csv", "-f", "job.sql"]).ok();
    assert_eq!(ran.out, "answer\n42\n");
    let ran = folder.run(&["-c", "\\limit 2\nSELECT value FROM generate_series(7, 9)"]).ok();
    assert!(ran.out.contains("| 8     |\n+---") && !ran.out.contains("| 9 "), "{}", ran.out);
    fs::write(folder.path().join("bad.sql"), "\\d t\nSELECT 1;\n\\nosuch").expect("a script");
    folder.run(&["-f", "bad.sql"]).fails(1, &["bad.sql:3", "there is no \\nosuch"]);
}

#[test]
fn a_lake_that_is_named_but_not_there_is_said_to_be_missing() {
    let folder = Folder::new();
    let ran = folder.run(&["--lake", "nowhere", "-c", "SHOW TABLES"]).ok();
    assert!(ran.err.contains("the lake nowhere isn't there yet"), "{}", ran.err);
    let ran = folder.run(&["-q", "--lake", "nowhere", "-c", "SHOW TABLES"]).ok();
    assert_eq!(ran.err, "");
    let ran = folder.run(&["--lake", "new", "-c", "CREATE TABLE t AS SELECT 1 AS v"]).ok();
    assert_eq!(ran.err, "");
}
