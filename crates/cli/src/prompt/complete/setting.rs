//! What completes as a setting, and as its value.

use rustyline::completion::Pair;

use super::{Completer, plain};

/// Values that settings take, beside true and false.
const VALUES: &[(&str, &[&str])] = &[
    ("partwise.compression", &["'snappy'", "'zstd(3)'", "'gzip(6)'", "'lz4'", "'none'"]),
    ("partwise.distribution", &["'tidy'", "'none'"]),
    ("partwise.partition_overwrite_mode", &["'dynamic'", "'static'"]),
    ("datafusion.explain.format", &["'tree'", "'indent'", "'pgjson'", "'graphviz'"]),
];

impl Completer<'_> {
    pub(super) fn settings(&self) -> Vec<Pair> {
        let mut names: Vec<String> = self.names.settings().into_iter().map(|(n, _)| n).collect();
        // Ours first.
        names.sort_by_key(|name| (!name.starts_with("partwise."), name.clone()));
        let mut found = self.matching(names.iter().map(|name| plain(name)));
        if self.line.trim_start().to_lowercase().starts_with("show") {
            found.extend(self.keywords(&["TABLES", "PARTITIONS", "COLUMNS", "ALL"]));
        }
        found
    }

    pub(super) fn values(&self, setting: &str) -> Vec<Pair> {
        let known = VALUES.iter().find(|(name, _)| name.eq_ignore_ascii_case(setting));
        if let Some((_, values)) = known {
            return self.matching(values.iter().map(|value| plain(value)));
        }
        let settings = self.names.settings();
        let value = settings.iter().find(|(name, _)| name.eq_ignore_ascii_case(setting));
        match value {
            Some((_, now)) if now == "true" || now == "false" => {
                self.matching([plain("true"), plain("false")])
            }
            _ => vec![],
        }
    }
}
