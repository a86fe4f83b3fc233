//! The password is nowhere but in the url.

use std::path::Path;

use partwise_postgres::PostgresSink;
use partwise_stream::sink::Sink;
use partwise_stream::{OutputMode, SinkDefinition};

use crate::kit::{Lab, run};

const SECRET: &str = "s3cr3t";

fn contents(dir: &Path, all: &mut String) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => contents(&path, all),
            false => all.push_str(&String::from_utf8_lossy(&std::fs::read(path).unwrap())),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_password_is_in_no_checkpoint_and_no_table() {
    let Some(lab) = Lab::new("secrets") else { return };
    lab.pairs(&[&[(Some(1), 10)]]);
    let url = format!("postgres://postgres:{SECRET}@127.0.0.1:{}/postgres", lab.server.port());
    let sink = PostgresSink::new(&url, "secrets.t").unwrap();
    let options = [("url".to_owned(), url.clone())].into();
    let definition = SinkDefinition { options, ..SinkDefinition::default() };
    let said = format!("{sink:?} {} {definition:?}", sink.describe());
    assert!(said.contains("127.0.0.1") && !said.contains(SECRET), "{said}");
    run(lab.query("SELECT k, v FROM pairs", "q", OutputMode::Append).await.sink(sink))
        .await
        .unwrap();
    let mut all = lab.sql("SELECT * FROM partwise_streams").join("\n");
    contents(&lab.path("ck-q"), &mut all);
    assert!(all.contains(r#"POSTGRES \"secrets\".\"t\""#) && !all.contains(SECRET), "{all}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_password_is_in_no_error() {
    let Some(lab) = Lab::new("secret_errors") else { return };
    lab.pairs(&[&[(Some(1), 10)]]);
    let port = lab.server.port();
    let urls = [
        format!("postgres://nobody:{SECRET}@127.0.0.1:{port}/postgres"),
        format!("postgres://postgres:{SECRET}@127.0.0.1:{port}/nowhere"),
        format!("postgres://postgres:{SECRET}@127.0.0.1:1/postgres"),
        format!("postgres://postgres:{SECRET}@no.such.host.invalid/postgres"),
        format!("postgres://postgres:{SECRET}@127.0.0.1:{port}/postgres?sslmode=require"),
    ];
    for url in urls {
        let sink = PostgresSink::new(&url, "t").unwrap();
        let writer = lab.query("SELECT k, v FROM pairs", "q", OutputMode::Append).await;
        let error = writer.sink(sink).start().await.unwrap_err();
        let mut said = format!("{error} {error:?}");
        let mut cause = std::error::Error::source(&error);
        while let Some(inner) = cause {
            said.push_str(&format!(" {inner} {inner:?}"));
            cause = inner.source();
        }
        assert!(said.contains("POSTGRES ") && !said.contains(SECRET), "{said}");
    }
}
