//! The command line: what may be given, and in which order it runs.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

const EXAMPLES: &str = "\
Examples:
  partwise                                     a prompt on the tables in ./lake
  partwise -c \"SHOW TABLES\"                    one statement
  partwise --set day=2024-01-15 -f job.sql     a script, ${day} filled in
  partwise --format csv -q -c \"SELECT ...\"     results alone, for another program
  partwise demo --scale 0.02                   the lessons on small data, in seconds

At the prompt:
  `\\?` tells the commands (\\d, \\timing, \\explain, \\limit, \\x, \\pager); Tab completes.
  ~/.partwiserc        statements and commands that run at its start (not with -q)
  ~/.partwise_history  what was typed in earlier sessions
  PAGER, NO_COLOR      what \\pager runs; no colours

Ctrl-C cancels the statement that runs; pressed again it ends a -c or -f at once, and tells how to
leave the prompt.

Exit status:
  0 done   1 a statement failed   2 bad usage   3 stopped by guard or scope
  4 conflict with another writer (try again)   130 cancelled with Ctrl-C   143 with SIGTERM

Queries (START QUERY) that still run when the statements are through are waited for; with TRIGGER
EVERY they run until Ctrl-C or SIGTERM, which ends them after the running batch, exit status 0. One
that is waited for by AWAIT QUERY ends too, but its statement is cancelled: 130 or 143.";

/// A directory of Parquet files as a table whose partitions are the unit of replacement.
#[derive(Debug, Parser)]
#[command(name = "partwise", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Arguments {
    /// How statements are run.
    #[command(flatten)]
    pub engine: EngineArguments,

    /// Run these statements (separated by `;`) and exit; may be repeated
    #[arg(short = 'c', long = "command", value_name = "SQL")]
    pub commands: Vec<String>,

    /// Run this script and exit (`-` is standard input); may be repeated, runs in the order given among -c
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub files: Vec<PathBuf>,

    /// Fill ${NAME} in scripts and -c; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_variable)]
    pub variables: Vec<(String, String)>,

    /// How results are printed
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,

    /// Print results alone: no commit lines, no notices
    #[arg(short, long)]
    pub quiet: bool,

    /// What to do instead of running statements.
    #[command(subcommand)]
    pub subcommand: Option<Task>,
}

/// What every way of running statements takes.
#[derive(Debug, Clone, Default, Args)]
pub struct EngineArguments {
    /// The folder or bucket prefix (s3://bucket/prefix) whose tables are seen; `none`: no lake, plain tables live in memory [default: ./lake, the demo's ./lake-demo]
    #[arg(long, value_name = "DIR")]
    pub lake: Option<PathBuf>,

    /// Memory that queries may use before they spill to disk, such as 512m or 4g [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub memory_limit: Option<usize>,

    /// Worker threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<usize>,
}

impl EngineArguments {
    /// These arguments, and where they say nothing, the others.
    pub fn or(self, other: Self) -> Self {
        Self {
            lake: self.lake.or(other.lake),
            memory_limit: self.memory_limit.or(other.memory_limit),
            threads: self.threads.or(other.threads),
        }
    }
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Make the taxi quarter if it isn't there, walk through the lessons, compare every figure
    Demo(DemoArguments),
    /// Make the calibrated (synthetic) taxi quarter: three Parquet files and the zone lookup
    Taxi(TaxiArguments),
}

/// `partwise demo`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "The lessons replace tables of their lake: report, trips and others. \
    Files of the real TLC quarter in the data folder are used as they are.")]
pub struct DemoArguments {
    /// Where the taxi files are, or will be made [default: ./data, or ./data/scale-X]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,

    /// Size of the quarter: 1 is the published one, 0.02 takes seconds
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub scale: f64,

    /// The same as before the subcommand, which these go before.
    #[command(flatten)]
    pub engine: EngineArguments,
}

/// `partwise taxi`.
#[derive(Debug, Clone, Args)]
pub struct TaxiArguments {
    /// The folder to write to
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,

    /// Size of the quarter: 1 is the published one
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    pub scale: f64,

    /// Print the shapes of the data: hours, zones, amounts; data that is there is only described
    #[arg(long)]
    pub describe: bool,

    /// Worker threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = parse_threads)]
    pub threads: Option<usize>,
}

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns, for people
    Table,
    /// Comma-separated, with a header
    Csv,
    /// Tab-separated, with a header
    Tsv,
    /// One JSON array per result
    Json,
    /// One JSON object per row
    NdJson,
}

/// Statements to run, in the order of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The text of a `-c`.
    Command(String),
    /// A script.
    File(PathBuf),
    /// Standard input.
    Stdin,
}

/// A command line that has been read: the arguments and the order of `-c` and `-f`.
#[derive(Debug)]
pub struct CommandLine {
    /// The arguments.
    pub arguments: Arguments,
    /// `-c` and `-f` in the order given.
    pub inputs: Vec<Input>,
}

impl CommandLine {
    /// How statements are run, said before or behind the subcommand.
    pub fn engine(&self) -> EngineArguments {
        let before = self.arguments.engine.clone();
        match &self.arguments.subcommand {
            Some(Task::Demo(demo)) => demo.engine.clone().or(before),
            Some(Task::Taxi(taxi)) => {
                EngineArguments { threads: taxi.threads, ..before.clone() }.or(before)
            }
            None => before,
        }
    }

    /// Reads a command line, the program's name first.
    ///
    /// # Errors
    /// Bad usage, and requests for help or the version: clap's error knows how to print each.
    pub fn read<I, T>(line: I) -> Result<Self, clap::Error>
    where
        I: IntoIterator<Item = T>,
        T: Into<OsString> + Clone,
    {
        let matches = Arguments::command().try_get_matches_from(line)?;
        let arguments = Arguments::from_arg_matches(&matches)?;
        let inputs = ordered_inputs(&arguments, &matches);
        if arguments.subcommand.is_some() && !inputs.is_empty() {
            return Err(Arguments::command().error(
                ErrorKind::ArgumentConflict,
                "-c and -f run statements; they can't be combined with a subcommand",
            ));
        }
        Ok(Self { arguments, inputs })
    }
}

fn ordered_inputs(arguments: &Arguments, matches: &ArgMatches) -> Vec<Input> {
    let indices = |id: &str| matches.indices_of(id).into_iter().flatten().collect::<Vec<_>>();
    let commands = arguments.commands.iter().cloned().map(Input::Command);
    let files = arguments.files.iter().map(|path| match path.as_os_str() == "-" {
        true => Input::Stdin,
        false => Input::File(path.clone()),
    });
    let mut placed: Vec<(usize, Input)> = indices("commands").into_iter().zip(commands).collect();
    placed.extend(indices("files").into_iter().zip(files));
    placed.sort_by_key(|(index, _)| *index);
    placed.into_iter().map(|(_, input)| input).collect()
}

fn parse_variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected NAME=VALUE")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(format!("`{name}` is not a name: use letters, digits and _"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

fn parse_threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) | Err(_) => Err("expected a number of threads, 1 or more".to_owned()),
        Ok(threads) => Ok(threads),
    }
}

/// `512m`, `4g`, `1.5g`, `1048576` (bytes); k, m, g, t count by 1024, in either case, `b` or `ib` after them allowed.
fn parse_bytes(text: &str) -> Result<usize, String> {
    let wrong = || format!("`{text}` is not a size: write 512m or 4g");
    let lower = text.trim().to_ascii_lowercase();
    let split = lower.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(lower.len());
    let (digits, unit) = lower.split_at(split);
    let unit_bytes: u64 = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" => 1,
        "k" => 1 << 10,
        "m" => 1 << 20,
        "g" => 1 << 30,
        "t" => 1 << 40,
        _ => return Err(wrong()),
    };
    let number: f64 = digits.parse().map_err(|_| wrong())?;
    let bytes = number * unit_bytes as f64;
    if bytes < 1.0 || bytes > usize::MAX as f64 {
        return Err(wrong());
    }
    Ok(bytes as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[&str]) -> Result<CommandLine, clap::Error> {
        CommandLine::read([&["partwise"], line].concat())
    }

    #[test]
    fn the_definition_holds_together() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn commands_and_files_keep_the_order_given() {
        let line = read(&["-f", "a.sql", "-c", "SELECT 1", "-f", "-", "-c", "SELECT 2"]).unwrap();
        let expected = [
            Input::File("a.sql".into()),
            Input::Command("SELECT 1".into()),
            Input::Stdin,
            Input::Command("SELECT 2".into()),
        ];
        assert_eq!(line.inputs, expected);
    }

    #[test]
    fn the_lake_may_stand_behind_the_subcommand() {
        for line in [&["--lake", "x", "demo"], &["demo", "--lake", "x"]] {
            let read = read(line).unwrap();
            assert_eq!(read.engine().lake, Some("x".into()));
            assert!(matches!(read.arguments.subcommand, Some(Task::Demo(_))));
        }
    }

    #[test]
    fn statements_and_a_subcommand_exclude_each_other() {
        let error = read(&["-c", "SELECT 1", "demo"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn a_variable_is_a_name_and_a_value() {
        let line = read(&["--set", "day=2024-01-15", "--set", "where=a=b"]).unwrap();
        let expected = [("day", "2024-01-15"), ("where", "a=b")];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(line.arguments.variables, expected);
        for wrong in ["day", "=1", "a b=1"] {
            assert_eq!(read(&["--set", wrong]).unwrap_err().exit_code(), 2, "{wrong}");
        }
    }

    #[test]
    fn sizes_are_read_with_their_unit() {
        let sizes = ["1048576", "512m", "4g", "4GiB", "1.5k", "2 g"].map(parse_bytes);
        let bytes = [1 << 20, 512 << 20, 4 << 30, 4 << 30, 1536].map(Ok);
        assert_eq!(sizes[..5], bytes);
        assert!(sizes[5].is_err());
        for wrong in ["", "m", "4q", "-1", "0"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn taxi_needs_a_folder() {
        assert_eq!(read(&["taxi", "--describe"]).unwrap_err().exit_code(), 2);
        assert!(read(&["taxi", "--out", "d", "--scale", "0.1"]).is_ok());
    }
}
