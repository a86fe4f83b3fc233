//! How files are written: the options of a statement, of a table, of the session.
//!
//! ```text
//! SET partwise.compression  ->  table property  ->  OPTIONS of the statement
//!      (lowest)                                          (wins)
//! ```

use std::collections::BTreeMap;
use std::fmt;

use datafusion::common::Result;
use datafusion::error::DataFusionError;
use partwise_commit::TableSchema;

use super::codec::Codec;
use crate::config::units::parse_bytes;
use crate::config::{
    Distribution, PartwiseConfig, parse_count, parse_distribution, parse_switch, wrong_value,
};

/// The names of the options, without those of columns (`compression::col`).
pub const OPTION_NAMES: &[&str] = &[
    "bloom_filter",
    "compression",
    "distribution",
    "max_open_writers",
    "max_rows_per_file",
    "row_group_rows",
    "sort_by",
    "target_file_size",
    "write_buffer_size",
];

/// The options that can be given for one column, as `name::column`.
const COLUMN_OPTION_NAMES: &[&str] = &["bloom_filter", "compression"];

/// How files are laid out and encoded.
#[derive(Clone, Debug, PartialEq)]
pub struct WriteOptions {
    /// Codec of the columns that have none of their own.
    pub compression: Codec,
    /// Codecs by column.
    pub column_compression: BTreeMap<String, Codec>,
    /// Columns with a bloom filter.
    pub bloom_filters: Vec<String>,
    /// The order of the rows inside each file.
    pub sort_by: Vec<SortColumn>,
    /// How rows are spread over the tasks that write.
    pub distribution: Distribution,
    /// The size at which a file is closed and the next one begun.
    pub target_file_bytes: u64,
    /// The most rows of a file.
    pub max_rows_per_file: Option<usize>,
    /// The most rows of a row group.
    pub row_group_rows: usize,
    /// The most files that the statement keeps open.
    pub max_open_writers: usize,
    /// The most bytes of rows that the statement holds before it encodes them.
    pub write_buffer_bytes: u64,
}

/// One column of the order inside files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SortColumn {
    /// The column.
    pub name: String,
    /// From high to low.
    pub descending: bool,
    /// NULLs before the values.
    pub nulls_first: bool,
}

impl fmt::Display for SortColumn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.descending {
            f.write_str(" DESC")?;
        }
        match (self.descending, self.nulls_first) {
            (false, true) => f.write_str(" NULLS FIRST"),
            (true, false) => f.write_str(" NULLS LAST"),
            _ => Ok(()),
        }
    }
}

impl WriteOptions {
    /// The session's settings.
    pub fn from_config(config: &PartwiseConfig) -> Self {
        Self {
            compression: config.compression,
            column_compression: BTreeMap::new(),
            bloom_filters: Vec::new(),
            sort_by: Vec::new(),
            distribution: config.distribution,
            target_file_bytes: config.target_file_bytes,
            max_rows_per_file: None,
            row_group_rows: config.row_group_rows,
            max_open_writers: config.max_open_writers,
            write_buffer_bytes: config.write_buffer_bytes,
        }
    }

    /// Whether `name` is an option of this module, for the table or for a column.
    pub fn is_option(name: &str) -> bool {
        let lower = name.to_ascii_lowercase();
        match lower.split_once("::") {
            Some((option, _)) => COLUMN_OPTION_NAMES.contains(&option),
            None => OPTION_NAMES.contains(&lower.as_str()),
        }
    }

    /// Applies a statement's OPTIONS. `also_known` are names that somebody else reads: they are
    /// passed over here and stand in the list of accepted names.
    ///
    /// # Errors
    /// An unknown option, with the accepted list; a value that isn't one of the accepted ones; a
    /// column that the files of `schema` don't have.
    pub fn with_options(
        mut self,
        options: &BTreeMap<String, String>,
        schema: &TableSchema,
        also_known: &[&str],
    ) -> Result<Self> {
        for (name, value) in options {
            if Self::is_option(name) {
                self.set(name, value.trim(), schema)?;
            } else if !also_known.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                return Err(unknown_option(name, also_known));
            }
        }
        Ok(self)
    }

    /// Applies those of a table's properties that say how to write; others are not looked at.
    ///
    /// # Errors
    /// As [`with_options`](Self::with_options).
    pub fn with_properties(
        mut self,
        properties: &BTreeMap<String, String>,
        schema: &TableSchema,
    ) -> Result<Self> {
        for (name, value) in properties.iter().filter(|(name, _)| Self::is_option(name)) {
            self.set(name, value.trim(), schema)?;
        }
        Ok(self)
    }

    fn set(&mut self, name: &str, value: &str, schema: &TableSchema) -> Result<()> {
        if let Some((option, column)) = name.split_once("::") {
            let column = file_column(name, column, schema)?;
            return self.set_column(&option.to_ascii_lowercase(), column, value);
        }
        match name.to_ascii_lowercase().as_str() {
            "bloom_filter" => self.bloom_filters = column_list(name, value, schema)?,
            "compression" => self.compression = value.parse()?,
            "distribution" => self.distribution = parse_distribution(value)?,
            "max_open_writers" => self.max_open_writers = parse_count(name, value)?,
            "max_rows_per_file" => self.max_rows_per_file = Some(parse_count(name, value)?),
            "row_group_rows" => self.row_group_rows = parse_count(name, value)?,
            "sort_by" => self.sort_by = sort_columns(name, value, schema)?,
            "target_file_size" => self.target_file_bytes = parse_bytes(name, value)?,
            "write_buffer_size" => self.write_buffer_bytes = parse_bytes(name, value)?,
            _ => return Err(unknown_option(name, &[])),
        }
        Ok(())
    }

    fn set_column(&mut self, option: &str, column: String, value: &str) -> Result<()> {
        if option == "compression" {
            self.column_compression.insert(column, value.parse()?);
            return Ok(());
        }
        self.bloom_filters.retain(|known| *known != column);
        if parse_switch(&format!("{option}::{column}"), value)? {
            self.bloom_filters.push(column);
        }
        Ok(())
    }
}

fn unknown_option(name: &str, also_known: &[&str]) -> DataFusionError {
    let mut names: Vec<&str> = OPTION_NAMES.iter().chain(also_known).copied().collect();
    names.sort_unstable();
    let columns: Vec<String> =
        COLUMN_OPTION_NAMES.iter().map(|name| format!("{name}::<column>")).collect();
    DataFusionError::Configuration(format!(
        "there is no option '{name}'; there are: {}, {}",
        names.join(", "),
        columns.join(", ")
    ))
}

/// The name of a file's column as declared.
fn file_column(option: &str, name: &str, schema: &TableSchema) -> Result<String> {
    let name = name.trim();
    let fields = schema.file_schema().fields();
    let found = fields.iter().find(|field| field.name() == name);
    let found = found.or_else(|| fields.iter().find(|f| f.name().eq_ignore_ascii_case(name)));
    if let Some(field) = found {
        return Ok(field.name().clone());
    }
    let mut partition_columns = schema.partition_columns().iter();
    if partition_columns.any(|column| column.name.eq_ignore_ascii_case(name)) {
        return Err(DataFusionError::Configuration(format!(
            "{option} names the partition column {name}: its values are in the path, not in the \
             files; leave it out"
        )));
    }
    let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    Err(wrong_value(option, name, &format!("the columns {}", names.join(", "))))
}

fn column_list(option: &str, value: &str, schema: &TableSchema) -> Result<Vec<String>> {
    let names = value.split(',').filter(|name| !name.trim().is_empty());
    names.map(|name| file_column(option, name, schema)).collect()
}

/// `a, b DESC NULLS LAST`; NULLs come last in rising order and first in falling order if nothing
/// is said, as in `ORDER BY`.
fn sort_columns(option: &str, value: &str, schema: &TableSchema) -> Result<Vec<SortColumn>> {
    value.split(',').map(|part| sort_column(option, part.trim(), schema)).collect()
}

fn sort_column(option: &str, part: &str, schema: &TableSchema) -> Result<SortColumn> {
    let (rest, nulls_first) = match strip_suffix(part, "nulls first") {
        Some(rest) => (rest, Some(true)),
        None => match strip_suffix(part, "nulls last") {
            Some(rest) => (rest, Some(false)),
            None => (part, None),
        },
    };
    let (name, descending) = match strip_suffix(rest, "desc") {
        Some(name) => (name, true),
        None => (strip_suffix(rest, "asc").unwrap_or(rest), false),
    };
    Ok(SortColumn {
        name: file_column(option, name, schema)?,
        descending,
        nulls_first: nulls_first.unwrap_or(descending),
    })
}

/// What stands before the last words, which are apart from it.
fn strip_suffix<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let (head, tail) = text.split_at_checked(text.len().checked_sub(words.len())?)?;
    let apart = head.ends_with(|c: char| c.is_ascii_whitespace());
    (apart && tail.eq_ignore_ascii_case(words)).then(|| head.trim_end())
}

#[cfg(test)]
mod tests;
