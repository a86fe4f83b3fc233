//! `sslmode`, against a server with a certificate of its own.

use std::process::Command;
use std::sync::Arc;

use partwise_postgres::PostgresSink;
use partwise_stream::{OutputMode, Result};
use partwise_testkit::PostgresServer;

use crate::kit::{Lab, run};

/// A certificate for `localhost`, its key, signed by itself.
fn certificate(dir: &std::path::Path) -> (Vec<u8>, Vec<u8>) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj"])
        .args(["/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", "key", "-out", "own"])
        .current_dir(dir)
        .output()
        .expect("openssl runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    (std::fs::read(dir.join("own")).unwrap(), std::fs::read(dir.join("key")).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn sslmode_is_honoured() {
    let Some(server) = PostgresServer::start("TLS to PostgreSQL").unwrap() else { return };
    let server = Arc::new(server);
    let lab = Lab::on(Arc::clone(&server), "tls");
    lab.pairs(&[&[(Some(1), 10)]]);
    let write = async |name: &str, host: &str, mode: &str| -> Result<()> {
        let url = format!("postgres://postgres@{host}:{}/postgres?sslmode={mode}", server.port());
        let sink = PostgresSink::new(&url, "tls.t")?;
        let sql = "SELECT k, v FROM pairs";
        run(lab.query(sql, name, OutputMode::Append).await.sink(sink)).await.map(drop)
    };
    let error = write("plain", "localhost", "require").await.unwrap_err().to_string();
    assert!(error.contains("TLS"), "{error}");
    write("prefer0", "localhost", "prefer").await.unwrap();

    let folder = tempfile::tempdir().unwrap();
    let (own, key) = certificate(folder.path());
    let own_file = server.put_file("own", &own).unwrap();
    let key_file = server.put_file("key", &key).unwrap();
    let trusted = folder.path().join("own").display().to_string();
    server.configure("ssl = on").unwrap();
    server.configure(&format!("ssl_cert_file = '{}'", own_file.display())).unwrap();
    server.configure(&format!("ssl_key_file = '{}'", key_file.display())).unwrap();
    server.stop().unwrap();
    server.resume().unwrap();

    write("disable", "localhost", "disable").await.unwrap();
    for (name, mode) in [("prefer", "prefer"), ("require", "require")] {
        write(name, "localhost", mode).await.unwrap();
    }
    let with_file = |mode: &str| format!("{mode}&sslrootcert={trusted}");
    write("full", "localhost", &with_file("verify-full")).await.unwrap();
    write("ca", "127.0.0.1", &with_file("verify-ca")).await.unwrap();
    write("require_file", "127.0.0.1", &with_file("require")).await.unwrap();
    let error = write("name", "127.0.0.1", &with_file("verify-full")).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
    let error = write("unknown", "localhost", "verify-ca").await.unwrap_err();
    assert!(
        error.to_string().contains("TLS") || error.to_string().contains("certificate"),
        "{error}"
    );
    let written = lab.sql(
        "SELECT string_agg(query_name, ' ' ORDER BY written_at) FROM partwise_streams \
                           WHERE batch_id = 0",
    );
    assert_eq!(written, ["prefer0 disable prefer require full ca require_file"]);
}
