//! What has been typed, taken apart: `\` commands and statements.

use partwise_sql::split_statements;

/// One thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A `\` command.
    Command(String),
    /// One or more statements.
    Sql(String),
}

/// A piece and the line it starts on, counted from 1.
pub type Numbered = (usize, Piece);

/// Whether Enter ends the input: a command is one line, a statement ends with its semicolon.
pub fn is_whole(typed: &str) -> bool {
    const PROBE: &str = "partwise_probe";
    if !says_something(typed) || is_command(typed) {
        return true;
    }
    if !typed.contains(';') {
        return false;
    }
    // A word put behind the text becomes a statement of its own exactly when the last one has ended.
    match split_statements(&format!("{typed}\n{PROBE}")) {
        Ok(all) => all.last().is_some_and(|last| last.text == PROBE),
        Err(error) => !says_unfinished(&error.to_string()),
    }
}

/// Whether the tokenizer only misses an end, so that typing on can mend the text.
fn says_unfinished(error: &str) -> bool {
    error.contains("nterminated") || error.contains("EOF")
}

/// Takes a text apart; a command stands on a line of its own, where no statement has begun.
pub fn pieces(text: &str) -> Vec<Numbered> {
    let mut pieces = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        let begun = open.as_ref().is_some_and(|(_, sql)| says_something(sql));
        if !begun && is_command(line) {
            pieces.push((index + 1, Piece::Command(line.trim().to_owned())));
            continue;
        }
        let (_, sql) = open.get_or_insert((index + 1, String::new()));
        sql.push_str(line);
        sql.push('\n');
        if says_something(sql) && is_whole(sql) {
            pieces.extend(open.take().map(sql_piece));
        }
    }
    pieces.extend(open.filter(|(_, sql)| says_something(sql)).map(sql_piece));
    pieces
}

fn sql_piece((line, sql): (usize, String)) -> Numbered {
    (line, Piece::Sql(sql))
}

/// Whether a line is a command.
pub fn is_command(line: &str) -> bool {
    line.trim_start().starts_with('\\')
}

/// Whether there is more than white space and comments.
pub fn says_something(sql: &str) -> bool {
    !sql.trim().is_empty() && split_statements(sql).map_or(true, |all| !all.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_whole_at_its_own_semicolon() {
        for whole in [
            "SELECT 1;",
            "SELECT ';';\n",
            "SELECT 1; -- done\n",
            "",
            "-- nothing yet\n",
            "SELECT 1; SELECT 2;",
            "\\d report",
        ] {
            assert!(is_whole(whole), "{whole:?}");
        }
        for open in ["SELECT 1", "SELECT ';", "SELECT 1 -- done;\n", "SELECT 1; SELECT", "/* ; "] {
            assert!(!is_whole(open), "{open:?}");
        }
    }

    fn command(line: usize, text: &str) -> Numbered {
        (line, Piece::Command(text.to_owned()))
    }

    fn sql(line: usize, text: &str) -> Numbered {
        (line, Piece::Sql(text.to_owned()))
    }

    #[test]
    fn commands_stand_alone_where_no_statement_says_something() {
        let text = "-- first\n\\timing off\nSELECT 1,\n\\d\n; SELECT 2;\n \\q \nSELECT 3";
        let expected = [
            command(2, "\\timing off"),
            sql(1, "-- first\nSELECT 1,\n\\d\n; SELECT 2;\n"),
            command(6, "\\q"),
            sql(7, "SELECT 3\n"),
        ];
        assert_eq!(pieces(text), expected);
        assert_eq!(pieces("  \n-- nothing\n"), []);
    }
}
