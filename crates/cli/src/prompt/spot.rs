//! Where the cursor stands in a statement: what would fit there.

use datafusion::sql::sqlparser::tokenizer::{Token, Whitespace};

use super::tokens::{Placed, Tokens};

/// What fits at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spot {
    /// Nothing that we know: a comment.
    Nothing,
    /// A `\` command.
    Command,
    /// What stands behind a `\` command.
    Argument(String),
    /// A path.
    Path,
    /// A column that the table is partitioned by.
    PartitionColumn,
    /// A quoted name.
    QuotedName,
    /// The name of a setting.
    Setting,
    /// The value of a setting.
    Value(String),
    /// A table.
    Table,
    /// A column of a table or its alias.
    ColumnOf(String),
    /// The first word of a statement.
    Start,
    /// Any word inside a statement.
    Within,
}

/// The spot, and where what has been typed of it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// What fits.
    pub spot: Spot,
    /// Where the part that is typed begins; up to the cursor.
    pub start: usize,
}

/// Words that a table's name follows.
const BEFORE_TABLE: &[&str] = &[
    "FROM",
    "JOIN",
    "INTO",
    "OVERWRITE",
    "TABLE",
    "UPDATE",
    "DESCRIBE",
    "PARTITIONS",
    "HISTORY",
    "OPTIMIZE",
    "VACUUM",
];

/// Words that a path follows, beside those that a table does.
const BEFORE_PATH: &[&str] = &["LOCATION", "TO", "COPY"];

/// Words that begin a clause; a comma belongs to the last of them.
const CLAUSES: &[&str] =
    &["SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "BY", "ON", "SET", "VALUES"];

impl Cursor {
    /// Looks at the text in front of the cursor.
    pub fn at(before: &str) -> Self {
        if before.trim_start().starts_with('\\') {
            return Self::in_command(before);
        }
        let Tokens { tokens, open } = Tokens::of(before);
        let statement = tokens.rsplit(|t| t.token == Token::SemiColon).next().unwrap_or(&[]);
        match open {
            Some(open) => Self::in_open(before, open, statement),
            None if in_comment(before, statement) => Self::new(Spot::Nothing, before.len()),
            None => Self::in_statement(before, statement),
        }
    }

    fn new(spot: Spot, start: usize) -> Self {
        Self { spot, start }
    }

    fn in_command(before: &str) -> Self {
        let begin = before.len() - before.trim_start().len();
        match before[begin..].split_once(char::is_whitespace) {
            None => Self::new(Spot::Command, begin),
            Some((name, argument)) => {
                let typed = argument.trim_start().len();
                Self::new(Spot::Argument(name.to_owned()), before.len() - typed)
            }
        }
    }

    fn in_open(before: &str, open: usize, statement: &[Placed]) -> Self {
        match before[open..].chars().next() {
            Some('\'') => match setting_of(before, &solid(statement)) {
                Some(setting) => Self::new(Spot::Value(setting), open),
                None if takes_path(&solid(statement)) => Self::new(Spot::Path, open + 1),
                None => Self::new(Spot::Nothing, before.len()),
            },
            Some('"') => Self::new(Spot::QuotedName, open + 1),
            _ => Self::new(Spot::Nothing, before.len()),
        }
    }

    fn in_statement(before: &str, statement: &[Placed]) -> Self {
        let dotted = start_of(before, |c| is_word(c) || c == '.');
        let tokens = solid_before(statement, dotted);
        if let [only] = tokens.as_slice()
            && only.word().is_some_and(|word| ["SET", "RESET", "SHOW"].contains(&word.as_str()))
        {
            return Self::new(Spot::Setting, dotted);
        }
        if let Some(setting) = setting_of(before, &tokens) {
            return Self::new(Spot::Value(setting), dotted);
        }
        let start = start_of(before, is_word);
        Self::new(word_spot(&solid_before(statement, start)), start)
    }
}

fn word_spot(tokens: &[&Placed]) -> Spot {
    let Some(last) = tokens.last() else { return Spot::Start };
    match &last.token {
        Token::Period => tokens
            .iter()
            .nth_back(1)
            .and_then(|table| table.name())
            .map_or(Spot::Nothing, |table| Spot::ColumnOf(table.to_owned())),
        Token::LParen | Token::Comma if is_in_partition(tokens) => Spot::PartitionColumn,
        _ if takes_table(tokens) => Spot::Table,
        _ => Spot::Within,
    }
}

/// Whether the tokens are followed by a table.
fn takes_table(tokens: &[&Placed]) -> bool {
    let Some(last) = tokens.last() else { return false };
    match &last.token {
        Token::Comma => last_clause(tokens).as_deref() == Some("FROM"),
        _ => last.word().is_some_and(|word| BEFORE_TABLE.contains(&word.as_str())),
    }
}

/// Whether a string behind the tokens is a path: also that of a function which gives a table.
fn takes_path(tokens: &[&Placed]) -> bool {
    match tokens {
        [.., last] if last.word().is_some_and(|word| BEFORE_PATH.contains(&word.as_str())) => true,
        [front @ .., _, paren] if paren.token == Token::LParen => takes_table(front),
        _ => takes_table(tokens),
    }
}

/// Whether the parenthesis that is open is that of a PARTITION.
fn is_in_partition(tokens: &[&Placed]) -> bool {
    let open = tokens.iter().rposition(|t| [Token::LParen, Token::RParen].contains(&t.token));
    match open.map(|open| (&tokens[open].token, &tokens[..open])) {
        Some((Token::LParen, [.., word])) => word.word().as_deref() == Some("PARTITION"),
        _ => false,
    }
}

fn last_clause(tokens: &[&Placed]) -> Option<String> {
    tokens.iter().rev().filter_map(|t| t.word()).find(|word| CLAUSES.contains(&word.as_str()))
}

/// The setting whose value comes next: `SET name =` or `SET name TO`.
fn setting_of(before: &str, tokens: &[&Placed]) -> Option<String> {
    let (first, last) = (tokens.first()?, tokens.last()?);
    let assigns = last.token == Token::Eq || last.word().as_deref() == Some("TO");
    (first.word()? == "SET" && assigns)
        .then(|| before[first.place.end..last.place.start].trim().to_owned())
}

fn in_comment(before: &str, statement: &[Placed]) -> bool {
    let last = statement.last().map(|t| &t.token);
    let comment = matches!(last, Some(Token::Whitespace(Whitespace::SingleLineComment { .. })));
    comment && !before.ends_with('\n')
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Where the run of such characters at the end begins.
fn start_of(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.trim_end_matches(belongs).len()
}

fn solid(tokens: &[Placed]) -> Vec<&Placed> {
    tokens.iter().filter(|t| t.is_solid()).collect()
}

fn solid_before(tokens: &[Placed], end: usize) -> Vec<&Placed> {
    tokens.iter().filter(|t| t.is_solid() && t.place.end <= end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spot(before: &str) -> Spot {
        Cursor::at(before).spot
    }

    #[test]
    fn commands_and_their_arguments() {
        assert_eq!(spot("\\t"), Spot::Command);
        assert_eq!(Cursor::at("\\d re"), Cursor::new(Spot::Argument("\\d".into()), 3));
    }

    #[test]
    fn a_statement_starts_after_a_semicolon() {
        assert_eq!(spot("SEL"), Spot::Start);
        assert_eq!(spot("SELECT 1; IN"), Spot::Start);
        assert_eq!(spot("SELECT "), Spot::Within);
    }

    #[test]
    fn tables_come_after_the_words_they_belong_to() {
        for before in [
            "SELECT * FROM ",
            "SELECT * FROM a, b",
            "select * from a join ",
            "INSERT INTO re",
            "SHOW PARTITIONS ",
        ] {
            assert_eq!(spot(before), Spot::Table, "{before}");
        }
        assert_eq!(spot("SELECT a, b"), Spot::Within);
        assert_eq!(spot("SELECT * FROM t WHERE a IN (1, "), Spot::Within);
    }

    #[test]
    fn a_dot_asks_for_columns() {
        assert_eq!(Cursor::at("SELECT r.tr"), Cursor::new(Spot::ColumnOf("r".into()), 9));
    }

    #[test]
    fn quotes_hold_paths_or_names() {
        assert_eq!(Cursor::at("SELECT * FROM 'da"), Cursor::new(Spot::Path, 15));
        assert_eq!(Cursor::at("SELECT \"PU"), Cursor::new(Spot::QuotedName, 8));
        assert_eq!(spot("SELECT 1 -- fr"), Spot::Nothing);
        assert_eq!(spot("SELECT 1 /* fr"), Spot::Nothing);
    }

    #[test]
    fn a_string_is_a_path_only_where_one_may_stand() {
        for before in [
            "SELECT * FROM a, 'da",
            "COPY t TO 'da",
            "CREATE TABLE t (a INT) USING parquet LOCATION 'da",
            "SELECT * FROM history('da",
        ] {
            assert_eq!(spot(before), Spot::Path, "{before}");
        }
        for before in ["SELECT * FROM t WHERE day = '", "SELECT 'a", "SELECT upper('a"] {
            assert_eq!(spot(before), Spot::Nothing, "{before}");
        }
    }

    #[test]
    fn a_partition_has_the_columns_of_its_table() {
        let partition = Spot::PartitionColumn;
        assert_eq!(spot("INSERT OVERWRITE t PARTITION ("), partition);
        assert_eq!(spot("INSERT OVERWRITE t PARTITION (day = 1, ho"), partition);
        assert_eq!(spot("ALTER TABLE t DROP PARTITION (day = 1), PARTITION (ho"), partition);
        assert_eq!(spot("INSERT OVERWRITE t PARTITION (day) SELECT (a, "), Spot::Within);
    }

    #[test]
    fn settings_have_dots_and_values() {
        assert_eq!(Cursor::at("SET partwise.pr"), Cursor::new(Spot::Setting, 4));
        assert_eq!(spot("RESET "), Spot::Setting);
        let value = Spot::Value("partwise.prune".into());
        assert_eq!(spot("SET partwise.prune = t"), value);
        assert_eq!(Cursor::at("SET partwise.prune TO 't"), Cursor::new(value, 22));
    }
}
