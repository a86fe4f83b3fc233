//! The commands of the pages, typed word for word in an empty folder, give what the pages show.
//!
//! In a page, a `console` block holds commands behind `$ ` (a command goes on over the next lines
//! while a `"` is open) and their output; a block with `file=NAME` is what a reader puts into NAME.
//! A line `...` stands for any lines.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Folder, quarter, ran};
use partwise_testkit::python;

/// What a page has its reader do.
enum Step {
    Put { name: String, text: String },
    Type { command: String, shown: Vec<String> },
}

/// Which of the numbers in an output have to be those of the page.
#[derive(Clone, Copy)]
enum Numbers {
    /// All but times and sizes.
    Exact,
    /// None: the page was written with more data.
    Any,
}

#[test]
fn each_page_under_docs_can_be_followed_word_for_word() {
    let pages = fs::read_dir(root().join("docs")).expect("the pages");
    let pages = pages.map(|entry| entry.expect("an entry").path());
    let pages: Vec<PathBuf> =
        pages.filter(|page| page.extension() == Some("md".as_ref())).collect();
    let typed: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = pages
            .iter()
            .map(|page| scope.spawn(|| follow(page, &Folder::new(), Numbers::Exact)))
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a page that is right")).sum()
    });
    assert!(typed > 40, "{typed} commands");
}

#[test]
fn the_transcripts_of_the_readme_can_be_typed() {
    let folder = Folder::new();
    std::os::unix::fs::symlink(quarter(), folder.path().join("data")).expect("a link");
    assert!(follow(&root().join("README.md"), &folder, Numbers::Any) > 3);
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Does all that a page says, and compares; gives the number of commands.
fn follow(page: &Path, folder: &Folder, numbers: Numbers) -> usize {
    let text = fs::read_to_string(page).expect("a page");
    let mut status = Some(0);
    let mut typed = 0;
    for step in steps(&text) {
        match step {
            Step::Put { name, text } => {
                fs::write(folder.path().join(name), text).expect("a file of the page");
            }
            Step::Type { command, shown } => {
                let python = command.starts_with("python ").then(python);
                if python.as_ref().is_some_and(Option::is_none) {
                    continue;
                }
                let mut shell = shell(folder, &command, status, python.flatten());
                let done = ran(shell.output().expect("a shell"));
                let said: Vec<_> = done.out.lines().map(|line| normal(line, numbers)).collect();
                let shown: Vec<_> = shown.iter().map(|line| normal(line, numbers)).collect();
                let page = page.display();
                assert!(
                    alike(&shown, &said),
                    "{page}\n$ {command}\n{}\nshown:\n{}",
                    done.out,
                    shown.join("\n")
                );
                status = done.status;
                typed += 1;
            }
        }
    }
    typed
}

/// The command after one that ended with `status`, both outputs in one; this Python is `python`.
fn shell(folder: &Folder, command: &str, status: Option<i32>, python: Option<PathBuf>) -> Command {
    let programs = [Some(PathBuf::from(env!("CARGO_BIN_EXE_partwise"))), python];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places: Vec<PathBuf> = programs
        .into_iter()
        .flatten()
        .filter_map(|program| program.parent().map(Path::to_path_buf))
        .chain(std::env::split_paths(&path))
        .collect();
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(format!("exec 2>&1\n(exit {})\n{command}", status.unwrap_or(1)))
        .current_dir(folder.path())
        .env("PATH", std::env::join_paths(places).expect("places"))
        .env("LC_ALL", "C")
        .env("PYTHONWARNINGS", "ignore");
    shell
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let Some(info) = line.strip_prefix("```") else { continue };
        let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        if info == "console" {
            steps.extend(commands(&block));
        } else if let Some((_, name)) = info.split_once("file=") {
            steps.push(Step::Put { name: name.to_owned(), text: block.join("\n") + "\n" });
        }
    }
    steps
}

fn commands(block: &[&str]) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block {
        match steps.last_mut() {
            Some(Step::Type { command, .. }) if command.matches('"').count() % 2 == 1 => {
                command.push('\n');
                command.push_str(line);
            }
            last => match (line.strip_prefix("$ "), last) {
                (Some(command), _) => {
                    steps.push(Step::Type { command: command.to_owned(), shown: Vec::new() });
                }
                (None, Some(Step::Type { shown, .. })) => shown.push((*line).to_owned()),
                (None, _) => panic!("output before a command: {line}"),
            },
        }
    }
    steps
}

/// A line without what differs from run to run.
fn normal(line: &str, numbers: Numbers) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let unit = |word: &str| match word.trim_end_matches([',', ')']) {
        "s" | "ms" | "min" => Some("time"),
        "B" | "kB" | "MB" | "GB" => Some("size"),
        _ => None,
    };
    let measure = |at: usize| words.get(at + 1).is_some_and(|next| unit(next).is_some());
    let word = |(at, word): (usize, &&str)| match *word {
        word if word.starts_with("_partwise-") => "_partwise-ID".to_owned(),
        word if measure(at) => without_numbers(word),
        word => match (unit(word), numbers) {
            (Some(unit), _) => unit.to_owned(),
            (None, Numbers::Any) => without_numbers(word),
            (None, Numbers::Exact) => word.to_owned(),
        },
    };
    words.iter().enumerate().map(word).collect::<Vec<_>>().join(" ")
}

/// Each number in a word as `#`, with its commas and points.
fn without_numbers(word: &str) -> String {
    let mut kept = String::new();
    for (at, c) in word.char_indices() {
        let inside = kept.ends_with('#') && matches!(c, ',' | '.');
        let more = word[at + c.len_utf8()..].starts_with(|next: char| next.is_ascii_digit());
        match c {
            '0'..='9' if kept.ends_with('#') => {}
            '0'..='9' => kept.push('#'),
            _ if inside && more => {}
            _ => kept.push(c),
        }
    }
    kept
}

fn alike(shown: &[String], said: &[String]) -> bool {
    match shown {
        [] => said.is_empty(),
        [dots, rest @ ..] if dots == "..." => {
            (0..=said.len()).any(|skipped| alike(rest, &said[skipped..]))
        }
        [line, rest @ ..] => said.first() == Some(line) && alike(rest, &said[1..]),
    }
}
