//! PostgreSQL, in a folder and on a port of its own, to answer the same statements.

use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A server that ends with the value.
pub struct Postgres {
    dir: TempDir,
    bin: PathBuf,
    port: u16,
}

/// What a statement gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The number of rows that it says it changed, and those that a query finds afterwards.
    Rows(u64, Vec<String>),
    /// The error.
    Error(String),
}

/// Where Debian puts the server's programs.
const HOME: &str = "/usr/lib/postgresql";

impl Postgres {
    /// Starts one; none where it isn't installed: says what is skipped, and fails with CI=true.
    pub fn start() -> Option<Self> {
        let Some(bin) = programs() else {
            let ci = std::env::var("CI").is_ok_and(|value| value == "true");
            assert!(!ci, "PostgreSQL is not installed: apt-get install postgresql");
            println!("skipped: no PostgreSQL to compare with");
            return None;
        };
        let dir = tempfile::tempdir().expect("a temporary folder");
        let port = free_port();
        let server = Self { dir, bin, port };
        let data = server.dir.path().display();
        if is_root() {
            let chown = Command::new("chown").arg("postgres").arg(server.dir.path()).status();
            assert!(chown.expect("chown runs").success());
        }
        server.run(&format!("initdb -D {data}/pg -A trust -U postgres -E UTF8 --locale=C"));
        server.run(&format!(
            "pg_ctl -D {data}/pg -o '-p {port} -c listen_addresses=127.0.0.1 -c fsync=off -k {data}' \
             -l {data}/log -w start"
        ));
        Some(server)
    }

    /// Runs one of the server's programs as its user, which isn't root.
    fn run(&self, command: &str) {
        let line = format!("{}/{command} >/dev/null", self.bin.display());
        let mut shell = match is_root() {
            true => Command::new("su"),
            false => Command::new("sh"),
        };
        if is_root() {
            shell.arg("postgres");
        }
        let status = shell.current_dir("/").arg("-c").arg(&line).status().expect("a shell");
        assert!(status.success(), "{line}");
    }

    /// What each statement gives, each on the tables as `setup` makes them; `ask` is the query for
    /// the rows afterwards.
    pub fn answers(&self, setup: &str, statements: &[&str], ask: &str) -> Vec<Answer> {
        let mut script = String::new();
        for statement in statements {
            script.push_str(&format!(
                "\\set QUIET on\nBEGIN;\n{setup}\n\\set QUIET off\n\\echo #\n{statement};\n\
                 \\set QUIET on\n{ask};\nROLLBACK;\n"
            ));
        }
        let said = self.psql(&script);
        let answers: Vec<Answer> = said.split("#\n").skip(1).map(answer).collect();
        assert_eq!(answers.len(), statements.len(), "{said}");
        answers
    }

    /// What psql prints for a script, errors in their places.
    fn psql(&self, script: &str) -> String {
        let psql = format!(
            "exec psql -X -h 127.0.0.1 -p {} -U postgres -At -P null=NULL -v VERBOSITY=terse 2>&1",
            self.port
        );
        let mut child = Command::new("sh")
            .arg("-c")
            .arg(psql)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("psql runs");
        let mut stdin = child.stdin.take().expect("its input");
        let script = script.to_owned();
        let feeds = std::thread::spawn(move || stdin.write_all(script.as_bytes()));
        let output = child.wait_with_output().expect("psql ends");
        feeds.join().expect("the script is fed").expect("psql reads it");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let data = self.dir.path().join("pg");
        if data.join("postmaster.pid").exists() {
            self.run(&format!("pg_ctl -D {} -m immediate stop", data.display()));
        }
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("its address").port()
}

fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir(Path::new(HOME)).ok()?;
    let bins = versions.filter_map(|version| Some(version.ok()?.path().join("bin")));
    bins.filter(|bin| bin.join("initdb").exists()).max()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// `DELETE 2`, then the rows; or an error.
fn answer(said: &str) -> Answer {
    if let Some(error) = said.lines().find(|line| line.contains("ERROR:")) {
        return Answer::Error(error.to_owned());
    }
    let mut lines = said.lines();
    let tag = lines.next().unwrap_or_default();
    let count = tag.rsplit(' ').next().and_then(|count| count.parse().ok());
    let count = count.unwrap_or_else(|| panic!("{tag} names no count: {said}"));
    Answer::Rows(count, lines.map(str::to_owned).collect())
}
