//! Every name this project puts on disk, and what it makes of the names it finds.
//!
//! ```text
//!   <lake>/<name>/                          the table
//!          <partition>/part-<txn>-<n>.<suffix>
//!          _SUCCESS                         empty
//!          _partwise-<table id>             empty: ties the directory to its log
//!   <lake>/_partwise/<name>/                its log folder
//!          table.json                       format, table id, properties
//!          log/<20 digits>.json             records
//!          published                        the version readers see, and how it ended
//!          lock                             local disk only
//!          staging/<txn>/                   files being written, or the ids of open uploads
//!          retained/<version>/              what a commit replaced
//!   <lake>/_partwise/<name>.<table id>/     the log of an earlier life of the directory
//!   <lake>/_partwise/<name>.purged-<id>/    a dropped table on its way out
//! ```

use crate::record::TransactionId;
use crate::{Error, Result};

/// The folder beside a table that holds the log folders.
pub(crate) const LOG_HOME: &str = "_partwise";
/// Says that all that was committed is in place.
pub(crate) const SUCCESS: &str = "_SUCCESS";
/// Format, id and properties of a table.
pub(crate) const TABLE: &str = "table.json";
/// The version that readers see.
pub(crate) const PUBLISHED: &str = "published";
/// The lock of writers, in a log folder and in each staging folder.
pub(crate) const LOCK: &str = "lock";
/// The folder of the records.
pub(crate) const LOG: &str = "log";
/// The folder of files being written.
pub(crate) const STAGING: &str = "staging";
/// The folder of what commits replaced.
pub(crate) const RETAINED: &str = "retained";
/// A record being written, in its transaction's staging folder.
pub(crate) const NEW_RECORD: &str = "record.json";
/// Ends the name of a file of the log folder that is written to take the place of another.
pub(crate) const NEW: &str = ".new";
/// The hidden name of a file that is being copied to another file system.
pub(crate) fn copying(name: &str) -> String {
    format!(".{name}{NEW}")
}

/// Where a dropped table's directory waits inside its log folder.
pub(crate) const PURGED: &str = "purged";

const MARKER_PREFIX: &str = "_partwise-";
const DATA_PREFIX: &str = "part-";
const RECORD_DIGITS: usize = 20;
/// The length of a transaction id: a UUID with dashes.
const ID_LENGTH: usize = 36;

/// The file in a table's directory that ties it to the log of this table id.
pub(crate) fn marker(table: &str) -> String {
    format!("{MARKER_PREFIX}{table}")
}

/// Whether a name is the marker of some log.
pub(crate) fn is_marker(name: &str) -> bool {
    name.strip_prefix(MARKER_PREFIX).is_some_and(|id| id.len() == ID_LENGTH)
}

/// The file name of a version's record.
pub(crate) fn record(version: u64) -> String {
    format!("{version:0RECORD_DIGITS$}.json")
}

/// The version a record's file name stands for.
pub(crate) fn record_version(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json")?;
    let valid = digits.len() == RECORD_DIGITS && digits.bytes().all(|b| b.is_ascii_digit());
    if valid { digits.parse().ok() } else { None }
}

/// The name of the `n`th data file of a transaction. The suffix names codec and format
/// (`snappy.parquet`) and must be one that readers take for data.
pub(crate) fn data_file(txn: &TransactionId, n: u64, suffix: &str) -> Result<String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    let name = format!("{DATA_PREFIX}{txn}-{n}.{suffix}");
    if suffix.bytes().all(plain) && !suffix.starts_with('.') && is_data(&name) {
        Ok(name)
    } else {
        Err(Error::invalid(format!("a data file can't end in '{suffix}': use e.g. snappy.parquet")))
    }
}

/// The transaction that wrote a data file, if the name is one of ours.
pub(crate) fn transaction_of(file: &str) -> Option<&str> {
    let rest = file.strip_prefix(DATA_PREFIX)?;
    let id = rest.get(..ID_LENGTH)?;
    let uuid = id.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    (uuid && rest.get(ID_LENGTH..)?.starts_with('-')).then_some(id)
}

/// Spark's rule: a leading `_` unless the name is `_name=value`, a leading `.`, or a copy under way.
pub(crate) fn is_hidden(name: &str) -> bool {
    (name.starts_with('_') && !name.contains('='))
        || name.starts_with('.')
        || name.ends_with("._COPYING_")
}

/// Whether a visible file is taken for Parquet: by its ending, or by Hive's names without one
/// (`000000_0`, `000000_0_copy_1`).
pub(crate) fn is_data(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    [".parquet", ".parq", ".pq"].iter().any(|ending| lower.ends_with(ending)) || is_hive_file(name)
}

fn is_hive_file(name: &str) -> bool {
    let Some((task, rest)) = name.split_once('_') else { return false };
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let (attempt, copy) = rest.split_once('_').unwrap_or((rest, ""));
    digits(task) && digits(attempt) && (copy.is_empty() || copy.starts_with("copy"))
}

/// The log folder of an earlier life of the table `name`.
pub(crate) fn set_aside(name: &str, table: &str) -> String {
    format!("{name}.{table}")
}

/// The log folder of a dropped table on its way out.
pub(crate) fn purged(name: &str, id: &str) -> String {
    format!("{name}.purged-{id}")
}

/// Whether an id can be part of a name without leading anywhere else.
pub(crate) fn is_plain_id(id: &str) -> bool {
    !id.is_empty() && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Whether a relative path stays below what it is relative to.
pub(crate) fn is_inside(path: &str) -> bool {
    let leads_out = |part: &str| part.is_empty() || part == "." || part == "..";
    !path.contains('\0') && !path.split('/').any(leads_out)
}

/// `dir/name`, where the empty `dir` is the table itself.
pub(crate) fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_string() } else { format!("{dir}/{name}") }
}

/// Splits a path relative to the table into its directory (empty for the table itself) and name.
pub(crate) fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_names_follow_sparks_rule() {
        for name in
            ["_SUCCESS", "_x.parquet", ".part-0.parquet.crc", "a.parquet._COPYING_", "_temporary"]
        {
            assert!(is_hidden(name), "{name}");
        }
        for name in ["_month=1", "a.parquet", "month=1", "x_y.parquet"] {
            assert!(!is_hidden(name), "{name}");
        }
    }

    #[test]
    fn data_is_parquet_by_its_ending_or_by_hives_names() {
        for name in ["a.parquet", "a.PARQUET", "b.parq", "000000_0", "000001_0_copy_2"] {
            assert!(is_data(name), "{name}");
        }
        for name in ["a.csv", "README", "a.parquet.crc", "x_1", "000000_x"] {
            assert!(!is_data(name), "{name}");
        }
    }

    #[test]
    fn a_path_that_leads_out_is_told() {
        for path in ["p=a/x.parquet", "p=../..x", "x", "a b/%2F"] {
            assert!(is_inside(path), "{path}");
        }
        for path in ["", "..", "a/../b", "/etc", "a//b", "a/", "./a", "a\0b"] {
            assert!(!is_inside(path), "{path:?}");
        }
        assert!(is_plain_id("0190-Af"));
        assert!(!is_plain_id("") && !is_plain_id("../x") && !is_plain_id("a/b"));
    }

    #[test]
    fn a_record_name_reads_back_as_its_version() {
        assert_eq!(record(7), "00000000000000000007.json");
        assert_eq!(record_version(&record(u64::MAX)), Some(u64::MAX));
        assert_eq!(record_version("7.json"), None);
        assert_eq!(record_version(".00000000000000000007.json"), None);
    }

    #[test]
    fn a_data_file_names_its_transaction() -> Result<()> {
        let txn = TransactionId::random();
        let name = data_file(&txn, 3, "zstd.parquet")?;
        assert_eq!(transaction_of(&name), Some(txn.as_str()));
        assert_eq!(transaction_of("part-00000-x.parquet"), None);
        assert!(data_file(&txn, 3, "../parquet").is_err());
        assert!(data_file(&txn, 3, "csv").is_err());
        Ok(())
    }
}
