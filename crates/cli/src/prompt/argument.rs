//! What stands behind a `\` command.

use std::path::PathBuf;

/// Nothing.
///
/// # Errors
/// There is something.
pub fn none(name: &str, argument: &str) -> Result<(), String> {
    match argument.is_empty() {
        true => Ok(()),
        false => Err(format!("{name} takes nothing behind it, found {argument}")),
    }
}

/// `on` or `off`; none to turn a switch over.
///
/// # Errors
/// Another word.
pub fn position(name: &str, argument: &str) -> Result<Option<bool>, String> {
    match argument.to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "on" => Ok(Some(true)),
        "off" => Ok(Some(false)),
        _ => Err(format!("{name} takes on or off, or nothing to turn it over")),
    }
}

/// A number of rows; none: all.
///
/// # Errors
/// Another word.
pub fn rows(argument: &str) -> Result<Option<usize>, String> {
    match argument.to_ascii_lowercase().as_str() {
        "all" | "off" => Ok(None),
        number => match number.replace(['_', ','], "").parse() {
            Ok(rows) => Ok(Some(rows)),
            Err(_) => Err("\\limit takes a number of rows, or all".to_owned()),
        },
    }
}

/// A table: one name, or a path in quotes.
///
/// # Errors
/// More than one.
pub fn table(argument: &str) -> Result<String, String> {
    let one = unquoted(argument).is_some() || !argument.contains(char::is_whitespace);
    match one {
        true => Ok(argument.to_owned()),
        false => Err(format!(
            "\\d takes one table, by name or by a path in quotes, found {argument}; \\d alone \
             lists the tables"
        )),
    }
}

/// A file: in quotes or without, `~/` is the home folder.
///
/// # Errors
/// None is named.
pub fn file(argument: &str) -> Result<PathBuf, String> {
    let named = unquoted(argument).unwrap_or_else(|| argument.to_owned());
    match named.is_empty() {
        true => Err("\\i needs a file: \\i job.sql".to_owned()),
        false => Ok(at_home(&named)),
    }
}

/// A path with its `~/` written out.
pub fn at_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

/// A name that `${name}` can have.
///
/// # Errors
/// It isn't one.
pub fn variable(name: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match !name.is_empty() && name.chars().all(fits) {
        true => Ok(name.to_owned()),
        false => Err(format!("`{name}` is not a name: use letters, digits and _")),
    }
}

/// A name and its value: `day 2024-01-15`, `day '2024-01-15'`, `day = 2024-01-15`.
///
/// # Errors
/// No name, or no value.
pub fn assignment(argument: &str) -> Result<(String, String), String> {
    let separates = |c: char| c.is_whitespace() || c == '=';
    let (name, value) = argument.split_once(separates).unwrap_or((argument, ""));
    let name = variable(name)?;
    let value = value.trim_start_matches(separates);
    match value.is_empty() {
        true => Err(format!("\\set {name} needs a value; \\unset {name} forgets it")),
        false => Ok((name, unquoted(value).unwrap_or_else(|| value.to_owned()))),
    }
}

/// What stands inside the quotes that a text begins and ends with; none where it doesn't, or ends
/// in between.
fn unquoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| ['\'', '"'].contains(c))?;
    let inside = text.strip_prefix(quote)?.strip_suffix(quote)?;
    let doubled = format!("{quote}{quote}");
    let single = inside.replace(&doubled, "");
    (!single.contains(quote)).then(|| inside.replace(&doubled, &quote.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_one_name_or_one_path() {
        assert_eq!(table("trips"), Ok("trips".into()));
        assert_eq!(table("'a b/*.parquet'"), Ok("'a b/*.parquet'".into()));
        assert_eq!(table("\"My Trips\""), Ok("\"My Trips\"".into()));
        assert!(table("trips small").unwrap_err().contains("one table"));
        assert!(table("'a' 'b'").is_err());
    }

    #[test]
    fn a_file_may_be_quoted_and_lie_at_home() {
        assert_eq!(file("\"a b.sql\""), Ok("a b.sql".into()));
        assert_eq!(file("'it''s.sql'"), Ok("it's.sql".into()));
        let home = std::env::home_dir().unwrap();
        assert_eq!(file("~/job.sql"), Ok(home.join("job.sql")));
        assert!(file("").unwrap_err().contains("needs a file"));
    }

    #[test]
    fn a_variable_has_a_name_and_a_value() {
        let day = Ok(("day".to_owned(), "2024-01-15".to_owned()));
        assert_eq!(assignment("day 2024-01-15"), day);
        assert_eq!(assignment("day = '2024-01-15'"), day);
        assert!(assignment("day").unwrap_err().contains("\\unset day"));
        assert!(assignment("a-b 1").unwrap_err().contains("is not a name"));
    }
}
