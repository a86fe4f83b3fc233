//! The settings of a client, and which of their values are secret.

use std::collections::BTreeMap;

use crate::address::Protocol;
use crate::address::redact::is_secret;
use crate::address::settings::FAMILIES;

/// An option as a client's builder knows it: `aws.access_key_id` is `access_key_id`; none for
/// one of another family.
pub(super) fn key_of(protocol: Protocol, name: &str) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let family = FAMILIES.iter().find(|(family, _)| name.starts_with(family));
    match family {
        Some((_, other)) if *other != protocol => None,
        Some((family, _)) => Some(name[family.len()..].replace('.', "_")),
        None => Some(name.replace('.', "_")),
    }
}

/// The secret values among options and the environment, the longest first.
pub(super) fn secrets(options: &BTreeMap<String, String>) -> Vec<String> {
    let environment = std::env::vars_os().filter_map(|(name, value)| {
        let (name, value) = (name.into_string().ok()?, value.into_string().ok()?);
        let stores = ["AWS_", "AZURE_", "GOOGLE_"].iter().any(|prefix| name.starts_with(prefix));
        stores.then_some((name, value))
    });
    let named = options.iter().map(|(name, value)| (name.clone(), value.clone()));
    let mut secrets: Vec<String> = named
        .chain(environment)
        .filter(|(name, value)| is_secret(name) && !value.is_empty())
        .map(|(_, value)| value)
        .collect();
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.dedup();
    secrets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_another_family_is_none_of_this_store() {
        assert_eq!(key_of(Protocol::S3, "aws.Access_Key_Id").as_deref(), Some("access_key_id"));
        assert_eq!(key_of(Protocol::S3, "s3.endpoint.url").as_deref(), Some("endpoint_url"));
        assert_eq!(key_of(Protocol::S3, "region").as_deref(), Some("region"));
        assert_eq!(key_of(Protocol::S3, "azure.account_key"), None);
    }
}
