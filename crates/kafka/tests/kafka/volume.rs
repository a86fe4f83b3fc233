//! Half a million messages, in bounded memory.

use std::process::Command;
use std::time::{Duration, Instant};

use partwise_stream::{MemorySink, OutputMode};
use partwise_testkit::TansuServer;
use rdkafka::producer::{BaseRecord, Producer};

use crate::kit::{Lab, make_topic, producer, put, rows, run};

const MESSAGES: i64 = 500_000;
const PARTITIONS: i32 = 4;
/// The child runs the query and nothing else, so that its memory is the query's.
const CHILD: &str = "PARTWISE_KAFKA_VOLUME";

#[tokio::test(flavor = "multi_thread")]
async fn half_a_million_messages_take_bounded_memory() {
    if let Ok(servers) = std::env::var(CHILD) {
        return read(&servers).await;
    }
    let Some(server) = TansuServer::start_new("half a million messages").unwrap() else { return };
    let servers = server.servers();
    make_topic(&servers, "clicks", PARTITIONS).await;
    fill(&servers);
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "volume::half_a_million_messages_take_bounded_memory", "--nocapture"])
        .env(CHILD, &servers)
        .status()
        .unwrap();
    assert!(child.success());
}

fn fill(servers: &str) {
    let many = producer(servers, &[("batch.num.messages", "10000"), ("linger.ms", "20")]);
    let padding = "x".repeat(400);
    for n in 0..MESSAGES - i64::from(PARTITIONS) {
        let value = format!(r#"{{"n": {n}, "page": "p{}", "padding": "{padding}"}}"#, n % 7);
        loop {
            let record: BaseRecord<'_, str, str> = BaseRecord::to("clicks").payload(&value);
            match many.send(record.partition((n % i64::from(PARTITIONS)) as i32)) {
                Ok(()) => break,
                Err(_) => many.poll(Duration::from_millis(50)),
            };
        }
    }
    many.flush(Duration::from_secs(120)).unwrap();
    for partition in 0..PARTITIONS {
        let n = MESSAGES - i64::from(PARTITIONS) + i64::from(partition);
        put(servers, "clicks", partition, &[format!(r#"{{"n": {n}, "page": "p{}"}}"#, n % 7)]);
    }
}

async fn read(servers: &str) {
    let lab = Lab::new();
    lab.clicks(servers, &[]).await.unwrap();
    let sink = MemorySink::new("pages");
    let sql = "SELECT count(*) AS n, sum(n) AS total, count(DISTINCT page) AS pages FROM clicks";
    let (before, started) = (peak_kilobytes(), Instant::now());
    run(lab.query(sql, "q", OutputMode::Complete).await.sink(sink.clone())).await.unwrap();
    let (took, grown) = (started.elapsed(), peak_kilobytes() - before);
    println!("{MESSAGES} messages of 440 bytes in {took:?}; memory grew by {grown} kB");
    let total = MESSAGES * (MESSAGES - 1) / 2;
    assert_eq!(rows(sink.rows()), [format!("{MESSAGES} | {total} | 7")]);
    // The messages are 220 MB, and with what a client keeps for each more than twice that.
    assert!(grown < 200_000, "{grown} kB");
}

/// The most memory that this process has had.
fn peak_kilobytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap()
}
