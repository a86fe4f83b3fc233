//! The tables that a statement mentions, with their aliases.

use datafusion::sql::sqlparser::tokenizer::Token;

use super::keywords::is_keyword;
use super::tokens::{Placed, Tokens};

/// A table in a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Its name, or a path.
    pub table: String,
    /// The name that the statement gives it.
    pub alias: Option<String>,
}

const BEFORE_TABLE: &[&str] =
    &["FROM", "JOIN", "INTO", "OVERWRITE", "TABLE", "UPDATE", "DESCRIBE", "OPTIMIZE"];

/// The tables mentioned in a text, in their order.
pub fn mentions(text: &str) -> Vec<Mention> {
    let tokens: Vec<Placed> =
        Tokens::of(text).tokens.into_iter().filter(Placed::is_solid).collect();
    let mut found = Vec::new();
    let mut in_from = false;
    for (i, token) in tokens.iter().enumerate() {
        let word = token.word().unwrap_or_default();
        let introduces = BEFORE_TABLE.contains(&word.as_str());
        if introduces || (in_from && token.token == Token::Comma) {
            found.extend(mention(&tokens[i + 1..]));
        }
        if is_keyword(&word) && word != "AS" {
            in_from = word == "FROM";
        }
    }
    found
}

/// The name that the tokens begin with, and the alias behind it.
fn mention(tokens: &[Placed]) -> Option<Mention> {
    let mut table = folded(tokens.first()?)?;
    let mut rest = &tokens[1..];
    while let [dot, part, ..] = rest
        && dot.token == Token::Period
    {
        table = folded(part)?;
        rest = &rest[2..];
    }
    if rest.first().is_some_and(|t| t.word().as_deref() == Some("AS")) {
        rest = &rest[1..];
    }
    let alias = rest.first().filter(|t| matches!(t.token, Token::Word(_))).and_then(folded);
    Some(Mention { table, alias })
}

/// A name as it is looked up; none for a word of the language.
fn folded(token: &Placed) -> Option<String> {
    match token.word() {
        Some(word) if is_keyword(&word) => None,
        Some(_) => token.name().map(str::to_lowercase),
        None => token.name().map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(String, Option<String>)> {
        mentions(text).into_iter().map(|m| (m.table, m.alias)).collect()
    }

    fn plain(table: &str) -> (String, Option<String>) {
        (table.to_owned(), None)
    }

    fn aliased(table: &str, alias: &str) -> (String, Option<String>) {
        (table.to_owned(), Some(alias.to_owned()))
    }

    #[test]
    fn names_paths_and_aliases_are_found() {
        let text = "SELECT x FROM Report r, 'data/*.parquet' AS d JOIN public.\"Zones\" ON a = b";
        let expected = [aliased("report", "r"), aliased("data/*.parquet", "d"), plain("Zones")];
        assert_eq!(found(text), expected);
    }

    #[test]
    fn targets_are_mentioned_too() {
        let text = "INSERT OVERWRITE report PARTITION (m) SELECT a, b FROM trips WHERE";
        assert_eq!(found(text), [plain("report"), plain("trips")]);
        assert_eq!(found("INSERT INTO TABLE t SELECT"), [plain("t")]);
        assert_eq!(found("OPTIMIZE t WHERE "), [plain("t")]);
        assert_eq!(found("ALTER TABLE t DROP PARTITION ("), [plain("t")]);
        assert_eq!(found("SELECT a, b FROM"), []);
    }
}
