//! Completion: what is known, chosen by where the cursor stands.

mod argument;
mod setting;

use rustyline::completion::Pair;

use super::command::COMMANDS;
use super::keywords::{FIRST, INNER, is_reserved};
use super::mentions::{Mention, mentions};
use super::paths;
use super::spot::{Cursor, Spot};

/// What a session knows by name.
pub trait Names {
    /// Its tables.
    fn tables(&self) -> Vec<String>;
    /// The columns of a table, or of files named by a path.
    fn columns(&self, table: &str) -> Vec<String>;
    /// The columns that a table is partitioned by.
    fn partition_columns(&self, table: &str) -> Vec<String>;
    /// Its settings with their values.
    fn settings(&self) -> Vec<(String, String)>;
    /// Its functions.
    fn functions(&self) -> Vec<String>;
}

/// What may stand at `pos`: where it begins, and the candidates in the order of their likelihood.
pub fn complete(line: &str, pos: usize, names: &dyn Names) -> (usize, Vec<Pair>) {
    let Cursor { spot, start } = Cursor::at(&line[..pos]);
    let completer = Completer { line, typed: &line[start..pos], after: &line[pos..], names };
    let mut found = completer.candidates(&spot);
    let mut seen = std::collections::HashSet::new();
    found.retain(|pair| seen.insert(pair.replacement.clone()));
    (start, found)
}

struct Completer<'a> {
    line: &'a str,
    /// What has been typed of the word.
    typed: &'a str,
    after: &'a str,
    names: &'a dyn Names,
}

impl Completer<'_> {
    fn candidates(&self, spot: &Spot) -> Vec<Pair> {
        match spot {
            Spot::Nothing => vec![],
            Spot::Command => self.matching(COMMANDS.iter().map(|(name, ..)| plain(name))),
            Spot::Argument(command) => self.argument(command),
            Spot::Path => paths::complete(self.typed, self.after.starts_with('\'')),
            Spot::PartitionColumn => self.partition_columns(),
            Spot::QuotedName => self.quoted_names(),
            Spot::Setting => self.settings(),
            Spot::Value(setting) => self.values(setting),
            Spot::Table => self.or_keywords(self.tables()),
            Spot::ColumnOf(table) => self.matching(self.columns_of(table)),
            Spot::Start => self.keywords(FIRST),
            Spot::Within => self.within(),
        }
    }

    /// Those that begin with what has been typed, whatever its case.
    fn matching(&self, all: impl IntoIterator<Item = Pair>) -> Vec<Pair> {
        let typed = self.typed.to_lowercase();
        let fits = |pair: &Pair| pair.display.to_lowercase().starts_with(&typed);
        all.into_iter().filter(fits).collect()
    }

    fn partition_columns(&self) -> Vec<Pair> {
        let table = mentions(self.line).into_iter().next().map(|mention| mention.table);
        let columns = table.map(|table| self.names.partition_columns(&table)).unwrap_or_default();
        self.matching(columns.iter().map(|name| column(name)))
    }

    fn tables(&self) -> Vec<Pair> {
        self.matching(self.names.tables().iter().map(|table| {
            let as_it_is = is_plain(table) && !table.contains(char::is_uppercase);
            name(table, !as_it_is)
        }))
    }

    /// In lower case where that is how the word was begun.
    fn keywords(&self, words: &[&str]) -> Vec<Pair> {
        let lower = self.typed.starts_with(char::is_lowercase);
        let spelled = |word: &&str| if lower { word.to_lowercase() } else { (*word).to_owned() };
        let pair = |word: String| Pair { replacement: format!("{word} "), display: word };
        self.matching(words.iter().map(spelled).map(pair))
    }

    fn or_keywords(&self, found: Vec<Pair>) -> Vec<Pair> {
        if found.is_empty() { self.keywords(INNER) } else { found }
    }

    fn within(&self) -> Vec<Pair> {
        let mentioned = mentions(self.line);
        let columns = |tables: &[String]| -> Vec<Pair> {
            let columns = tables.iter().flat_map(|table| self.names.columns(table));
            self.matching(columns.map(|name| column(&name)))
        };
        let tables: Vec<String> = mentioned.iter().map(|m| m.table.clone()).collect();
        let mut found = columns(&tables);
        if self.typed.is_empty() {
            return self.or_keywords(found);
        }
        found.extend(self.keywords(INNER));
        found.extend(self.keywords(&["SELECT", "VALUES", "WITH"]));
        found.extend(
            self.matching(
                self.names.functions().iter().map(|name| Pair {
                    display: format!("{name}("),
                    replacement: format!("{name}("),
                }),
            ),
        );
        found.extend(self.tables());
        if mentioned.is_empty() {
            found.extend(columns(&self.names.tables()));
        }
        found
    }

    fn columns_of(&self, qualifier: &str) -> Vec<Pair> {
        let qualifier = qualifier.to_lowercase();
        let is_meant = |m: &&Mention| {
            m.table.to_lowercase() == qualifier
                || m.alias.as_ref().is_some_and(|alias| alias.to_lowercase() == qualifier)
        };
        let mentioned = mentions(self.line);
        let table = mentioned.iter().find(is_meant).map_or(qualifier.clone(), |m| m.table.clone());
        self.names.columns(&table).iter().map(|name| column(name)).collect()
    }

    fn quoted_names(&self) -> Vec<Pair> {
        let mentioned = mentions(self.line);
        let columns = mentioned.iter().flat_map(|m| self.names.columns(&m.table));
        let close = if self.after.starts_with('"') { "" } else { "\"" };
        let pair = |name: String| Pair {
            replacement: format!("{}{close}", name.replace('"', "\"\"")),
            display: name,
        };
        self.matching(columns.chain(self.names.tables()).map(pair))
    }
}

fn plain(text: &str) -> Pair {
    Pair { display: text.to_owned(), replacement: text.to_owned() }
}

/// Columns match without case, so that upper case needs no quotes.
fn column(text: &str) -> Pair {
    name(text, !is_plain(text) || is_reserved(&text.to_uppercase()))
}

fn name(text: &str, quoted: bool) -> Pair {
    let replacement = match quoted {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    Pair { display: text.to_owned(), replacement }
}

fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Lake;

    impl Names for Lake {
        fn tables(&self) -> Vec<String> {
            ["report", "Retired", "zones"].map(str::to_owned).to_vec()
        }
        fn columns(&self, table: &str) -> Vec<String> {
            let columns: &[&str] = match table {
                "report" => &["pickup_hour", "pickup_month", "trips"],
                "zones" => &["PULocationID", "order", "a b"],
                _ => &[],
            };
            columns.iter().map(|&name| name.to_owned()).collect()
        }
        fn partition_columns(&self, table: &str) -> Vec<String> {
            if table == "report" { vec!["pickup_month".to_owned()] } else { vec![] }
        }
        fn settings(&self) -> Vec<(String, String)> {
            [("datafusion.execution.batch_size", "8192"), ("partwise.prune", "true")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec()
        }
        fn functions(&self) -> Vec<String> {
            vec!["trim".to_owned()]
        }
    }

    /// The candidates where `|` stands.
    fn found(text: &str) -> Vec<String> {
        let pos = text.find('|').unwrap();
        let line = text.replacen('|', "", 1);
        let (start, found) = complete(&line, pos, &Lake);
        assert!(start <= pos);
        found.into_iter().map(|pair| pair.replacement).collect()
    }

    #[test]
    fn keywords_keep_the_case_they_are_begun_in() {
        assert_eq!(found("sel|"), ["select "]);
        assert_eq!(found("INS|"), ["INSERT "]);
    }

    #[test]
    fn the_columns_of_the_statements_tables_come_first() {
        assert_eq!(found("SELECT pick| FROM report"), ["pickup_hour", "pickup_month"]);
        assert_eq!(found("SELECT tr| FROM report"), ["trips", "trigger ", "true ", "trim("]);
        assert_eq!(found("SELECT | FROM report").len(), 3);
        assert_eq!(found("SELECT pulo|"), ["PULocationID"]);
        assert_eq!(found("INSERT OVERWRITE report PARTITION (|"), ["pickup_month"]);
        assert_eq!(found("SELECT 1 FROM report WHERE sel|"), ["select "]);
    }

    #[test]
    fn names_are_quoted_where_they_must_be() {
        assert_eq!(found("SELECT * FROM re|"), ["report", "\"Retired\""]);
        assert_eq!(found("SELECT z.| FROM zones z"), ["PULocationID", "\"order\"", "\"a b\""]);
        assert_eq!(found("SELECT \"a| FROM zones"), [""; 0]);
        assert_eq!(found("SELECT * FROM \"Re|"), ["report\"", "Retired\""]);
    }

    #[test]
    fn settings_and_their_values() {
        assert_eq!(found("SET part|"), ["partwise.prune"]);
        assert_eq!(found("SET |")[0], "partwise.prune");
        assert_eq!(found("SET partwise.prune = f|"), ["false"]);
        assert_eq!(found("SET partwise.distribution = 't|"), ["'tidy'"]);
        assert_eq!(found("SHOW ta|"), ["tables "]);
    }

    #[test]
    fn commands_and_their_arguments() {
        assert_eq!(found("\\t|"), ["\\timing"]);
        assert_eq!(found("\\d zo|"), ["zones"]);
        assert_eq!(found("\\d \"Re|"), ["\"report\"", "\"Retired\""]);
        assert_eq!(found("\\timing o|"), ["on", "off"]);
        assert_eq!(found("SELECT 1 -- se|"), [""; 0]);
    }
}
