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
    assert!(found >= 15, "{found} scripts");
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
