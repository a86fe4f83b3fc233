//! The tokens of a text that may not be finished, with their places.

use std::ops::Range;

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, Tokenizer};

/// A token and the bytes it stands on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// The token; white space and comments too.
    pub token: Token,
    /// Its bytes in the text.
    pub place: Range<usize>,
}

impl Placed {
    /// An unquoted word in upper case.
    pub fn word(&self) -> Option<String> {
        match &self.token {
            Token::Word(word) if word.quote_style.is_none() => Some(word.value.to_uppercase()),
            _ => None,
        }
    }

    /// What a name or a path stands for; none for other tokens.
    pub fn name(&self) -> Option<&str> {
        match &self.token {
            Token::Word(word) => Some(&word.value),
            Token::SingleQuotedString(path) => Some(path),
            _ => None,
        }
    }

    /// Whether it says something: no white space, no comment.
    pub fn is_solid(&self) -> bool {
        !matches!(self.token, Token::Whitespace(_))
    }
}

/// A text cut into tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tokens {
    /// The tokens up to the end, or to what has none.
    pub tokens: Vec<Placed>,
    /// Where a string, a quoted name or a comment begins that doesn't end.
    pub open: Option<usize>,
}

impl Tokens {
    /// Cuts a text.
    pub fn of(text: &str) -> Self {
        let mut found = Vec::new();
        let whole = Tokenizer::new(&GenericDialect {}, text)
            .tokenize_with_location_into_buf(&mut found)
            .is_ok();
        let places = Places::of(text);
        let tokens: Vec<Placed> = found
            .into_iter()
            .map(|t| {
                let place = places.byte(t.span.start)..places.byte(t.span.end);
                Placed { token: t.token, place }
            })
            .collect();
        let end = tokens.last().map_or(0, |last| last.place.end);
        Self { tokens, open: (!whole).then_some(end) }
    }
}

/// Where each line of a text starts, to turn a tokenizer's line and column into bytes.
struct Places<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Places<'a> {
    fn of(text: &'a str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1));
        Self { text, starts: starts.collect() }
    }

    fn byte(&self, at: Location) -> usize {
        let Some(&start) = self.starts.get((at.line as usize).saturating_sub(1)) else {
            return self.text.len();
        };
        let column = (at.column as usize).saturating_sub(1);
        let within = self.text[start..].char_indices().nth(column);
        within.map_or(self.text.len(), |(i, _)| start + i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        let tokens = Tokens::of(text).tokens.into_iter();
        tokens.filter(Placed::is_solid).map(|t| &text[t.place]).collect()
    }

    #[test]
    fn every_token_knows_its_place() {
        let text = "SELECT 'é',\n  \"Ü x\" -- c\nFROM t";
        assert_eq!(texts(text), ["SELECT", "'é'", ",", "\"Ü x\"", "FROM", "t"]);
        assert_eq!(Tokens::of(text).open, None);
    }

    #[test]
    fn what_does_not_end_is_open_from_its_start() {
        assert_eq!(Tokens::of("SELECT 'a").open, Some(7));
        assert_eq!(Tokens::of("SELECT 1 /* a").open, Some(9));
        assert_eq!(Tokens::of("SELECT \"a").open, Some(7));
    }
}
