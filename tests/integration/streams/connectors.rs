//! From files through a broker into a table, a database and a Delta table: each row once, though the
//! broker stands still and the database is stopped on the way.

use std::time::Duration;

use partwise_testkit::{PostgresServer, TansuServer};
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;

use super::landed;
use crate::support::Folder;
use crate::support::process::{LONGEST, Process, within};
use partwise_testkit::{python, run_python};

const FILES: usize = 6;
const CLICKS_IN_A_FILE: usize = 50;
const PAGES: [&str; 3] = ["about", "help", "home"];

/// How long the broker stands still, and the database is away.
const AWAY: Duration = Duration::from_secs(2);

/// Files of clicks, whose users are numbered through.
fn clicks() -> Folder {
    let line = |n: usize| format!("{n},{},2024-01-01 00:{:02}:{:02}", PAGES[n % 3], n / 60, n % 60);
    let files: Vec<Vec<String>> = (0..FILES)
        .map(|file| (0..CLICKS_IN_A_FILE).map(|n| line(file * CLICKS_IN_A_FILE + n)).collect())
        .collect();
    let lines: Vec<Vec<&str>> =
        files.iter().map(|file| file.iter().map(String::as_str).collect()).collect();
    landed(&lines.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

fn all() -> usize {
    FILES * CLICKS_IN_A_FILE
}

/// How often each page was asked for.
fn views() -> Vec<String> {
    PAGES.iter().map(|page| format!("{page},{}", all() / PAGES.len())).collect()
}

fn make_topic(servers: &str, topic: &str) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let admin: AdminClient<DefaultClientContext> =
        ClientConfig::new().set("bootstrap.servers", servers).create().expect("an admin");
    let options = AdminOptions::new().request_timeout(Some(LONGEST));
    let topic = NewTopic::new(topic, 2, TopicReplication::Fixed(1));
    let made = runtime.block_on(admin.create_topics([&topic], &options)).expect("an answer");
    made.into_iter().for_each(|made| assert!(made.is_ok(), "{made:?}"));
}

/// Files into the topic; this broker tells the end of a topic by its requests, so that each message
/// is one.
fn into_topic(servers: &str) -> String {
    format!(
        "{} START QUERY out TRIGGER AVAILABLE NOW CHECKPOINT 'ck/out' INTO KAFKA \
         OPTIONS ('bootstrap.servers' '{servers}', 'topic' 'clicks', 'key' 'page', \
         'kafka.batch.num.messages' '1') AS SELECT user_id, page, ts FROM clicks; AWAIT QUERY out",
        super::CLICKS
    )
}

/// The topic as a stream.
fn from_topic(servers: &str) -> String {
    format!(
        "CREATE STREAM clicks (user_id BIGINT, page STRING, _key STRING) FROM KAFKA \
         OPTIONS ('bootstrap.servers' '{servers}', 'topic' 'clicks', 'max_offsets_per_trigger' '40');"
    )
}

/// Runs a query in a process of its own; once it has done a batch, something goes away, and comes
/// back.
fn disturbed(folder: &Folder, query: &str, sql: &str, away: impl Fn(), back: impl Fn()) {
    let process = Process::sql(folder, sql);
    let commits = folder.path().join("ck").join(query).join("commits");
    let done = || std::fs::read_dir(&commits).into_iter().flatten().count();
    within(LONGEST, "the first batch", || done() > 0);
    away();
    std::thread::sleep(AWAY);
    back();
    process.end().ok();
}

#[test]
fn clicks_go_through_a_topic_into_a_table_and_a_database() {
    let Some(broker) = TansuServer::start_new("files to Kafka to a table").expect("a broker")
    else {
        return;
    };
    let servers = broker.servers();
    let pause = || broker.pause().expect("a pause");
    let resume = || broker.resume().expect("an end of the pause");
    make_topic(&servers, "clicks");
    let folder = clicks();
    disturbed(&folder, "out", &into_topic(&servers), pause, resume);

    let table = "START QUERY t TRIGGER AVAILABLE NOW CHECKPOINT 'ck/t' INTO TABLE t PARTITIONED BY (page) \
        AS SELECT user_id, _key AS page FROM clicks; AWAIT QUERY t";
    disturbed(&folder, "t", &format!("{} {table}", from_topic(&servers)), pause, resume);
    let rows = folder.row("SELECT count(*), count(DISTINCT user_id), max(user_id) FROM t");
    assert_eq!(rows, format!("{0},{0},{1}", all(), all() - 1));
    let pages = "SELECT page, count(*) FROM t GROUP BY page ORDER BY page";
    assert_eq!(folder.rows(pages), views());

    let Some(postgres) = PostgresServer::start("Kafka to PostgreSQL").expect("a server") else {
        return;
    };
    let url = postgres.url();
    let views = format!(
        "{} START QUERY v OUTPUT MODE update TRIGGER AVAILABLE NOW CHECKPOINT 'ck/v' INTO POSTGRES \
         OPTIONS ('url' '{url}', 'table' 'views') AS SELECT page, count(*) AS views FROM clicks \
         GROUP BY page; AWAIT QUERY v",
        from_topic(&servers)
    );
    let stop = || postgres.crash().expect("an end");
    let start = || postgres.resume().expect("a start");
    disturbed(&folder, "v", &views, stop, start);
    let asked = postgres.psql("SELECT page || ',' || views FROM views ORDER BY page");
    let asked = asked.expect("an answer");
    assert_eq!(asked.lines().collect::<Vec<_>>(), self::views());
}

/// Counts, distinct users and the highest one, of a Delta table.
const DELTA: &str = "
import sys
from deltalake import DeltaTable
t = DeltaTable(sys.argv[1])
rows = t.to_pyarrow_table().to_pylist()
users = [row['user_id'] for row in rows]
print(len(users), len(set(users)), max(users), t.version())
import os; sys.stdout.flush(); os._exit(0)
";

#[test]
fn clicks_go_into_a_delta_table_whose_query_is_killed() {
    let Some(python) = python() else { return };
    let folder = clicks();
    let sql = format!(
        "{} START QUERY d TRIGGER AVAILABLE NOW CHECKPOINT 'ck/d' INTO DELTA OPTIONS ('location' 'd') \
         AS SELECT user_id, page FROM clicks; AWAIT QUERY d",
        super::CLICKS
    );
    let process = Process::sql(&folder, &sql);
    let commits = folder.path().join("ck/d/commits");
    within(LONGEST, "two batches", || {
        std::fs::read_dir(&commits).into_iter().flatten().count() > 1
    });
    process.kill();
    folder.sql(&sql).ok();
    let path = folder.path().join("d").display().to_string();
    let told = run_python(&python, DELTA, &[&path]);
    // One version makes the table, each of the others is a batch.
    assert_eq!(told, format!("{0} {0} {1} {FILES}", all(), all() - 1));
    let ran = folder.sql(&sql).ok();
    assert!(ran.out.contains("d has ended: no new batches"), "{}", ran.out);
}
