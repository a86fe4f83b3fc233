//! How a session is opened: its lake, threads and memory.

use std::path::PathBuf;

use partwise_sql::{ContextOptions, Lake, PartwiseContext, is_address};

use crate::args::EngineArguments;
use crate::cooperate;
use crate::status::Result;

/// The lake of a command line that names none.
const DEFAULT_LAKE: &str = "./lake";
/// What `--lake` says for no lake at all.
const NO_LAKE: &str = "none";

/// What every session of a run is opened with.
#[derive(Debug, Clone)]
pub struct Engine {
    arguments: EngineArguments,
    default_lake: PathBuf,
}

impl Engine {
    /// Sessions as the command line wants them.
    pub fn new(arguments: EngineArguments) -> Self {
        Self { arguments, default_lake: DEFAULT_LAKE.into() }
    }

    /// The same with another lake for a command line that names none.
    pub fn with_default_lake(mut self, lake: &str) -> Self {
        self.default_lake = lake.into();
        self
    }

    /// Worker threads; none: one per core.
    pub fn threads(&self) -> Option<usize> {
        self.arguments.threads
    }

    /// The lake as a command line would name it.
    pub fn lake_name(&self) -> String {
        self.lake_folder().display().to_string()
    }

    /// Opens a session.
    ///
    /// # Errors
    /// A lake that can't be opened.
    pub async fn open(&self) -> Result<PartwiseContext> {
        let options = ContextOptions {
            lake: self.lake(),
            threads: self.arguments.threads,
            memory_limit_bytes: self.arguments.memory_limit,
        };
        let context = PartwiseContext::with_options(options).await?;
        cooperate::joins_of(context.session());
        Ok(context)
    }

    /// What to say of a lake that the command line names and that isn't there, also not now that
    /// everything has run.
    pub fn missing_lake(&self) -> Option<String> {
        let named = self.arguments.lake.as_ref()?;
        let elsewhere = named.to_str().is_some_and(|name| name == NO_LAKE || is_address(name));
        let is_missing = !elsewhere && !named.exists();
        is_missing
            .then(|| format!("the lake {} isn't there yet: it has no tables", named.display()))
    }

    fn lake(&self) -> Lake {
        let folder = self.lake_folder();
        match folder.as_os_str() == NO_LAKE {
            true => Lake::None,
            false => Lake::Directory(folder.clone()),
        }
    }

    fn lake_folder(&self) -> &PathBuf {
        self.arguments.lake.as_ref().unwrap_or(&self.default_lake)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(lake: Option<&str>) -> Option<String> {
        let lake = lake.map(PathBuf::from);
        Engine::new(EngineArguments { lake, ..EngineArguments::default() }).missing_lake()
    }

    #[test]
    fn only_a_lake_that_is_named_can_be_missed() {
        assert!(missing(Some("/nonexistent/lake")).unwrap().contains("/nonexistent/lake"));
        assert_eq!(missing(Some(NO_LAKE)), None);
        assert_eq!(missing(Some("s3://bucket/lake")), None);
        assert_eq!(missing(Some(".")), None);
        assert_eq!(missing(None), None);
    }
}
