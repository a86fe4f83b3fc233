//! [`Options`]: what `OPTIONS (..)` says, checked.

use std::collections::BTreeMap;
use std::time::Duration;

use partwise_stream::{Error, Result};

use crate::cluster::Cluster;
use crate::settings::Settings;

/// Options by name, those that were asked for taken out.
#[derive(Debug)]
pub(crate) struct Options {
    what: &'static str,
    left: BTreeMap<String, String>,
    known: Vec<&'static str>,
}

impl Options {
    pub fn new(what: &'static str, options: &BTreeMap<String, String>) -> Self {
        Self { what, left: options.clone(), known: Vec::new() }
    }

    /// An option, if it was said.
    pub fn take(&mut self, name: &'static str) -> Option<String> {
        self.known.push(name);
        self.left.remove(name)
    }

    /// An option that has to be said.
    ///
    /// # Errors
    /// It isn't.
    pub fn need(&mut self, name: &'static str, example: &str) -> Result<String> {
        let what = self.what;
        let said = self.take(name).filter(|said| !said.trim().is_empty());
        said.ok_or_else(|| {
            Error::invalid(format!(
                "{what} needs the option '{name}': OPTIONS ('{name}' '{example}')"
            ))
        })
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// Another word.
    pub fn flag(&mut self, name: &'static str, default: bool) -> Result<bool> {
        match self.take(name).map(|said| said.to_ascii_lowercase()).as_deref() {
            None => Ok(default),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(other) => Err(Error::invalid(format!("{name} is '{other}': true or false"))),
        }
    }

    /// A number, 1 or more.
    ///
    /// # Errors
    /// Something else.
    pub fn number(&mut self, name: &'static str) -> Result<Option<u64>> {
        let Some(said) = self.take(name) else { return Ok(None) };
        match said.trim().parse() {
            Ok(number) if number > 0 => Ok(Some(number)),
            _ => Err(Error::invalid(format!("{name} is '{said}': a whole number, 1 or more"))),
        }
    }

    /// The cluster that the options name.
    ///
    /// # Errors
    /// No servers; a setting that isn't a user's to make.
    pub fn cluster(&mut self, owned: &[&'static str]) -> Result<Cluster> {
        const SERVERS: &str = "bootstrap.servers";
        if let Some(servers) = self.left.remove("kafka.bootstrap.servers") {
            self.left.entry(SERVERS.to_owned()).or_insert(servers);
        }
        let servers = self.need(SERVERS, "host:9092")?;
        let patience = self.number("timeout_seconds")?.unwrap_or(60);
        let settings = Settings::take(&mut self.left, owned)?;
        Ok(Cluster::new(servers, settings, Duration::from_secs(patience)))
    }

    /// Nothing more is to be asked for.
    ///
    /// # Errors
    /// Options that nobody has asked for.
    pub fn end(self) -> Result<()> {
        match self.left.keys().next() {
            None => Ok(()),
            Some(unknown) => Err(Error::invalid(format!(
                "{} has no option '{unknown}'; it has {}, and librdkafka's settings as \
                 'kafka.<setting>'",
                self.what,
                self.known.join(", ")
            ))),
        }
    }
}
