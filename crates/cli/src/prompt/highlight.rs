//! Colours for what is typed.

use datafusion::sql::sqlparser::tokenizer::{Token, Whitespace};

use super::keywords::is_keyword;
use super::tokens::{Placed, Tokens};

const KEYWORD: &str = "\x1b[1;36m";
const STRING: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[33m";
const COMMENT: &str = "\x1b[2m";
const COMMAND: &str = "\x1b[35m";
const PLAIN: &str = "\x1b[0m";

/// Whether colours are wanted: not with NO_COLOR, not on a terminal that has none.
pub fn wants_colours() -> bool {
    let says_no = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    !says_no && !dumb
}

/// The text with its keywords, strings, numbers and comments coloured.
pub fn highlighted(text: &str) -> String {
    if text.trim_start().starts_with('\\') {
        return format!("{COMMAND}{text}{PLAIN}");
    }
    let Tokens { tokens, open } = Tokens::of(text);
    let mut shown = String::with_capacity(text.len() * 2);
    for token in &tokens {
        paint(&mut shown, colour(token), &text[token.place.clone()]);
    }
    if let Some(open) = open {
        let rest = &text[open..];
        let colour = if rest.starts_with("/*") { COMMENT } else { STRING };
        paint(&mut shown, Some(colour), rest);
    }
    shown
}

fn paint(shown: &mut String, colour: Option<&str>, text: &str) {
    match colour {
        Some(colour) => shown.extend([colour, text, PLAIN]),
        None => shown.push_str(text),
    }
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
        let shown = highlighted("select zone, 12 FROM 'a' -- c");
        let expected = format!(
            "{KEYWORD}select{PLAIN} zone, {NUMBER}12{PLAIN} {KEYWORD}FROM{PLAIN} \
             {STRING}'a'{PLAIN} {COMMENT}-- c{PLAIN}"
        );
        assert_eq!(shown, expected);
    }

    #[test]
    fn nothing_is_lost_or_added_but_colours() {
        for text in
            ["SELECT 'é' ,\n\t\"Ü\"  /* x", "SELECT 'open; FROM", "\\d t", "1e5 x'00' ~ @", "a\n"]
        {
            assert_eq!(console::strip_ansi_codes(&highlighted(text)), text, "{text:?}");
        }
    }
}
