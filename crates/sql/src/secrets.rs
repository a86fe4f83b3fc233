//! What a statement gives away, and how it is kept out of messages: the values of its options.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use partwise_commit::{hide_secrets, is_secret};

use crate::Error;

/// A statement's text as others may see it.
pub fn hidden(sql: &str) -> String {
    let secrets = of(sql);
    hide_secrets(sql, secrets.iter().map(String::as_str))
}

/// Whether a statement's text gives away a secret.
pub fn is_given_away(sql: &str) -> bool {
    !of(sql).is_empty()
}

/// The error of a statement without its secrets.
pub(crate) fn without(sql: &str, error: Error) -> Error {
    let secrets = of(sql);
    let text = error.to_string();
    match secrets.iter().any(|secret| text.contains(secret.as_str())) {
        true => Error::new(error.kind(), hide_secrets(&text, secrets.iter().map(String::as_str))),
        false => error,
    }
}

/// The secrets in a statement's `OPTIONS (..)`, the longest first.
fn of(sql: &str) -> Vec<String> {
    // Most statements have none.
    if !sql.to_ascii_lowercase().contains("options") {
        return vec![];
    }
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize().unwrap_or_default();
    let mut tokens = tokens.iter().filter(|token| !matches!(token, Token::Whitespace(_)));
    let mut secrets = Vec::new();
    while let Some(token) = tokens.next() {
        let is_options =
            matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case("options"));
        if is_options && tokens.next() == Some(&Token::LParen) {
            secrets.extend(in_options(&mut tokens));
        }
    }
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets
}

/// The secrets up to the closing parenthesis: a value's name is what stands in front of it.
fn in_options<'a>(tokens: &mut impl Iterator<Item = &'a Token>) -> Vec<String> {
    let mut secrets = Vec::new();
    let mut name = String::new();
    for token in tokens.take_while(|token| **token != Token::RParen) {
        match token {
            Token::Word(word) => name.push_str(&word.value),
            Token::Period => name.push('.'),
            Token::Eq => {}
            Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) => {
                secrets.extend(secret_of(&name, text));
                name = if name.is_empty() { text.clone() } else { String::new() };
            }
            _ => name.clear(),
        }
    }
    secrets
}

/// What of a value is secret: all of it by its name, or the password of an address.
fn secret_of(name: &str, value: &str) -> Option<String> {
    if !name.is_empty() && is_secret(name) {
        return (!value.is_empty()).then(|| value.to_owned());
    }
    let password = url::Url::parse(value).ok()?.password()?.to_owned();
    (!password.is_empty()).then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_of_options_are_hidden_however_they_are_written() {
        for sql in [
            "CREATE TABLE t LOCATION 's3://b/t' OPTIONS ('aws.secret_access_key' 'hush') AS SELECT 1",
            "COPY t TO 's3://b/t' options(aws.secret_access_key 'hush', 'mode' 'overwrite')",
            "CREATE TABLE t OPTIONS ('a' 'b', 'aws.session_token' = 'hush')",
            "START QUERY q INTO POSTGRES OPTIONS ('url' 'postgres://me:hush@host/db') AS SELECT 1",
        ] {
            assert!(is_given_away(sql), "{sql}");
            assert!(!hidden(sql).contains("hush"), "{}", hidden(sql));
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for sql in [
            "SELECT 'token' 'x'",
            "CREATE TABLE t OPTIONS ('compression' 'zstd(3)', 'aws.access_key_id' 'me')",
            "SELECT * FROM options WHERE password = 'x'",
        ] {
            assert_eq!(hidden(sql), sql);
        }
    }

    #[test]
    fn an_error_keeps_its_kind_and_loses_the_secret() {
        let sql = "COPY t TO 's3://b' OPTIONS ('aws.secret_access_key' 'hush')";
        let error = without(sql, Error::unsupported("what is hush?"));
        assert_eq!(error.to_string(), "what is ***?");
        assert_eq!(error.kind(), crate::ErrorKind::Unsupported);
    }
}
