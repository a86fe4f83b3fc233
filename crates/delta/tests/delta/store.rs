//! Delta tables on an object store.

use std::collections::BTreeMap;

use partwise_delta::DeltaSink;
use partwise_stream::OutputMode::{Append, Complete, Update};
use partwise_testkit::S3Server;

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
