//! Other systems, through the Python of the test command.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The interpreter with the readers installed; none: says what is skipped, and fails with CI=true.
///
/// # Panics
/// None is there under CI=true.
pub fn python() -> Option<PathBuf> {
    let found = std::env::var_os("PARTWISE_PYTHON").map(PathBuf::from).filter(|p| p.exists());
    if found.is_none() {
        let ci = std::env::var("CI").is_ok_and(|value| value == "true");
        assert!(!ci, "PARTWISE_PYTHON is not set: run .ci/test");
        println!("skipped: no Python with the other readers; .ci/test sets it up");
    }
    found
}

/// Runs a script with arguments and gives what it printed.
///
/// # Panics
/// It fails, with what it printed.
#[track_caller]
pub fn run_python(python: &Path, script: &str, args: &[&str]) -> String {
    let output = Command::new(python)
        .arg("-c")
        .arg(script)
        .args(args)
        .env("PYTHONWARNINGS", "ignore")
        .output()
        .expect("python runs");
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{script}\n{text}\n{err}");
    text
}
