//! The names of stores' options.

use super::Protocol;

/// What the names of a store's options begin with, and whose they are.
pub(super) const FAMILIES: [(&str, Protocol); 7] = [
    ("aws.", Protocol::S3),
    ("s3.", Protocol::S3),
    ("gcp.", Protocol::Google),
    ("gcs.", Protocol::Google),
    ("google.", Protocol::Google),
    ("azure.", Protocol::Azure),
    ("az.", Protocol::Azure),
];

/// Whether an option of a statement is a store's (`aws.endpoint`), not a table's.
pub fn is_store_option(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    FAMILIES.iter().any(|(family, _)| name.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_stores_are_told_from_those_of_tables() {
        for name in ["aws.endpoint", "S3.region", "gcs.service_account_path", "azure.account_key"] {
            assert!(is_store_option(name), "{name}");
        }
        for name in ["compression", "compression::a", "sort_by", "mode", "awsome"] {
            assert!(!is_store_option(name), "{name}");
        }
    }
}
