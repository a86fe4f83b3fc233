//! A server that goes away and comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use partwise_postgres::PostgresSink;
use partwise_stream::{ErrorKind, OutputMode, Step, Trigger};
use partwise_testkit::PostgresServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::kit::{Lab, SUMS, pairs, run};

fn lab(schema: &str, batches: i64) -> Option<Lab> {
    let server = PostgresServer::start("an outage of PostgreSQL").unwrap()?;
    let lab = Lab::on(Arc::new(server), schema);
    let source = lab.pairs(&[]);
    for n in 0..batches {
        let rows: Vec<_> = (0..300).map(|k| (Some(k), n)).collect();
        source.add(pairs(&rows)).unwrap();
    }
    Some(lab)
}

const ASK: &str = "SELECT count(*), min(n), max(n), min(total), max(total) FROM t";

#[tokio::test(flavor = "multi_thread")]
async fn a_query_outlives_stops_and_crashes_of_its_server() {
    const BATCHES: i64 = 60;
    let Some(lab) = lab("outage", BATCHES) else { return };
    let began = Arc::new(AtomicU64::new(0));
    let (noted, server) = (Arc::clone(&began), Arc::clone(&lab.server));
    let writer =
        lab.query(SUMS, "q", OutputMode::Update).await.sink(lab.sink("t").staging_rows(100));
    let writer = writer.before_each_step(move |step, batch| {
        // Some batches begin with a server that is down.
        if step == Step::Sink && batch % 20 == 7 {
            // What isn't told: it may be up again before the end of it was seen.
            let _ = server.stop();
        }
        noted.store(batch, Ordering::SeqCst);
        Ok(())
    });
    let query = writer.start().await.unwrap();
    // It comes back as often as it went, and is cut off at moments of its own choosing besides.
    let server = Arc::clone(&lab.server);
    let running = query.clone();
    let outages = tokio::task::spawn_blocking(move || {
        let mut outages = 0;
        while running.is_running() {
            let down = server.psql("SELECT 1").unwrap() != "1\n";
            if !down && outages % 3 == 1 && server.crash().is_err() {
                continue;
            }
            if server.resume().is_ok() {
                outages += 1;
            }
        }
        outages
    });
    query.await_termination().await.unwrap();
    let outages = outages.await.unwrap();
    println!("{outages} outages in {BATCHES} batches, the last {}", began.load(Ordering::SeqCst));
    assert!(outages >= 3);
    let total: i64 = (0..BATCHES).sum();
    let expected = format!("300|{BATCHES}|{BATCHES}|{total}|{total}");
    assert_eq!(lab.sql(ASK), [expected]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stays_away_ends_the_query_which_goes_on_later() {
    let Some(lab) = lab("away", 3) else { return };
    let sink = || lab.sink("t").retry_for(Duration::from_secs(1));
    let query = async || lab.query(SUMS, "q", OutputMode::Update).await.sink(sink());
    run(query().await.trigger(Trigger::Once)).await.unwrap();
    let server = Arc::clone(&lab.server);
    let stopping = query().await.before_each_step(move |step, _| {
        if step == Step::Sink {
            server.stop().unwrap();
        }
        Ok(())
    });
    let error = run(stopping).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let text = error.to_string();
    assert!(text.contains("1 seconds (option 'retry_seconds')"), "{text}");
    assert!(text.contains("runs again when the query is started"), "{text}");
    lab.server.resume().unwrap();
    assert_eq!(lab.sql(ASK), ["300|1|1|0|0"]);
    run(query().await).await.unwrap();
    assert_eq!(lab.sql(ASK), ["300|3|3|3|3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_has_grown_old_is_no_outage() {
    let Some(lab) = lab("grown_old", 3) else { return };
    let server = Arc::clone(&lab.server);
    let sink = lab.sink("t").retry_for(Duration::ZERO);
    let writer = lab.query(SUMS, "q", OutputMode::Update).await.sink(sink);
    let writer = writer.before_each_step(move |step, _| {
        if step == Step::Sink {
            server.stop().unwrap();
            server.resume().unwrap();
        }
        Ok(())
    });
    run(writer).await.unwrap();
    assert_eq!(lab.sql(ASK), ["300|3|3|3|3"]);
}

/// Between the sink and the server: what the server answers to the commits of the first batches is
/// lost, and the connection with it. The port to connect to, and how many are still to be lost.
async fn losing_answers(
    server: u16,
    times: usize,
    then: impl Fn() + Send + Sync + 'static,
) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let left = Arc::new(AtomicUsize::new(times));
    let counted = Arc::clone(&left);
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(("127.0.0.1", server)).await.unwrap();
            if relay(client, server, counted.load(Ordering::SeqCst) > 0, &then).await {
                counted.fetch_sub(1, Ordering::SeqCst);
            }
        }
    });
    (port, left)
}

/// Passes bytes on until one side ends; true where it cut off the answer to a batch's commit.
async fn relay(
    mut client: TcpStream,
    mut server: TcpStream,
    lose: bool,
    then: &(impl Fn() + Send + Sync),
) -> bool {
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let (mut recorded, mut committing) = (false, false);
    let has = |bytes: &[u8], word: &[u8]| bytes.windows(word.len()).any(|part| part == word);
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(read @ 1..) = read else { return false };
                recorded |= has(&asked[..read], b"SET earlier");
                committing |= lose && recorded && has(&asked[..read], b"COMMIT");
                server.write_all(&asked[..read]).await.unwrap();
            }
            read = server.read(&mut answered) => {
                let Ok(read @ 1..) = read else { return false };
                if committing {
                    then();
                    return true;
                }
                client.write_all(&answered[..read]).await.unwrap();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_whose_answer_is_lost_is_not_repeated() {
    for (schema, mode, sql, rows) in [
        ("lost_update", OutputMode::Update, SUMS, "300|3"),
        ("lost_append", OutputMode::Append, "SELECT k, 3 AS n, v AS total FROM pairs", "900|3"),
    ] {
        let Some(lab) = Lab::new(schema) else { return };
        let source = lab.pairs(&[]);
        for n in 0..3 {
            let rows: Vec<_> = (0..300).map(|k| (Some(k), n)).collect();
            source.add(pairs(&rows)).unwrap();
        }
        let (port, left) = losing_answers(lab.server.port(), 2, || ()).await;
        let url = format!("postgres://postgres@127.0.0.1:{port}/postgres?sslmode=disable");
        let sink = PostgresSink::new(&url, &format!("{schema}.t")).unwrap();
        let query = run(lab.query(sql, "q", mode).await.sink(sink)).await.unwrap();
        let outputs: Vec<_> = query.history().iter().map(|batch| batch.output_rows).collect();
        assert_eq!(outputs, [Some(300); 3]);
        assert_eq!(lab.sql("SELECT count(*), min(n) FROM t"), [rows]);
        assert_eq!(left.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_is_held_ends_the_query_by_its_name() {
    let Some(lab) = Lab::new("locked") else { return };
    let source = lab.pairs(&[&[(Some(1), 1)]]);
    let writer = async || {
        let sink = lab.sink("t").retry_for(Duration::from_secs(1));
        lab.query(SUMS, "q", OutputMode::Update).await.sink(sink)
    };
    run(writer().await).await.unwrap();
    let (holder, connection) =
        tokio_postgres::connect(&lab.server.url(), tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let holder = Arc::new(holder);
    for (lock, says) in [
        ("LOCK TABLE locked.t IN SHARE MODE", "\"locked\".\"t\" is locked by another session"),
        ("SELECT 1 FROM locked.t FOR UPDATE", "a row of \"locked\".\"t\" is locked"),
        ("SELECT 1 FROM locked.partwise_streams FOR UPDATE", "the row of q in \"locked\".\"part"),
    ] {
        source.add(pairs(&[(Some(1), 1)])).unwrap();
        let holding = Arc::clone(&holder);
        let locked_out = writer().await.before_each_step(move |step, _| {
            if step == Step::Sink {
                let begin = format!("BEGIN; {lock}");
                let held = holding.batch_execute(&begin);
                let now = tokio::runtime::Handle::current();
                tokio::task::block_in_place(|| now.block_on(held)).unwrap();
            }
            Ok(())
        });
        let error = run(locked_out).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{lock}: {error}");
        assert!(error.to_string().contains(says), "{lock}: {error}");
        holder.batch_execute("ROLLBACK").await.unwrap();
        run(writer().await).await.unwrap();
    }
    assert_eq!(lab.sql("SELECT k, n FROM t"), ["1|4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_read_only_for_a_while_is_waited_for() {
    let Some(lab) = Lab::new("read_only") else { return };
    let source = lab.pairs(&[]);
    (0..3).for_each(|n| source.add(pairs(&[(Some(1), n)])).unwrap());
    lab.sql("CREATE ROLE demoted SUPERUSER LOGIN");
    let url = lab.server.url().replace("postgres@", "demoted@");
    let sink = PostgresSink::new(&url, "read_only.t").unwrap();
    let server = Arc::clone(&lab.server);
    let writer = lab.query(SUMS, "q", OutputMode::Update).await.sink(sink);
    let writer = writer.before_each_step(move |step, batch| {
        if (step, batch) == (Step::Sink, 1) {
            let demote = "ALTER ROLE demoted SET default_transaction_read_only = on; SELECT \
                          pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'demoted'";
            server.psql(demote).unwrap();
        }
        Ok(())
    });
    let query = writer.start().await.unwrap();
    let (server, running) = (Arc::clone(&lab.server), query.clone());
    let promoting = tokio::task::spawn_blocking(move || {
        while running.is_running() {
            if server.log().unwrap().contains("in a read-only transaction") {
                server.psql("ALTER ROLE demoted RESET ALL").unwrap();
                return true;
            }
        }
        false
    });
    query.await_termination().await.unwrap();
    assert!(promoting.await.unwrap());
    assert_eq!(lab.sql("SELECT k, n FROM t"), ["1|3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_whose_commit_nobody_knows_of_stays_planned() {
    let Some(lab) = Lab::new("unknown") else { return };
    lab.pairs(&[&[(Some(1), 1)], &[(Some(1), 2)]]);
    lab.sql("CREATE ROLE locked_out SUPERUSER LOGIN");
    let server = Arc::clone(&lab.server);
    // The answer is lost, and then the server lets nobody of that name in.
    let shut = move || drop(server.psql("ALTER ROLE locked_out NOLOGIN").unwrap());
    let (port, _) = losing_answers(lab.server.port(), 1, shut).await;
    let url = format!("postgres://locked_out@127.0.0.1:{port}/postgres?sslmode=disable");
    let writer = async || {
        let sink = PostgresSink::new(&url, "unknown.t").unwrap();
        lab.query("SELECT k, v FROM pairs", "q", OutputMode::Append).await.sink(sink)
    };
    let error = run(writer().await).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("not permitted to log in"), "{error}");
    assert!(error.to_string().contains("answer to its COMMIT was lost"), "{error}");
    lab.sql("ALTER ROLE locked_out LOGIN");
    let query = run(writer().await).await.unwrap();
    let batches: Vec<_> = query.history().iter().map(|b| (b.batch, b.output_rows)).collect();
    assert_eq!(batches, [(0, None), (1, Some(1))]);
    assert_eq!(lab.sql("SELECT k, v FROM t ORDER BY v"), ["1|1", "1|2"]);
}
