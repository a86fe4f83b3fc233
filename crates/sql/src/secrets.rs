//! What a statement gives away, and how it is kept out of messages: the values of its options.

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};
use partwise_commit::{hide_secrets, is_secret, is_store_option};
use percent_encoding::percent_decode_str;

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
    without_these(&secrets, error, &text)
}

/// An error of this text without these secrets.
pub(crate) fn without_these(secrets: &[String], error: Error, text: &str) -> Error {
    match secrets.iter().any(|secret| text.contains(secret.as_str())) {
        true => Error::new(error.kind(), hide_secrets(text, secrets.iter().map(String::as_str))),
        false => error,
    }
}

/// The secrets in a statement, the longest first: values behind the names of options and settings
/// that hold one, and what an address gives away.
pub(crate) fn of(sql: &str) -> Vec<String> {
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize().unwrap_or_default();
    let mut read = Names::default();
    let mut secrets = Vec::new();
    for token in tokens.iter().filter(|token| !matches!(token, Token::Whitespace(_))) {
        secrets.extend(read.next(token));
    }
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.dedup();
    secrets
}

/// Follows `name value` and `name = value`, where a name is words with periods or a text.
#[derive(Default)]
struct Names {
    in_options: bool,
    name: String,
    /// The name so far may go on: it ends with a period, or is empty.
    open: bool,
}

impl Names {
    /// The secrets that the next token gives away.
    fn next(&mut self, token: &Token) -> Vec<String> {
        match token {
            Token::LParen if self.name.eq_ignore_ascii_case("options") => {
                (self.in_options, self.open) = (true, true);
                self.name.clear();
            }
            Token::Word(word) if word.value.eq_ignore_ascii_case("options") => {
                (self.name, self.open) = (word.value.clone(), false);
            }
            Token::Word(word) if self.open || self.name.is_empty() => {
                self.name.push_str(&word.value);
                self.open = false;
            }
            Token::Word(word) => return self.value(&word.value, true),
            Token::Period => {
                self.name.push('.');
                self.open = true;
            }
            Token::Eq | Token::LParen => {}
            Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) => {
                return self.value(text, false);
            }
            Token::RParen => (self.in_options, self.name) = (false, String::new()),
            _ => self.name.clear(),
        }
        vec![]
    }

    /// A value behind a name, or a name itself.
    fn value(&mut self, text: &str, is_word: bool) -> Vec<String> {
        let name = std::mem::take(&mut self.name);
        self.open = false;
        let counts = is_secret(&name) && (self.in_options || is_store_option(&name));
        if counts && !text.is_empty() {
            return vec![text.to_owned()];
        }
        if name.is_empty() || is_word || !self.in_options {
            self.name = text.to_owned();
        }
        in_address(text)
    }
}

/// What an address gives away: its password, and the values of its query, as they are written and
/// as they are meant.
fn in_address(text: &str) -> Vec<String> {
    let Ok(url) = url::Url::parse(text) else { return in_pairs(text) };
    let query = url.query().unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
    let values = query.map(|(_, value)| value).chain(url.password());
    let spellings = values.flat_map(|value| {
        let meant = percent_decode_str(value).decode_utf8_lossy().into_owned();
        [value.to_owned(), meant]
    });
    spellings.filter(|value| !value.is_empty()).collect()
}

/// What `host=db user=me password='hush'`, PostgreSQL's other way to name a server, gives away.
fn in_pairs(text: &str) -> Vec<String> {
    let mut secrets = Vec::new();
    for (at, name) in text.match_indices("password") {
        let rest = text[at + name.len()..].trim_start();
        let Some(value) = rest.strip_prefix('=').map(str::trim_start) else { continue };
        let value = match value.strip_prefix('\'') {
            Some(quoted) => quoted.split('\'').next(),
            None => value.split_whitespace().next(),
        };
        secrets.extend(value.filter(|value| !value.is_empty()).map(str::to_owned));
    }
    secrets
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
            "CREATE TABLE t LOCATION 's3://b/t' OPTIONS (aws.secret_access_key hush)",
            "SET aws.secret_access_key = 'hush'",
            "SELECT * FROM 's3://me:hush@bucket/x'",
            "COPY (SELECT 1) TO 's3://bucket/x/?sig=hush'",
            "START QUERY q INTO POSTGRES OPTIONS ('url' 'postgres://me:hush@host/db') AS SELECT 1",
            "START QUERY q INTO POSTGRES OPTIONS ('url' 'host=db password=hush user=me') AS SELECT 1",
            "START QUERY q INTO POSTGRES OPTIONS ('url' 'host=db password = ''hush''') AS SELECT 1",
            "CREATE STREAM s FROM KAFKA OPTIONS ('sasl.password' 'hush', 'topic' 't')",
            "CREATE STREAM s FROM KAFKA OPTIONS (ssl.key.pem = 'hush')",
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
