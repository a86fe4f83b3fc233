//! librdkafka's settings, as `'kafka.<setting>'` among the options.

use std::collections::BTreeMap;
use std::fmt;

use partwise_commit::is_secret;
use partwise_stream::{Error, Options, Result};

/// What settings begin with among options.
const PREFIX: &str = "kafka.";
/// What they are called among the options that there are.
const KIND: &str = "librdkafka's settings as 'kafka.<setting>'";
/// Parts of the names of settings whose values are nobody's to see, besides those that all have.
const SECRETS: [&str; 3] = ["keystore", "assertion", "private"];

/// Settings by name.
#[derive(Clone, Default)]
pub(crate) struct Settings(BTreeMap<String, String>);

impl Settings {
    /// Takes the settings out of the options.
    ///
    /// # Errors
    /// One that the connector makes itself; TLS without the feature for it.
    pub fn take(options: &mut Options, owned: &[&'static str]) -> Result<Self> {
        let taken = options.take_all(KIND, |name| name.starts_with(PREFIX));
        let named = |(name, value): (String, String)| (name[PREFIX.len()..].to_owned(), value);
        let settings: BTreeMap<String, String> = taken.into_iter().map(named).collect();
        if let Some(own) = owned.iter().find(|own| settings.contains_key(**own)) {
            return Err(Error::invalid(format!(
                "'{PREFIX}{own}' is set by the connector, whose promises rest on it: leave it out"
            )));
        }
        let settings = Self(settings);
        settings.check_tls(cfg!(feature = "ssl"))?;
        Ok(settings)
    }

    /// A setting, which is one no more.
    pub fn remove(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// What is said of a setting that librdkafka doesn't take.
    pub fn refused(name: &str, why: &str) -> String {
        if is_hidden(name) {
            return format!("'{PREFIX}{name}': librdkafka doesn't take this value");
        }
        format!("'{PREFIX}{name}': {why}")
    }

    fn check_tls(&self, built_with: bool) -> Result<()> {
        let protocol = self.0.get("security.protocol").map(String::as_str).unwrap_or_default();
        if built_with || !protocol.to_ascii_lowercase().contains("ssl") {
            return Ok(());
        }
        Err(Error::unsupported(format!(
            "'{PREFIX}security.protocol' '{protocol}' needs TLS, and this build is without: build \
             partwise-kafka with its feature `ssl`"
        )))
    }
}

/// Names alone.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

fn is_hidden(name: &str) -> bool {
    is_secret(name) || SECRETS.iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(of: &[(&str, &str)]) -> Options {
        let all = of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Options::new("FROM KAFKA", &all.collect())
    }

    #[test]
    fn settings_are_told_from_options_and_shown_without_values() {
        let mut all = options(&[("topic", "t"), ("kafka.sasl.password", "hunter2")]);
        let settings = Settings::take(&mut all, &["acks"]).expect("settings");
        assert_eq!(all.take("topic").as_deref(), Some("t"));
        all.end().expect("nothing else");
        assert_eq!(format!("{settings:?}"), r#"["sasl.password"]"#);
        for name in
            ["sasl.password", "ssl.key.pem", "sasl.oauthbearer.config", "ssl.keystore.location"]
        {
            assert!(!Settings::refused(name, "bad: hunter2").contains("hunter2"), "{name}");
        }
    }

    #[test]
    fn what_the_connector_sets_is_refused() {
        let error = Settings::take(&mut options(&[("kafka.acks", "0")]), &["acks"]);
        assert!(error.expect_err("refused").to_string().contains("'kafka.acks'"));
    }

    #[test]
    fn tls_needs_the_feature() {
        let protocol = ("security.protocol".to_owned(), "SASL_SSL".to_owned());
        let settings = Settings(BTreeMap::from([protocol]));
        assert!(settings.check_tls(true).is_ok());
        let error = settings.check_tls(false).expect_err("refused").to_string();
        assert!(error.contains("feature `ssl`"), "{error}");
    }
}
