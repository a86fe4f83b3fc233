//! The list of settings: name, meaning, how its text is read and shown.

use std::time::Duration;

use datafusion::common::Result;
use datafusion::error::DataFusionError;

use super::units::{parse_bytes, parse_duration, show_bytes, show_duration};
use super::{Distribution, OverwriteMode, PartwiseConfig};

/// One setting: a row of [`SETTINGS`].
pub(super) struct Setting {
    /// The name after `partwise.`.
    pub name: &'static str,
    /// What it does, its unit, the accepted values.
    pub description: &'static str,
    /// Reads the text; an error names the accepted values.
    pub set: fn(&mut PartwiseConfig, &str) -> Result<()>,
    /// The value as text that `set` reads back, `None` if there is none.
    pub show: fn(&PartwiseConfig) -> Option<String>,
}

/// All settings, by name.
pub(super) static SETTINGS: &[Setting] = &[
    Setting {
        name: "compression",
        description: "Codec of written files: snappy, zstd(1..22), gzip(0..9), lz4, brotli(0..11) or none",
        set: |config, text| {
            config.compression = text.parse()?;
            Ok(())
        },
        show: |config| Some(config.compression.to_string()),
    },
    Setting {
        name: "distribution",
        description: "tidy: one file per partition up to target_file_size; none: each task writes its own",
        set: |config, text| {
            config.distribution = parse_distribution(text)?;
            Ok(())
        },
        show: |config| Some(config.distribution.name().to_owned()),
    },
    Setting {
        name: "job",
        description: "Name of the job whose writes are applied once per run; needs partwise.run",
        set: |config, text| {
            config.job = (!text.is_empty()).then(|| text.to_owned());
            Ok(())
        },
        show: |config| config.job.clone(),
    },
    Setting {
        name: "lock_timeout",
        description: "How long a writer waits for the table's lock: seconds, or a number with a unit",
        set: |config, text| {
            config.lock_timeout =
                parse_duration("partwise.lock_timeout", text, Some(Duration::from_secs(1)))?;
            Ok(())
        },
        show: |config| Some(show_duration(config.lock_timeout)),
    },
    Setting {
        name: "max_open_writers",
        description: "The most files that one statement keeps open while it writes, at least 1",
        set: |config, text| {
            config.max_open_writers = parse_count("partwise.max_open_writers", text)?;
            Ok(())
        },
        show: |config| Some(config.max_open_writers.to_string()),
    },
    Setting {
        name: "max_shrink",
        description: "Share of its rows, 0 to 1, that a partition may lose in an overwrite that does not name it",
        set: |config, text| {
            config.max_shrink = parse_share("partwise.max_shrink", text)?;
            Ok(())
        },
        show: |config| Some(config.max_shrink.to_string()),
    },
    Setting {
        name: "partition_overwrite_mode",
        description: "dynamic: an overwrite replaces the partitions it has rows for; static: all it covers",
        set: |config, text| {
            config.partition_overwrite_mode = parse_mode(text)?;
            Ok(())
        },
        show: |config| Some(show_mode(config.partition_overwrite_mode).to_owned()),
    },
    Setting {
        name: "prune",
        description: "Whether filters select partitions and files before they are opened: true or false",
        set: |config, text| {
            config.prune = parse_switch("partwise.prune", text)?;
            Ok(())
        },
        show: |config| Some(config.prune.to_string()),
    },
    Setting {
        name: "retention",
        description: "How long replaced files and old records are kept, with a unit ('7 days'); 0 keeps none",
        set: |config, text| {
            config.retention = parse_duration("partwise.retention", text, None)?;
            Ok(())
        },
        show: |config| Some(show_duration(config.retention)),
    },
    Setting {
        name: "row_group_rows",
        description: "The most rows of a row group, at least 1",
        set: |config, text| {
            config.row_group_rows = parse_count("partwise.row_group_rows", text)?;
            Ok(())
        },
        show: |config| Some(config.row_group_rows.to_string()),
    },
    Setting {
        name: "run",
        description: "Number of the job's run, growing from run to run; needs partwise.job",
        set: |config, text| {
            config.run = parse_run(text)?;
            Ok(())
        },
        show: |config| config.run.map(|run| run.to_string()),
    },
    Setting {
        name: "target_file_size",
        description: "Size at which a file is closed and the next begun: bytes, or a number with a unit ('128 MB')",
        set: |config, text| {
            config.target_file_bytes = parse_bytes("partwise.target_file_size", text)?;
            Ok(())
        },
        show: |config| Some(show_bytes(config.target_file_bytes)),
    },
    Setting {
        name: "write_buffer_size",
        description: "Bytes of rows that one statement holds before it encodes them ('256 MB')",
        set: |config, text| {
            config.write_buffer_bytes = parse_bytes("partwise.write_buffer_size", text)?;
            Ok(())
        },
        show: |config| Some(show_bytes(config.write_buffer_bytes)),
    },
];

/// Finds a setting by its name without the prefix, in any case.
pub(super) fn setting(name: &str) -> Result<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name.eq_ignore_ascii_case(name)).ok_or_else(|| {
        let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
        DataFusionError::Configuration(format!(
            "there is no setting partwise.{name}; there are: {}",
            names.join(", ")
        ))
    })
}

/// The error for a value that a setting or option doesn't take.
pub(crate) fn wrong_value(name: &str, text: &str, accepted: &str) -> DataFusionError {
    DataFusionError::Configuration(format!("{name} can't be '{text}': accepted are {accepted}"))
}

pub(super) fn parse_mode(text: &str) -> Result<OverwriteMode> {
    match text.to_ascii_lowercase().as_str() {
        "dynamic" => Ok(OverwriteMode::Dynamic),
        "static" => Ok(OverwriteMode::Static),
        _ => Err(wrong_value("partwise.partition_overwrite_mode", text, "'dynamic' and 'static'")),
    }
}

fn show_mode(mode: OverwriteMode) -> &'static str {
    match mode {
        OverwriteMode::Dynamic => "dynamic",
        OverwriteMode::Static => "static",
    }
}

/// Reads `tidy` or `none`.
pub(crate) fn parse_distribution(text: &str) -> Result<Distribution> {
    match text.to_ascii_lowercase().as_str() {
        "tidy" => Ok(Distribution::Tidy),
        "none" => Ok(Distribution::None),
        _ => Err(wrong_value("distribution", text, "'tidy' and 'none'")),
    }
}

/// Reads a whole number of at least 1.
pub(crate) fn parse_count(name: &str, text: &str) -> Result<usize> {
    let digits = text.replace('_', "");
    match digits.parse() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(wrong_value(name, text, "whole numbers from 1 on")),
    }
}

/// Reads `true` or `false` and their usual other names.
pub(crate) fn parse_switch(name: &str, text: &str) -> Result<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "1" => Ok(true),
        "false" | "off" | "0" => Ok(false),
        _ => Err(wrong_value(name, text, "'true' and 'false'")),
    }
}

fn parse_share(name: &str, text: &str) -> Result<f64> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(wrong_value(name, text, "numbers from 0 to 1 (1 turns the guard off)")),
    }
}

fn parse_run(text: &str) -> Result<Option<u64>> {
    if text.is_empty() {
        return Ok(None);
    }
    let run = text.parse().map_err(|_| {
        wrong_value("partwise.run", text, "whole numbers that grow from run to run, such as a date")
    })?;
    Ok(Some(run))
}
