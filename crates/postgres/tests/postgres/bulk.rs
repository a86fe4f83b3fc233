//! A batch of half a million rows, in bounded memory.

use std::process::Command;
use std::sync::Arc;

use datafusion::arrow::array::{Int64Array, RecordBatch, StringArray};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::prelude::SessionContext;
use partwise_postgres::PostgresSink;
use partwise_stream::{OutputMode, StreamContext, StreamDefinition, WriteStream};

use crate::kit::{Lab, run};

/// Where the process that is measured writes to, from where, and by key or not.
const CHILD: &str = "PARTWISE_BULK";
const SMALL: i64 = 50_000;
const LARGE: i64 = 500_000;
/// What the large batch may take above the small one: its rows have 250 bytes each.
const MORE: i64 = 64 << 10;

fn landing(lab: &Lab, rows: i64) -> String {
    let dir = lab.path(&format!("landing{rows}"));
    std::fs::create_dir(&dir).unwrap();
    // A reader has a row group in memory.
    let groups = WriterProperties::builder().set_max_row_group_row_count(Some(20_000)).build();
    let mut writer: Option<ArrowWriter<std::fs::File>> = None;
    for start in (0..rows).step_by(10_000) {
        let ids = Arc::new((start..start + 10_000).collect::<Int64Array>());
        let text =
            |id: i64| Some(format!("{:0>242}", id.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64)));
        let texts = Arc::new((start..start + 10_000).map(text).collect::<StringArray>());
        let batch = RecordBatch::try_from_iter([("id", ids as _), ("text", texts as _)]).unwrap();
        let file = || std::fs::File::create(dir.join("1.parquet")).unwrap();
        writer
            .get_or_insert_with(|| {
                ArrowWriter::try_new(file(), batch.schema(), Some(groups.clone())).unwrap()
            })
            .write(&batch)
            .unwrap();
    }
    writer.unwrap().close().unwrap();
    dir.display().to_string()
}

/// Runs the test below in a process of its own; its peak of memory in KiB.
fn peak(lab: &Lab, table: &str, landing: &str, keys: &str) -> i64 {
    let checkpoint = lab.path(table).display().to_string();
    let told = [&lab.server.url(), table, landing, &checkpoint, keys].join("|");
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "bulk::the_process_that_is_measured", "--nocapture"])
        .env(CHILD, told)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    let progress = said.lines().find(|line| line.contains("batch 0"));
    println!("{}", progress.unwrap_or(&said));
    let peak = said.lines().find_map(|line| line.split("peak KiB ").nth(1));
    peak.unwrap().trim().parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_process_that_is_measured() {
    let Ok(told) = std::env::var(CHILD) else { return };
    let [url, table, landing, checkpoint, keys] = told.split('|').collect::<Vec<_>>()[..] else {
        panic!("{told}");
    };
    let session = SessionContext::new();
    let streams = StreamContext::new(&session);
    streams.create_stream(&StreamDefinition::files("texts", landing)).await.unwrap();
    let sink = PostgresSink::new(url, table).unwrap();
    let sink = sink.with_keys(keys.split(',').filter(|key| !key.is_empty()));
    let frame = session.sql("SELECT id, text FROM texts").await.unwrap();
    let writer = frame.write_stream().name("q").output_mode(OutputMode::Append);
    let query = run(writer.checkpoint(checkpoint).sink(sink)).await.unwrap();
    assert_eq!(query.history().len(), 1);
    println!("{}", query.history()[0]);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    println!("peak KiB {}", peak.trim().trim_end_matches(" kB"));
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_million_rows_go_through_in_bounded_memory() {
    let Some(lab) = Lab::new("bulk") else { return };
    if !cfg!(target_os = "linux") {
        return;
    }
    let (small, large) = (landing(&lab, SMALL), landing(&lab, LARGE));
    for keys in ["id", ""] {
        let how = if keys.is_empty() { "rows" } else { "keyed" };
        let few = peak(&lab, &format!("bulk.small_{how}"), &small, keys);
        let many = peak(&lab, &format!("bulk.large_{how}"), &large, keys);
        println!("{how}: peak {few} KiB with {SMALL} rows, {many} KiB with {LARGE}");
        assert!(many - few < MORE, "{few} {many}");
        let ask =
            format!("SELECT count(*), count(DISTINCT id), min(length(text)) FROM large_{how}");
        assert_eq!(lab.sql(&ask), [format!("{LARGE}|{LARGE}|242")]);
    }
}
