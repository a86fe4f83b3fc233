//! What planning costs as a table grows: time and memory, for tables of ours and for the same files
//! as another tool's.
//!
//! `cargo bench --bench planning` prints a Markdown table for 1,000, 10,000 and 100,000 partitions
//! of one small file each; `PARTWISE_BENCH_PARTITIONS=1000,10000` chooses others. Each measurement
//! is in a process of its own, so that its memory is its own: the first time a question is asked,
//! and the best of ten times after it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use futures::TryStreamExt;
use partwise::{ContextOptions, Execution, Lake, PartwiseContext};

const THREADS: usize = 2;
const AGAIN: usize = 10;

/// What is asked, `t` being the table.
const QUESTIONS: [(&str, &str); 5] = [
    ("one partition", "SELECT v FROM t WHERE k = 77"),
    ("ten, by range", "SELECT v FROM t WHERE k BETWEEN 70 AND 79"),
    ("newest partition", "SELECT max(k) FROM t"),
    ("all rows counted", "SELECT count(*) FROM t"),
    ("full scan planned", "EXPLAIN SELECT v FROM t"),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [flag, lake, sql] if flag == "--ask" => ask(Path::new(lake), sql),
        _ => measure_all(),
    }
}

fn measure_all() {
    let sizes = std::env::var("PARTWISE_BENCH_PARTITIONS");
    let sizes = sizes.unwrap_or_else(|_| "1000,10000,100000".into());
    println!("| partitions | whose | question | first, ms | again, ms | peak, MB |");
    println!("|--:|---|---|--:|--:|--:|");
    for size in sizes.split(',') {
        let size: usize = size.trim().parse().expect("a number of partitions");
        let lake = tempfile::tempdir().expect("a folder");
        make(lake.path(), size);
        for (whose, table) in [("ours", "ours"), ("foreign", "theirs")] {
            for (name, sql) in QUESTIONS {
                let sql = sql.replace(" t", &format!(" {table}"));
                let figures = in_process(lake.path(), &sql);
                println!("| {size} | {whose} | {name} | {figures} |");
            }
        }
    }
}

/// `ours`, and `theirs`: the same files under another tool's names, without a log.
fn make(lake: &Path, size: usize) {
    let context = context(lake);
    let create = format!(
        "CREATE TABLE ours PARTITIONED BY (k) AS \
         SELECT value * 10 AS v, value AS k FROM generate_series(0, {})",
        size - 1
    );
    runtime().block_on(async {
        context.execute(&create).await.expect("a table");
    });
    for entry in std::fs::read_dir(lake.join("ours")).expect("the table") {
        let from = entry.expect("an entry").path();
        if from.is_dir() {
            link_files(&from, &lake.join("theirs").join(from.file_name().expect("a name")));
        }
    }
}

fn link_files(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for (n, entry) in std::fs::read_dir(from).expect("a partition").enumerate() {
        let file = entry.expect("an entry").path();
        std::fs::hard_link(file, to.join(format!("data_{n}.parquet"))).expect("a link");
    }
}

/// The figures of a question, asked in a process of its own.
fn in_process(lake: &Path, sql: &str) -> String {
    let program: PathBuf = std::env::current_exe().expect("this program");
    let asked = Command::new(program).args(["--ask", &lake.display().to_string(), sql]).output();
    let asked = asked.expect("a process");
    assert!(asked.status.success(), "{sql}: {}", String::from_utf8_lossy(&asked.stderr));
    String::from_utf8_lossy(&asked.stdout).trim().to_owned()
}

fn ask(lake: &Path, sql: &str) {
    let (runtime, context) = (runtime(), context(lake));
    let asked = || {
        let start = Instant::now();
        runtime.block_on(drain(&context, sql));
        start.elapsed().as_secs_f64() * 1000.0
    };
    let first = asked();
    let again = (0..AGAIN).map(|_| asked()).fold(f64::INFINITY, f64::min);
    println!("{first:.1} | {again:.1} | {}", peak_megabytes());
}

async fn drain(context: &PartwiseContext, sql: &str) {
    let Execution::Rows(rows) = context.execute(sql).await.expect("an answer") else {
        panic!("{sql} gives no rows")
    };
    rows.stream.try_for_each(|_| async { Ok(()) }).await.expect("the rows");
}

fn context(lake: &Path) -> PartwiseContext {
    let lake = Lake::Directory(lake.to_path_buf());
    let options = ContextOptions { lake, threads: Some(THREADS), memory_limit_bytes: None };
    runtime().block_on(PartwiseContext::with_options(options)).expect("a context")
}

fn runtime() -> tokio::runtime::Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(THREADS).enable_all().build().expect("a runtime")
}

/// The largest resident size of this process so far.
fn peak_megabytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = peak.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}
