//! Session settings under the prefix `partwise.`: `SET partwise.max_shrink = 1`.
//!
//! ```text
//! SET partwise.NAME = 'text'  ->  Setting (one row of SETTINGS)  ->  PartwiseConfig (typed)
//!                                        |
//!                       a wrong value names the accepted ones
//! ```
//!
//! A value of a statement's OPTIONS goes before the table's property, which goes before the
//! setting here: see [`crate::write::options::WriteOptions`].

mod settings;
pub mod units;

use std::any::Any;
use std::time::Duration;

use datafusion::common::Result;
use datafusion::common::config::{ConfigEntry, ConfigExtension, ExtensionOptions};
use datafusion::config::ConfigOptions;
use datafusion::error::DataFusionError;

use crate::write::codec::Codec;
use settings::{SETTINGS, setting};
pub(crate) use settings::{parse_count, parse_distribution, parse_switch, wrong_value};

/// Which partitions an `INSERT OVERWRITE` without constants replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OverwriteMode {
    /// Only the partitions that receive rows.
    Dynamic,
    /// All partitions that the statement's constants select; without constants, the whole table.
    Static,
}

/// How rows are spread over the tasks that write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distribution {
    /// Rows are routed by partition key: one file per partition, up to the target file size.
    Tidy,
    /// Each task writes files of its own: less work, more files.
    None,
}

impl Distribution {
    /// The text of the setting.
    pub fn name(&self) -> &'static str {
        match self {
            Distribution::Tidy => "tidy",
            Distribution::None => "none",
        }
    }
}

/// The settings of a session, typed.
#[derive(Clone, Debug, PartialEq)]
pub struct PartwiseConfig {
    /// What an overwrite without constants replaces.
    pub partition_overwrite_mode: OverwriteMode,
    /// The share of its rows (0 to 1) that a partition may lose in an undeclared overwrite.
    pub max_shrink: f64,
    /// How long a writer waits for the table's lock.
    pub lock_timeout: Duration,
    /// Whether partition filters and statistics select files; off reads everything.
    pub prune: bool,
    /// How long replaced files and old records are kept.
    pub retention: Duration,
    /// The job whose run the session's writes belong to.
    pub job: Option<String>,
    /// The number of that job's run.
    pub run: Option<u64>,
    /// The size at which a file is closed and the next one begun.
    pub target_file_bytes: u64,
    /// How rows are spread over the tasks that write.
    pub distribution: Distribution,
    /// Codec of the files' columns.
    pub compression: Codec,
    /// The most files that one statement keeps open.
    pub max_open_writers: usize,
    /// The most rows of a row group.
    pub row_group_rows: usize,
    /// The most bytes of rows that one statement holds before it encodes them.
    pub write_buffer_bytes: u64,
}

impl Default for PartwiseConfig {
    fn default() -> Self {
        Self {
            partition_overwrite_mode: OverwriteMode::Dynamic,
            max_shrink: 0.9,
            lock_timeout: Duration::from_secs(60),
            prune: true,
            retention: Duration::from_secs(7 * 24 * 60 * 60),
            job: None,
            run: None,
            target_file_bytes: 256_000_000,
            distribution: Distribution::Tidy,
            compression: Codec::Snappy,
            max_open_writers: 128,
            row_group_rows: 1024 * 1024,
            write_buffer_bytes: 256_000_000,
        }
    }
}

impl PartwiseConfig {
    /// The settings of a session, or the defaults where the extension isn't registered.
    pub fn of(options: &ConfigOptions) -> Self {
        options.extensions.get::<Self>().cloned().unwrap_or_default()
    }

    /// Puts a setting back to its default; `name` is without the prefix.
    ///
    /// # Errors
    /// An unknown name, with the list of those there are.
    pub fn reset(&mut self, name: &str) -> Result<()> {
        let default = Self::default();
        let setting = setting(name)?;
        (setting.set)(self, &(setting.show)(&default).unwrap_or_default())
    }

    /// The job and run that this session's writes carry, if any.
    ///
    /// # Errors
    /// A job without a run, or a run without a job.
    pub fn job_run(&self) -> Result<Option<(&str, u64)>> {
        match (&self.job, self.run) {
            (Some(job), Some(run)) => Ok(Some((job, run))),
            (None, None) => Ok(None),
            (Some(job), None) => Err(DataFusionError::Configuration(format!(
                "partwise.job is '{job}' but partwise.run is not set: SET partwise.run = <number>, \
                 or RESET partwise.job"
            ))),
            (None, Some(run)) => Err(DataFusionError::Configuration(format!(
                "partwise.run is {run} but partwise.job is not set: SET partwise.job = '<name>', \
                 or RESET partwise.run"
            ))),
        }
    }

    /// The names of all settings, without the prefix, in alphabetical order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        SETTINGS.iter().map(|setting| setting.name)
    }
}

impl ConfigExtension for PartwiseConfig {
    const PREFIX: &'static str = "partwise";
}

impl ExtensionOptions for PartwiseConfig {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(self.clone())
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        (setting(key)?.set)(self, value.trim())
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        SETTINGS
            .iter()
            .map(|setting| ConfigEntry {
                key: format!("{}.{}", Self::PREFIX, setting.name),
                value: (setting.show)(self),
                description: setting.description,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests;
