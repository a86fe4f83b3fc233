//! A real PostgreSQL on loopback, for as long as a test wants it.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

/// Where Debian puts the server's programs.
const HOME: &str = "/usr/lib/postgresql";

/// Stops the server when the input ends, and removes its folder.
const KEEPER: &str = r#"
trap "" HUP INT TERM
dir=$1; shift
cat >/dev/null
"$@" stop -m immediate >/dev/null 2>&1
rm -rf "$dir"
"#;

/// How long a start or a stop is waited for.
const LONGEST_SECONDS: &str = "20";

/// A running PostgreSQL, trusting whoever connects as `postgres`. It ends, and its folder goes, with
/// the value, and with the process that started it, however that ends.
pub struct PostgresServer {
    dir: PathBuf,
    bin: PathBuf,
    port: u16,
    /// Ends it when the input that this holds is closed.
    keeper: Child,
}

impl PostgresServer {
    /// The server of this process, started if no other test has it running. None where there is no
    /// PostgreSQL: what is skipped for that is printed, and under `CI=true` that is an error.
    pub fn shared(skipped: &str) -> io::Result<Option<Arc<Self>>> {
        static RUNNING: Mutex<Option<Result<Option<Arc<PostgresServer>>, String>>> =
            Mutex::new(None);
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        let start = || match Self::start(skipped) {
            Ok(started) => Ok(started.map(Arc::new)),
            Err(error) => Err(error.to_string()),
        };
        // One that didn't start is not waited for by each test.
        running.get_or_insert_with(start).clone().map_err(io::Error::other)
    }

    /// A server of a test's own, to be stopped and started. None as for [`shared`](Self::shared).
    pub fn start(skipped: &str) -> io::Result<Option<Self>> {
        let Some(bin) = programs() else {
            eprintln!("skipped: {skipped}: there is no PostgreSQL (apt-get install postgresql)");
            let ci = std::env::var("CI").is_ok_and(|ci| ci == "true");
            return if ci { Err(io::Error::other("CI without PostgreSQL")) } else { Ok(None) };
        };
        let dir = tempfile::Builder::new().prefix("postgres").tempdir()?.keep();
        if is_root() {
            done(&Command::new("chown").arg("postgres").arg(&dir).output()?)?;
        }
        let data = dir.join("pg");
        let arguments = ["-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"];
        let mut initdb = as_its_user(&bin.join("initdb"));
        done(&initdb.arg("-D").arg(&data).args(arguments).output()?)?;
        let mut keeper = as_its_user(Path::new("sh"));
        keeper.args(["-c", KEEPER, "sh"]).arg(&dir).arg(bin.join("pg_ctl")).arg("-D").arg(&data);
        let keeper = keeper.stdin(Stdio::piped()).spawn()?;
        let server = Self { dir, bin, port: free_port()?, keeper };
        server.resume()?;
        Ok(Some(server))
    }

    /// Starts it again, on the same port.
    pub fn resume(&self) -> io::Result<()> {
        let options = format!(
            "-p {} -c listen_addresses=127.0.0.1 -c fsync=off -k {}",
            self.port,
            self.dir.display()
        );
        let log = self.dir.join("log");
        self.control(&["-o", &options, "-l", &log.to_string_lossy(), "-w", "start"])
    }

    /// Stops it as its administrator would: whoever is connected is cut off.
    pub fn stop(&self) -> io::Result<()> {
        self.control(&["-m", "fast", "-w", "stop"])
    }

    /// Stops it as a loss of power would.
    pub fn crash(&self) -> io::Result<()> {
        self.control(&["-m", "immediate", "-w", "stop"])
    }

    /// Sets something in its configuration, from the next start on.
    pub fn configure(&self, setting: &str) -> io::Result<()> {
        let file = self.dir.join("pg").join("postgresql.conf");
        writeln!(fs::OpenOptions::new().append(true).open(file)?, "{setting}")
    }

    /// Puts a file that only it can read into its folder, for settings that name one.
    pub fn put_file(&self, name: &str, content: &[u8]) -> io::Result<PathBuf> {
        let path = self.dir.join(name);
        fs::write(&path, content)?;
        if is_root() {
            done(&Command::new("chown").arg("postgres").arg(&path).output()?)?;
        }
        done(&Command::new("chmod").arg("600").arg(&path).output()?)?;
        Ok(path)
    }

    /// What it has written into its log.
    pub fn log(&self) -> io::Result<String> {
        fs::read_to_string(self.dir.join("log"))
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The url of its database `postgres`, for the user of that name.
    pub fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/postgres", self.port)
    }

    /// What psql prints for a script, errors in their places: no headers, `|` between columns, NULL
    /// as `NULL`.
    pub fn psql(&self, script: &str) -> io::Result<String> {
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 2>&1"])
            .arg(self.bin.join("psql"))
            .args(["-X", "-h", "127.0.0.1", "-p", &self.port.to_string(), "-U", "postgres"])
            .args(["-At", "-P", "null=NULL", "-v", "VERBOSITY=terse"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take();
        let script = script.to_owned();
        let feeds = std::thread::spawn(move || match stdin {
            Some(mut stdin) => stdin.write_all(script.as_bytes()),
            None => Ok(()),
        });
        let output = child.wait_with_output()?;
        feeds.join().map_err(|_| io::Error::other("the script wasn't fed"))??;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn control(&self, arguments: &[&str]) -> io::Result<()> {
        let mut control = as_its_user(&self.bin.join("pg_ctl"));
        control.arg("-D").arg(self.dir.join("pg")).args(arguments);
        // A server that holds a pipe of ours would keep whoever reads it waiting.
        control.env("PGCTLTIMEOUT", LONGEST_SECONDS);
        let status = control.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        match status.success() {
            true => Ok(()),
            false => {
                let log = self.log().unwrap_or_default();
                Err(io::Error::other(format!("pg_ctl {}: {log}", arguments.join(" "))))
            }
        }
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.keeper.stdin.take());
        // Nothing is left to be told.
        let _ = self.keeper.wait();
    }
}

impl fmt::Debug for PostgresServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PostgresServer({})", self.port)
    }
}

/// A command as the user that the server runs as, which isn't root.
fn as_its_user(program: &Path) -> Command {
    let mut command = match is_root() {
        true => Command::new("setpriv"),
        false => Command::new(program),
    };
    if is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--init-groups"]).arg(program);
    }
    command.current_dir("/");
    command
}

fn done(output: &Output) -> io::Result<()> {
    match output.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// The programs of the latest version that is installed.
fn programs() -> Option<PathBuf> {
    let versions = fs::read_dir(HOME).ok()?;
    let bins = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    bins.filter(|bin| bin.join("initdb").exists()).max()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
