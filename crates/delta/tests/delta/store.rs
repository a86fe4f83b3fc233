//! Delta tables on an object store.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use partwise_delta::DeltaSink;
use partwise_stream::ErrorKind::Unavailable;
use partwise_stream::OutputMode::{Append, Complete, Update};
use partwise_testkit::S3Server;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::kit::{Lab, forget_last_commit, run};
use crate::modes::PAIRS;
use crate::python::{python, run_python};

fn settings(endpoint: &str) -> BTreeMap<String, String> {
    let settings = [
        ("aws.endpoint", endpoint),
        ("aws.region", "us-east-1"),
        ("aws.access_key_id", S3Server::KEY),
        ("aws.secret_access_key", S3Server::SECRET),
    ];
    settings.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

const COUNT: &str = r#"
import sys
from deltalake import DeltaTable
options = {"AWS_ENDPOINT_URL": sys.argv[2], "AWS_REGION": "us-east-1", "AWS_ALLOW_HTTP": "true",
           "AWS_ACCESS_KEY_ID": sys.argv[3], "AWS_SECRET_ACCESS_KEY": sys.argv[4]}
table = DeltaTable(sys.argv[1], storage_options=options)
print(table.version(), table.to_pyarrow_table().num_rows)
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_table_on_s3_has_each_batch_once() {
    let Some(server) = S3Server::shared("Delta tables on S3").unwrap() else { return };
    for (at, mode) in [(0, Append), (2, Update), (4, Complete)] {
        let lab = Lab::with_trips(4).await;
        let (sql, location) = (PAIRS[at].0, format!("s3://{}/delta/{mode}", S3Server::BUCKET));
        let sink = || DeltaSink::new(&location, &settings(&server.endpoint())).unwrap();
        run(lab.query(sql, "q", mode).await.sink(sink())).await.unwrap();
        forget_last_commit(&lab.path("ck-q"));
        let again = run(lab.query(sql, "q", mode).await.sink(sink())).await.unwrap();
        assert_eq!(again.progress().unwrap().output_rows, None);
        let Some(python) = python() else { return };
        let arguments = [&location, &server.endpoint(), S3Server::KEY, S3Server::SECRET];
        let said = run_python(&python, COUNT, &arguments);
        assert_eq!(said, format!("2 {}", lab.batch(sql).await.len()), "{sql}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_refuses_is_named_and_no_secret_shown() {
    let lab = Lab::with_trips(2).await;
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || refuse(&listener));
    let sink = DeltaSink::new("s3://lake/t", &settings(&format!("http://{address}"))).unwrap();
    let error = run(lab.query(PAIRS[0].0, "q", Append).await.sink(sink)).await.unwrap_err();
    assert_eq!(error.kind(), Unavailable);
    let said = format!("{error} {error:?}");
    assert!(said.contains("s3://lake") && !said.contains(S3Server::SECRET), "{said}");
    drop(std::net::TcpStream::connect(address).unwrap());
    server.join().unwrap();
}

/// Answers each request with a refusal that repeats a secret, until one is empty.
fn refuse(listener: &std::net::TcpListener) {
    use std::io::{Read, Write};
    while let Ok((mut stream, _)) = listener.accept() {
        let read = stream.read(&mut [0; 4096]).unwrap_or(0);
        let body = format!("<Error><Message>{}</Message></Error>", S3Server::SECRET);
        let head = format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {}\r\n", body.len());
        let _ = write!(stream, "{head}Connection: close\r\n\r\n{body}");
        if read == 0 {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_of_which_nobody_knows_is_looked_for_again() {
    let Some(server) = S3Server::shared("Delta tables on S3").unwrap() else { return };
    for (at, mode) in [(0, Append), (2, Update), (4, Complete)] {
        let lab = Lab::with_trips(4).await;
        let (sql, location) = (PAIRS[at].0, format!("s3://{}/unknown/{mode}", S3Server::BUCKET));
        // The table is made in version 0, so that batch 1 is in version 2.
        let commit = format!("unknown/{mode}/_delta_log/00000000000000000002.json");
        let (endpoint, away) = away_after(server.endpoint(), commit).await;
        let writer = async || {
            let sink = DeltaSink::new(&location, &settings(&endpoint)).unwrap();
            lab.query(sql, "q", mode).await.sink(sink)
        };
        let error = run(writer().await).await.unwrap_err();
        assert!(away.load(Ordering::SeqCst), "{error}");
        assert_eq!(error.kind(), Unavailable, "{error}");
        assert!(error.to_string().contains("runs again when the query is started"), "{error}");
        away.store(false, Ordering::SeqCst);
        let query = run(writer().await).await.unwrap();
        let batches: Vec<_> =
            query.history().iter().map(|b| (b.batch, b.replayed, b.output_rows)).collect();
        assert_eq!(batches, [(1, true, None)]);
    }
}

/// An endpoint before another: once an object has been put, its answer is passed on and nothing
/// more, as long as the flag is set.
async fn away_after(endpoint: String, put: String) -> (String, Arc<AtomicBool>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let own = format!("http://{}", listener.local_addr().unwrap());
    let (away, flag) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let (shared, put) = (Arc::clone(&away), Arc::new(format!("{put} HTTP")));
    tokio::spawn(async move {
        loop {
            let (client, _) = listener.accept().await.unwrap();
            let server = TcpStream::connect(endpoint.trim_start_matches("http://")).await.unwrap();
            tokio::spawn(relay(
                client,
                server,
                Arc::clone(&put),
                Arc::clone(&shared),
                Arc::clone(&flag),
            ));
        }
    });
    (own, away)
}

/// Passes bytes on until one side ends; `done` is set when it has seen the object put.
async fn relay(
    mut client: TcpStream,
    mut server: TcpStream,
    put: Arc<String>,
    away: Arc<AtomicBool>,
    done: Arc<AtomicBool>,
) {
    let (mut asked, mut answered) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut putting = false;
    loop {
        tokio::select! {
            read = client.read(&mut asked) => {
                let Ok(read @ 1..) = read else { return };
                if away.load(Ordering::SeqCst) {
                    let no = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                    let _ = client.write_all(no).await;
                    return;
                }
                let text = String::from_utf8_lossy(&asked[..read]);
                putting |= text.starts_with("PUT ") && text.contains(put.as_str());
                server.write_all(&asked[..read]).await.unwrap();
            }
            read = server.read(&mut answered) => {
                let Ok(read @ 1..) = read else { return };
                if std::mem::take(&mut putting) && !done.swap(true, Ordering::SeqCst) {
                    away.store(true, Ordering::SeqCst);
                }
                client.write_all(&answered[..read]).await.unwrap();
            }
        }
    }
}
