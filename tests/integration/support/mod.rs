//! What the tests share: a folder with a lake, the binary in it, a small quarter, Python.

pub mod commits;
pub mod job;
pub mod pair;
pub mod postgres;
pub mod process;
pub mod session;
pub mod tmux;
pub mod tree;
pub mod watch;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;

/// The scale of the quarter the tests run on.
pub const SCALE: f64 = 0.02;

/// A working folder of one test, with the lake in `lake/`.
pub struct Folder {
    dir: TempDir,
}

/// What a run of the binary gave.
pub struct Ran {
    /// The exit status; none if a signal ended it.
    pub status: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Folder {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary folder") }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn lake(&self) -> PathBuf {
        self.path().join("lake")
    }

    pub fn table(&self, name: &str) -> PathBuf {
        self.lake().join(name)
    }

    /// The binary, to be run in this folder.
    pub fn partwise(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_partwise"));
        command.current_dir(self.path()).arg("--threads").arg("2");
        command
    }

    /// Runs the binary with these arguments.
    pub fn run(&self, args: &[&str]) -> Ran {
        ran(self.partwise().args(args).output().expect("the binary runs"))
    }

    /// Runs one text of SQL; `${data}` is the small quarter.
    pub fn sql(&self, sql: &str) -> Ran {
        let data = format!("data={}", quarter().display());
        self.run(&["--set", &data, "-c", sql])
    }

    /// Runs SQL that must succeed and gives the rows of its last query as CSV lines, no header.
    pub fn rows(&self, sql: &str) -> Vec<String> {
        let data = format!("data={}", quarter().display());
        let ran = self.run(&["-q", "--format", "csv", "--set", &data, "-c", sql]);
        assert_eq!(ran.status, Some(0), "{sql}\n{}{}", ran.out, ran.err);
        ran.out.lines().skip(1).map(str::to_owned).collect()
    }

    /// The only row of a query.
    pub fn row(&self, sql: &str) -> String {
        let rows = self.rows(sql);
        assert_eq!(rows.len(), 1, "{sql}: {rows:?}");
        rows[0].clone()
    }
}

impl Ran {
    /// Fails the test unless the run ended well.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.status, Some(0), "{}{}", self.out, self.err);
        self
    }

    /// Fails the test unless the run ended with `status` and said each of `words` on stderr.
    #[track_caller]
    pub fn fails(self, status: i32, words: &[&str]) -> Self {
        assert_eq!(self.status, Some(status), "{}{}", self.out, self.err);
        for word in words {
            assert!(self.err.contains(word), "\"{word}\" is not in: {}", self.err);
        }
        self
    }
}

pub fn ran(output: Output) -> Ran {
    Ran {
        status: output.status.code(),
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The small quarter, made once for all tests.
pub fn quarter() -> &'static Path {
    static QUARTER: OnceLock<PathBuf> = OnceLock::new();
    QUARTER.get_or_init(|| {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("quarter-{SCALE}"));
        partwise_taxi::generate(&dir, SCALE, partwise_taxi::Progress::Silent)
            .expect("the small quarter");
        dir
    })
}

/// The figures of the small quarter.
pub fn figures() -> partwise_taxi::Figures {
    partwise_taxi::Figures::at_scale(SCALE).expect("a valid scale")
}

/// The real files, if they are beside the repository; says so when they are not.
pub fn real_data() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let found = dir.join("green_tripdata_2024-01.parquet").exists();
    if !found {
        println!("skipped: the real taxi files are not beside the repository");
    }
    found.then_some(dir)
}
