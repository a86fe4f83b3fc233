//! Colours for what is typed.

use std::ops::Range;

use datafusion::sql::sqlparser::tokenizer::{Token, Whitespace};

use super::keywords::is_keyword;
use super::tokens::{Placed, Tokens};

const KEYWORD: &str = "\x1b[1;36m";
const STRING: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[33m";
const COMMENT: &str = "\x1b[2m";
const COMMAND: &str = "\x1b[35m";
const PLAIN: &str = "\x1b[0m";

/// A line with its keywords, strings, numbers and comments coloured; the lines `before` it decide
/// what is inside a string.
pub fn highlighted(before: &str, line: &str) -> String {
    if before.is_empty() && line.trim_start().starts_with('\\') {
        return format!("{COMMAND}{line}{PLAIN}");
    }
    let text = format!("{before}{line}");
    let Tokens { tokens, open } = Tokens::of(&text);
    let mut shown = String::with_capacity(line.len() * 2);
    let mut paint = |colour: Option<&str>, place: Range<usize>| {
        let text = &text[place.start.max(before.len())..place.end.max(before.len())];
        match colour.filter(|_| !text.is_empty()) {
            Some(colour) => shown.extend([colour, text, PLAIN]),
            None => shown.push_str(text),
        }
    };
    tokens.iter().for_each(|token| paint(colour(token), token.place.clone()));
    if let Some(open) = open {
        let colour = if text[open..].starts_with("/*") { COMMENT } else { STRING };
        paint(Some(colour), open..text.len());
    }
    shown
}

fn colour(token: &Placed) -> Option<&'static str> {
    match &token.token {
        Token::Word(_) => token.word().is_some_and(|word| is_keyword(&word)).then_some(KEYWORD),
        Token::Number(..) => Some(NUMBER),
        Token::Whitespace(
            Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_),
        ) => Some(COMMENT),
        Token::SingleQuotedString(_)
        | Token::DollarQuotedString(_)
        | Token::NationalStringLiteral(_)
        | Token::EscapedStringLiteral(_)
        | Token::HexStringLiteral(_) => Some(STRING),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_token_has_its_colour() {
        let shown = highlighted("", "select zone, 12 FROM 'a' -- c");
        let expected = format!(
            "{KEYWORD}select{PLAIN} zone, {NUMBER}12{PLAIN} {KEYWORD}FROM{PLAIN} \
             {STRING}'a'{PLAIN} {COMMENT}-- c{PLAIN}"
        );
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_line_goes_on_with_what_the_lines_before_it_began() {
        assert_eq!(highlighted("SELECT 'a\n", "b' x"), format!("{STRING}b'{PLAIN} x"));
        assert_eq!(highlighted("/* a\n", "from"), format!("{COMMENT}from{PLAIN}"));
    }

    #[test]
    fn nothing_is_lost_or_added_but_colours() {
        for text in
            ["SELECT 'é' ,\n\t\"Ü\"  /* x", "SELECT 'open; FROM", "\\d t", "1e5 x'00' ~ @", "a\n"]
        {
            assert_eq!(console::strip_ansi_codes(&highlighted("", text)), text, "{text:?}");
        }
    }
}
