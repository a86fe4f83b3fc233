//! The prompt in a real terminal: typed into, run, cancelled, resized; its screens.

use std::fs;

use crate::support::Folder;
use crate::support::job::{TOTALS, published_totals, reported};
use crate::support::tmux::{PROMPT, Terminal, wait_on_disk};
use crate::support::tree::{staged, tree};

/// An overwrite that would take hours.
const ENDLESS_WRITE: &str = "INSERT OVERWRITE report SELECT zone, pickup_hour, trips, revenue, \
    pickup_month FROM report CROSS JOIN generate_series(1, 1000000);";

/// A query that would take hours.
const ENDLESS_QUERY: &str = "SELECT sum(a.trips + b.trips + c.value) FROM report a CROSS JOIN report b \
     CROSS JOIN generate_series(1, 1000000) c;";

/// A join that gives batch after batch, for longer than a test waits, without waiting for anything.
const JOIN_OF_MANY: &str = "SELECT count(*) FROM generate_series(1, 300000) a \
     JOIN generate_series(1, 300000) b ON a.value % 1 = b.value % 1 AND a.value < b.value + 1;";

#[test]
fn a_statement_is_completed_and_run() {
    let folder = reported();
    let Some(terminal) = Terminal::open(&folder, 100, 30) else { return };
    terminal.type_in("SEL");
    terminal.press("Tab");
    terminal.wait_for("partwise> SELECT");
    terminal.type_in("count(*) AS n FROM repo");
    terminal.press("Tab");
    terminal.type_in(" WHERE pickup_m");
    terminal.press("Tab");
    terminal.wait_for("FROM report WHERE pickup_month");
    terminal.enter(" = '2024-02';");
    let screen = terminal.wait_done("1 row, 1 partition");
    let rows = folder.row("SELECT count(*) FROM report WHERE pickup_month = '2024-02'");
    assert!(screen.contains(&format!("| {rows} ")), "{screen}");
}

#[test]
fn settings_commands_columns_and_paths_complete() {
    let folder = reported();
    fs::create_dir(folder.path().join("incoming")).expect("a folder");
    let Some(terminal) = Terminal::open(&folder, 100, 30) else { return };
    for (typed, completed) in [
        ("SET partwise.comp", "SET partwise.compression"),
        ("\\tim", "\\timing"),
        ("SELECT * FROM 'inco", "SELECT * FROM 'incoming/"),
        ("SELECT r.reve", "SELECT r.reve"),
        ("INSERT INTO repo", "INSERT INTO report"),
        ("INSERT OVERWRITE report PARTITION (", "INSERT OVERWRITE report PARTITION (pickup_month"),
        ("\\d \"rep", "\\d \"report\""),
    ] {
        terminal.type_in(typed);
        terminal.press("Tab");
        terminal.wait_for(&format!("{PROMPT} {completed}"));
        terminal.clear_input();
    }
    terminal.clear();
    terminal.type_in("SELECT pick");
    terminal.press("Tab");
    terminal.press("Tab");
    let screen = terminal.wait_for("pickup_month");
    assert!(screen.contains("pickup_hour"), "{screen}");
}

#[test]
fn a_statement_of_several_lines_is_remembered_as_one() {
    let folder = reported();
    let Some(first) = Terminal::open(&folder, 100, 30) else { return };
    first.enter("SELECT 40");
    first.enter("  + 2 AS answer -- ;");
    first.enter(";");
    first.wait_done("| 42     |");
    first.press("C-d");
    first.wait_end();
    let Some(second) = Terminal::open(&folder, 100, 30) else { return };
    second.press("Up");
    second.wait_for("  + 2 AS answer -- ;");
    second.press("Enter");
    let screen = second.wait_done("| 42     |");
    assert!(screen.contains("partwise> SELECT 40"), "{screen}");
    second.enter("\\q");
    second.wait_end();
}

#[test]
fn a_statement_that_is_open_says_so_and_commands_run_meanwhile() {
    let folder = Folder::new();
    let Some(terminal) = Terminal::open(&folder, 100, 30) else { return };
    terminal.enter("SELECT 1");
    terminal.wait_for("\n       ->");
    terminal.enter("\\timing off");
    terminal.wait_for("timing is off\n       ->");
    terminal.enter("+ 41 AS answer, 'a");
    terminal.wait_for("\n       '>");
    terminal.enter("\\q' AS text;");
    terminal.wait_done("| 42     | a");
    terminal.enter("-- nothing");
    terminal.wait_done("-- nothing");
    terminal.enter("exit");
    terminal.wait_end();
}

#[test]
fn a_name_is_filled_once_it_is_set_and_left_alone_before() {
    let folder = Folder::new();
    let Some(terminal) = Terminal::open(&folder, 100, 30) else { return };
    terminal.enter("SELECT '${day}' AS day;");
    terminal.wait_done("| ${day} |");
    terminal.enter("\\set day 2024-01-15");
    terminal.enter("SELECT '${day}' AS day;");
    terminal.wait_done("| 2024-01-15 |");
    terminal.enter("\\set");
    terminal.wait_done("day = 2024-01-15");
}

#[test]
fn what_is_typed_is_coloured_unless_no_colour_is_wanted() {
    let folder = Folder::new();
    let bold = |screen: &str| screen.contains("\u{1b}[1m");
    let Some(coloured) = Terminal::open(&folder, 80, 10) else { return };
    coloured.type_in("SELECT 'a'");
    coloured.wait_for("SELECT 'a'");
    assert!(bold(&coloured.coloured_screen()), "{}", coloured.coloured_screen());
    let Some(plain) = Terminal::open_with(&folder, 80, 10, &["NO_COLOR=1"]) else { return };
    plain.type_in("SELECT 'a'");
    plain.wait_for("SELECT 'a'");
    assert!(!bold(&plain.coloured_screen()), "{}", plain.coloured_screen());
}

#[test]
fn the_commands_tell_of_tables_and_of_themselves() {
    let folder = reported();
    let Some(terminal) = Terminal::open(&folder, 140, 40) else { return };
    terminal.enter("\\d");
    terminal.wait_done("| report | pickup_month   | 1       |");
    terminal.clear();
    terminal.enter("\\d report");
    let screen = terminal.wait_done("SHOW PARTITIONS report;");
    assert!(screen.contains("| pickup_month | STRING    | level 1   |"), "{screen}");
    assert!(screen.contains("| zone         | INT       |           |"), "{screen}");
    terminal.clear();
    terminal.enter("\\?");
    terminal.wait_done("\\timing [on|off]");
    terminal.enter("\\timng");
    terminal.wait_done("there is no \\timng; did you mean \\timing?");
    terminal.enter("\\timing off");
    terminal.wait_done("timing is off");
    terminal.enter("SELECT count(*) FROM report WHERE trips > 0;");
    let screen = terminal.wait_done("1 row, 3 partitions, 3 files, ");
    assert!(screen.contains(" rows read\n"), "{screen}");
    terminal.enter("\\explain");
    terminal.enter("SELECT count(*) FROM report WHERE pickup_month = '2024-01';");
    terminal.wait_done("partitions=1/3, files=1/3");
}

#[test]
fn a_mistake_leaves_the_prompt_usable() {
    let folder = reported();
    let Some(terminal) = Terminal::open(&folder, 100, 40) else { return };
    terminal.enter("SELECT * FROM reprot;");
    terminal.wait_done("table 'reprot' not found in the lake ./lake; did you mean report?");
    terminal.enter("SELEC 1;");
    terminal.wait_done("error: Expected");
    terminal.enter("SELECT 'not ended");
    terminal.clear_input();
    terminal.enter("SELECT 6 * 7 AS answer;");
    terminal.wait_done("| 42     |");
}

#[test]
fn several_statements_can_be_pasted() {
    let folder = Folder::new();
    let Some(terminal) = Terminal::open(&folder, 100, 40) else { return };
    terminal.paste("SELECT 1 AS one;\n\\timing off\nSELECT 2\n  AS two; SELECT 3 AS three;\n");
    terminal.wait_for("AS three;");
    terminal.press("Enter");
    let screen = terminal.wait_done("| 3     |");
    for seen in ["| 1   |", "timing is off", "| 2   |"] {
        assert!(screen.contains(seen), "{seen}: {screen}");
    }
}

#[test]
fn an_overwrite_that_is_cancelled_leaves_everything_as_it_was() {
    let folder = reported();
    let before = tree(&folder.table("report"));
    let Some(terminal) = Terminal::open(&folder, 100, 30) else { return };
    terminal.enter(ENDLESS_WRITE);
    let files = |lake: &std::path::Path| staged(lake).iter().any(|name| name.ends_with(".parquet"));
    wait_on_disk("staged files", &folder.lake(), files);
    terminal.press("C-c");
    terminal.wait_done("cancelled");
    wait_on_disk("the sweep", &folder.lake(), |lake| staged(lake).is_empty());
    assert!(before == tree(&folder.table("report")), "the directory has changed");
    terminal.clear();
    terminal.enter(&format!("{TOTALS};"));
    let totals: Vec<String> = published_totals().split(',').map(str::to_owned).collect();
    let screen = terminal.wait_done("1 row, 3 partitions");
    assert!(totals.iter().all(|figure| screen.contains(figure.as_str())), "{screen}");
}

#[test]
fn a_join_with_many_matches_is_cancelled_and_the_next_statement_runs() {
    let folder = Folder::new();
    let Some(terminal) = Terminal::open(&folder, 110, 30) else { return };
    terminal.enter(JOIN_OF_MANY);
    terminal.wait_for("1 s");
    terminal.press("C-c");
    terminal.wait_done("cancelled");
    terminal.enter("SELECT 6 * 7 AS answer;");
    terminal.wait_done("| 42     |");
}

#[test]
fn long_work_shows_how_far_it_has_come_until_it_ends() {
    let folder = reported();
    let Some(terminal) = Terminal::open(&folder, 120, 30) else { return };
    terminal.enter(ENDLESS_QUERY);
    terminal.wait_for("s, read: ");
    terminal.press("C-c");
    let screen = terminal.wait_done("cancelled");
    assert!(!screen.contains("s, read: "), "{screen}");
    terminal.clear();
    terminal.enter(ENDLESS_WRITE);
    terminal.wait_for(" of 3 files, 3 partitions");
    terminal.press("C-c");
    let screen = terminal.wait_done("cancelled");
    assert!(!screen.contains(" of 3 files"), "{screen}");
    terminal.clear();
    terminal.enter(ENDLESS_QUERY);
    terminal.wait_for(" of 6 files");
    terminal.resize(40, 30);
    terminal.press("C-c");
    let screen = terminal.wait_done("cancelled");
    assert!(!screen.contains("[=") && !screen.contains(" files"), "{screen}");
}

#[test]
fn a_wide_table_fits_the_terminal_also_when_it_is_resized() {
    let folder = Folder::new();
    let Some(terminal) = Terminal::open(&folder, 60, 20) else { return };
    let columns: Vec<String> = (1..=12).map(|n| format!("'value {n:02}' AS c{n:02}")).collect();
    let query = format!("SELECT {};", columns.join(", "));
    terminal.enter("\\timing off");
    terminal.wait_done("timing is off");
    terminal.enter(&query);
    let screen = terminal.wait_done("of 12 columns shown");
    assert!(screen.contains("| … |") && screen.contains("c12"), "{screen}");
    assert!(screen.lines().all(|line| line.chars().count() <= 60), "{screen}");
    terminal.resize(160, 20);
    terminal.clear();
    terminal.enter(&query);
    let screen = terminal.wait_done("1 row");
    assert!(!screen.contains("columns shown"), "{screen}");
    assert!(screen.contains("| c01      | c02 "), "{screen}");
    terminal.clear();
    terminal.enter("\\x");
    terminal.enter(&query);
    terminal.wait_done("c12 | value 12");
}

#[test]
fn a_long_result_is_cut_and_says_so() {
    let folder = Folder::new();
    let Some(terminal) = Terminal::open(&folder, 100, 70) else { return };
    terminal.enter("SELECT value FROM generate_series(1, 50000);");
    let screen = terminal.wait_done("40 of 50,000 rows shown: \\limit all");
    assert!(screen.contains("| 40    |") && !screen.contains("| 41    |"), "{screen}");
    assert!(screen.contains("50,000 rows, "), "{screen}");
    terminal.enter("\\limit 3");
    terminal.enter("SELECT value FROM generate_series(1, 10);");
    terminal.wait_done("3 of 10 rows shown");
}

#[test]
fn no_number_is_cut_where_later_rows_are_wider() {
    let folder = Folder::new();
    let Some(terminal) = Terminal::open(&folder, 110, 30) else { return };
    terminal.enter("\\limit all");
    terminal.enter("SELECT i, 'v' || i AS name FROM generate_series(1, 20000) AS t(i) ORDER BY i;");
    let screen = terminal.wait_done("20,000 rows, ");
    assert!(screen.contains("| 20000 | v20000 |"), "{screen}");
}

#[test]
fn a_plan_is_a_tree_and_explain_shows_what_is_written() {
    let folder = reported();
    let Some(terminal) = Terminal::open(&folder, 160, 60) else { return };
    terminal.enter("EXPLAIN SELECT 1;");
    terminal.wait_done("\u{250c}");
    terminal.clear();
    terminal.enter("EXPLAIN FORMAT INDENT SELECT 1;");
    let screen = terminal.wait_done("ProjectionExec:");
    assert!(!screen.contains('\u{250c}'), "{screen}");
    terminal.clear();
    terminal.enter("\\explain on");
    terminal.enter("INSERT INTO report SELECT * FROM report WHERE pickup_month = '2024-01';");
    terminal.wait_done("PartitionSink: target=");
}

#[test]
fn a_query_that_is_cancelled_before_its_first_row_starts_no_pager() {
    let folder = reported();
    let Some(terminal) = Terminal::open_with(&folder, 110, 20, &["PAGER=cat > paged"]) else {
        return;
    };
    terminal.enter("\\pager on");
    terminal.enter(ENDLESS_QUERY);
    terminal.wait_for("s, read: ");
    terminal.press("C-c");
    terminal.wait_done("cancelled");
    assert!(!folder.path().join("paged").exists());
}

#[test]
fn a_pager_that_is_left_early_is_said_to_be() {
    let folder = Folder::new();
    let Some(terminal) = Terminal::open_with(&folder, 110, 20, &["PAGER=head -n 3"]) else {
        return;
    };
    terminal.enter("\\pager on");
    terminal.enter("SELECT value FROM generate_series(1, 3000000);");
    terminal.wait_done("the rest was not fetched");
}

#[test]
fn the_pager_gets_the_whole_result() {
    let folder = Folder::new();
    let variables = ["PAGER=cat > paged"];
    let Some(terminal) = Terminal::open_with(&folder, 60, 20, &variables) else { return };
    terminal.enter("\\pager on");
    terminal.enter("SELECT value, repeat('x', 90) AS x FROM generate_series(1, 500);");
    terminal.wait_done("500 rows, ");
    let paged = fs::read_to_string(folder.path().join("paged")).expect("what was paged");
    assert_eq!(paged.lines().count(), 500 + 4);
    assert!(paged.contains(&"x".repeat(90)), "{paged}");
}

#[test]
fn the_file_in_the_home_folder_runs_at_the_start() {
    let folder = reported();
    let script = "-- mine\nSET partwise.compression = 'gzip(6)';\n\nSELECT 1\n  AS a;\n\
                  SELECT nosuch\n  FROM report;\n\\tinimg\n\\timing off\n";
    fs::write(folder.path().join(".partwiserc"), script).expect("a file");
    let Some(terminal) = Terminal::open(&folder, 140, 40) else { return };
    let screen = terminal.wait_done(".partwiserc:6: ");
    assert!(screen.contains("nosuch"), "{screen}");
    assert!(screen.contains(".partwiserc:8: there is no \\tinimg"), "{screen}");
    assert!(screen.contains("timing is off"), "{screen}");
    terminal.enter("SHOW partwise.compression;");
    terminal.wait_done("gzip(6)");
}
