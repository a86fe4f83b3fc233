//! The report and the by-day write, beside DataFusion's own COPY on the same files, with the same
//! codec and the same two threads.
//!
//! `cargo bench` makes the quarter under `target/` once. `PARTWISE_BENCH_SCALE=0.02` runs on a
//! small one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use partwise::{ContextOptions, Execution, Lake, PartwiseContext};
use partwise_taxi::{FILES, Progress, generate};
use tokio::runtime::Runtime;

const THREADS: usize = 2;
const WINDOW: &str = "tpep_pickup_datetime >= TIMESTAMP '2024-01-01' \
                      AND tpep_pickup_datetime < TIMESTAMP '2024-04-01'";

fn report(from: &str) -> String {
    format!(
        "SELECT \"PULocationID\" AS zone, date_trunc('hour', tpep_pickup_datetime) AS pickup_hour, \
         count(*) AS trips, sum(total_amount) AS revenue, \
         to_char(date_trunc('hour', tpep_pickup_datetime), '%Y-%m') AS pickup_month \
         FROM {from} WHERE {WINDOW} GROUP BY 1, 2"
    )
}

fn by_day(from: &str) -> String {
    format!(
        "SELECT CAST(tpep_pickup_datetime AS DATE) AS pickup_date, \
         date_trunc('hour', tpep_pickup_datetime) AS pickup_hour, \"PULocationID\", total_amount \
         FROM {from} WHERE {WINDOW}"
    )
}

struct Setting {
    runtime: Runtime,
    data: PathBuf,
    work: tempfile::TempDir,
}

impl Setting {
    fn new() -> Self {
        let scale = std::env::var("PARTWISE_BENCH_SCALE").ok();
        let scale = scale.map_or(1.0, |text| text.parse().expect("a number"));
        let data = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("bench-quarter-{scale}"));
        generate(&data, scale, Progress::Silent).expect("the quarter");
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(THREADS).enable_all().build().expect("a runtime");
        Self { runtime, data, work: tempfile::tempdir().expect("a folder") }
    }

    fn partwise(&self) -> PartwiseContext {
        let options = ContextOptions {
            lake: Lake::Directory(self.work.path().join("lake")),
            threads: Some(THREADS),
            memory_limit_bytes: None,
        };
        self.runtime.block_on(PartwiseContext::with_options(options)).expect("a context")
    }

    fn write(&self, context: &PartwiseContext, sql: &str) {
        match self.runtime.block_on(context.execute(sql)).expect("a write") {
            Execution::Wrote(_) => {}
            _ => panic!("{sql} is not a write"),
        }
    }

    /// DataFusion alone, with the three files as the table `raw`.
    fn datafusion(&self) -> SessionContext {
        let context =
            SessionContext::new_with_config(SessionConfig::new().with_target_partitions(THREADS));
        let files: Vec<String> =
            FILES.iter().map(|name| self.data.join(name).display().to_string()).collect();
        self.runtime.block_on(async {
            let raw = context.read_parquet(files, ParquetReadOptions::default()).await;
            context.register_table("raw", raw.expect("the files").into_view()).expect("a name");
        });
        context
    }

    fn copy(&self, context: &SessionContext, query: &str, partition: &str) {
        let out = self.work.path().join("copy");
        let _ = std::fs::remove_dir_all(&out);
        let sql = format!(
            "COPY ({query}) TO '{}/' STORED AS PARQUET PARTITIONED BY ({partition}) \
             OPTIONS ('format.compression' 'snappy')",
            out.display()
        );
        self.runtime.block_on(async {
            context.sql(&sql).await.expect("a plan").collect().await.expect("a copy")
        });
    }
}

fn pair(
    criterion: &mut Criterion,
    setting: &Setting,
    name: &str,
    query: fn(&str) -> String,
    partition: &str,
) {
    let glob = format!("'{}/yellow_tripdata_2024-0*.parquet'", setting.data.display());
    let ours = setting.partwise();
    let create = format!(
        "CREATE OR REPLACE TABLE {name} USING parquet PARTITIONED BY ({partition}) AS {}",
        query(&glob)
    );
    let theirs = setting.datafusion();
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).warm_up_time(Duration::from_secs(1));
    group.bench_function("partwise/quarter", |b| b.iter(|| setting.write(&ours, &create)));
    group.bench_function("datafusion_copy/quarter", |b| {
        b.iter(|| setting.copy(&theirs, &query("raw"), partition));
    });
    group.finish();
}

fn main_job(criterion: &mut Criterion) {
    let setting = Setting::new();
    pair(criterion, &setting, "report", report, "pickup_month");
    pair(criterion, &setting, "by_day", by_day, "pickup_date");
}

criterion_group!(benches, main_job);
criterion_main!(benches);
