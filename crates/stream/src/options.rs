//! [`Options`]: what `OPTIONS (..)` says, checked.

use std::collections::BTreeMap;
use std::fmt;

use crate::{Error, Result};

/// The options of a statement by name. Each that is asked for is taken out; what is left in the end
/// is an error, with all that were asked for.
///
/// ```
/// use partwise_stream::Options;
///
/// # fn main() -> partwise_stream::Result<()> {
/// let said = [("table", "views"), ("staging_rows", "500")];
/// let said = said.map(|(name, value)| (name.to_owned(), value.to_owned()));
/// let mut options = Options::new("INTO POSTGRES", &said.into());
/// assert_eq!(options.need("table", "schema.name")?, "views");
/// assert_eq!(options.number("staging_rows")?, Some(500));
/// options.end()?;
/// # Ok(())
/// # }
/// ```
pub struct Options {
    what: &'static str,
    left: BTreeMap<String, String>,
    known: Vec<&'static str>,
    kinds: Vec<&'static str>,
}

impl Options {
    /// Those of a clause, such as `INTO POSTGRES`.
    pub fn new(what: &'static str, options: &BTreeMap<String, String>) -> Self {
        Self { what, left: options.clone(), known: Vec::new(), kinds: Vec::new() }
    }

    /// An option, if it was said.
    pub fn take(&mut self, name: &'static str) -> Option<String> {
        self.known.push(name);
        self.left.remove(name)
    }

    /// All options of a kind that isn't known by its names; `kind` is what it is called in errors:
    /// `those of an object store, such as aws.endpoint`.
    pub fn take_all(
        &mut self,
        kind: &'static str,
        is: impl Fn(&str) -> bool,
    ) -> BTreeMap<String, String> {
        self.kinds.push(kind);
        let (taken, left) =
            std::mem::take(&mut self.left).into_iter().partition(|(name, _)| is(name));
        self.left = left;
        taken
    }

    /// An option that has to be said; `example` is shown where it isn't.
    ///
    /// # Errors
    /// It isn't, or is blank.
    pub fn need(&mut self, name: &'static str, example: &str) -> Result<String> {
        let what = self.what;
        let said = self.take(name).filter(|said| !said.trim().is_empty());
        said.ok_or_else(|| {
            Error::invalid(format!(
                "{what} needs the option '{name}': OPTIONS ('{name}' '{example}')"
            ))
        })
    }

    /// `true` or `false`, in any case.
    ///
    /// # Errors
    /// Another word.
    pub fn flag(&mut self, name: &'static str, default: bool) -> Result<bool> {
        match self.take(name).map(|said| said.trim().to_ascii_lowercase()).as_deref() {
            None => Ok(default),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(other) => Err(Error::invalid(format!(
                "the option '{name}' of {} is '{other}': it is true or false",
                self.what
            ))),
        }
    }

    /// A whole number, 1 or more.
    ///
    /// # Errors
    /// Something else.
    pub fn number(&mut self, name: &'static str) -> Result<Option<u64>> {
        let Some(said) = self.take(name) else { return Ok(None) };
        match said.trim().parse() {
            Ok(number) if number > 0 => Ok(Some(number)),
            _ => Err(Error::invalid(format!(
                "the option '{name}' of {} is '{said}': it is a whole number, 1 or more",
                self.what
            ))),
        }
    }

    /// Nothing more is to be asked for.
    ///
    /// # Errors
    /// An option that nobody has asked for. Its value isn't shown.
    pub fn end(self) -> Result<()> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(unknown) => Err(Error::invalid(format!(
                "{} has no option '{unknown}'; it has {}",
                self.what,
                [self.known, self.kinds].concat().join(", ")
            ))),
        }
    }
}

/// Names alone: a value may be a password.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.what)?;
        f.debug_list().entries(self.left.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(of: &[(&str, &str)]) -> Options {
        let all = of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Options::new("INTO X", &all.collect())
    }

    #[test]
    fn what_is_asked_for_is_checked_and_the_rest_refused() {
        let mut said = options(&[("a", "1"), ("b", " TRUE "), ("s.key", "hunter2"), ("odd", "x")]);
        assert_eq!(format!("{said:?}"), r#"INTO X ["a", "b", "odd", "s.key"]"#);
        assert_eq!(said.number("a").unwrap(), Some(1));
        assert!(said.flag("b", false).unwrap());
        assert_eq!(said.take_all("settings as s.<name>", |name| name.starts_with("s.")).len(), 1);
        let error = said.end().unwrap_err().to_string();
        assert_eq!(error, "INTO X has no option 'odd'; it has a, b, settings as s.<name>");
    }

    #[test]
    fn what_can_t_be_is_named_with_what_can() {
        for number in ["0", "-1", "1.5", "soon", ""] {
            let error = options(&[("n", number)]).number("n").unwrap_err().to_string();
            let says = format!("the option 'n' of INTO X is '{number}': it is a whole number");
            assert!(error.starts_with(&says), "{error}");
        }
        assert!(options(&[("f", "yes")]).flag("f", true).is_err());
        assert!(options(&[]).flag("f", true).unwrap());
        let error = options(&[("t", " ")]).need("t", "schema.name").unwrap_err().to_string();
        assert!(error.ends_with("needs the option 't': OPTIONS ('t' 'schema.name')"), "{error}");
    }
}
