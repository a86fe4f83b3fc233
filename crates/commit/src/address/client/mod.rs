//! The client of a bucket: its builder's settings, how often it tries.

mod named;
mod settings;
mod words;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use object_store::{BackoffConfig, RetryConfig};

use named::NamedStore;
use settings::{key_of, secrets};

use super::{Protocol, StoreAddress, hide_secrets};
use crate::location::TableStore;
use crate::{Error, Result};

/// How long a request is tried again: a store that restarts is waited for, one that is gone is
/// told of.
fn retry() -> RetryConfig {
    let backoff = BackoffConfig {
        init_backoff: Duration::from_millis(100),
        max_backoff: Duration::from_secs(3),
        base: 2.0,
    };
    RetryConfig { backoff, max_retries: 8, retry_timeout: Duration::from_secs(30) }
}

/// See [`StoreAddress::open`].
pub(super) fn open(
    address: &StoreAddress,
    options: &BTreeMap<String, String>,
) -> Result<Arc<dyn TableStore>> {
    match address.protocol {
        #[cfg(feature = "aws")]
        Protocol::S3 => s3(address, options),
        #[cfg(feature = "azure")]
        Protocol::Azure => azure(address, options),
        #[cfg(feature = "gcp")]
        Protocol::Google => google(address, options),
        #[allow(unreachable_patterns)]
        _ => Err(address.unreachable()),
    }
}

#[cfg(feature = "aws")]
fn s3(address: &StoreAddress, options: &BTreeMap<String, String>) -> Result<Arc<dyn TableStore>> {
    use object_store::ClientConfigKey;
    use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey as Key};
    let builder = AmazonS3Builder::from_env().with_url(address.url.as_str());
    let mut builder = configured(builder, address, options, AmazonS3Builder::with_config)?;
    let endpoints = [Key::Endpoint, Key::S3Endpoint];
    let plain = endpoints.iter().filter_map(|key| builder.get_config_value(key));
    // Whoever writes http:// means it.
    if plain.into_iter().any(|endpoint| endpoint.starts_with("http://")) {
        builder = builder.with_config(Key::Client(ClientConfigKey::AllowHttp), "true");
    }
    finish(address, options, builder.with_retry(retry()).build())
}

#[cfg(feature = "azure")]
fn azure(
    address: &StoreAddress,
    options: &BTreeMap<String, String>,
) -> Result<Arc<dyn TableStore>> {
    use object_store::ClientConfigKey;
    use object_store::azure::{AzureConfigKey as Key, MicrosoftAzureBuilder};
    let builder = MicrosoftAzureBuilder::from_env().with_url(address.url.as_str());
    let mut builder = configured(builder, address, options, MicrosoftAzureBuilder::with_config)?;
    let endpoint = builder.get_config_value(&Key::Endpoint);
    if endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")) {
        builder = builder.with_config(Key::Client(ClientConfigKey::AllowHttp), "true");
    }
    finish(address, options, builder.with_retry(retry()).build())
}

#[cfg(feature = "gcp")]
fn google(
    address: &StoreAddress,
    options: &BTreeMap<String, String>,
) -> Result<Arc<dyn TableStore>> {
    use object_store::gcp::GoogleCloudStorageBuilder;
    let builder = GoogleCloudStorageBuilder::from_env().with_url(address.url.as_str());
    let builder = configured(builder, address, options, GoogleCloudStorageBuilder::with_config)?;
    finish(address, options, builder.with_retry(retry()).build())
}

/// A client's builder with each of the options set.
fn configured<B, K: FromStr>(
    builder: B,
    address: &StoreAddress,
    options: &BTreeMap<String, String>,
    set: impl Fn(B, K, String) -> B,
) -> Result<B> {
    options.iter().try_fold(builder, |builder, (name, value)| {
        Ok(set(builder, known(address, name)?, value.clone()))
    })
}

/// An option as the builder's key.
fn known<K: FromStr>(address: &StoreAddress, name: &str) -> Result<K> {
    let feature = address.protocol.feature();
    let key = key_of(address.protocol, name).ok_or_else(|| {
        Error::invalid(format!("the option {name} is of another kind of store than {address}"))
    })?;
    key.parse().map_err(|_| {
        Error::invalid(format!(
            "{name} is not an option of {address}: known are those of object_store's {feature} \
             builder, such as {}",
            examples(address.protocol)
        ))
    })
}

fn examples(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::S3 => {
            "aws.access_key_id, aws.secret_access_key, aws.session_token, aws.region, aws.endpoint"
        }
        Protocol::Azure => "azure.account_name, azure.account_key, azure.sas_token",
        Protocol::Google => "gcp.service_account_path, gcp.service_account_key",
    }
}

/// The built client under its address, its secrets kept out of its errors.
fn finish<T: TableStore>(
    address: &StoreAddress,
    options: &BTreeMap<String, String>,
    built: Result<T, impl Display>,
) -> Result<Arc<dyn TableStore>> {
    let secrets = secrets(options);
    match built {
        Ok(client) => Ok(Arc::new(NamedStore::new(client, address.bucket(), secrets))),
        Err(error) => {
            let cause = hide_secrets(&error.to_string(), secrets.iter().map(String::as_str));
            Err(Error::invalid(format!("{address} can't be reached with these settings: {cause}")))
        }
    }
}

#[cfg(all(test, feature = "aws"))]
mod tests {
    use super::*;

    fn opened(options: &[(&str, &str)]) -> Result<String> {
        let options = options.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let store = StoreAddress::parse("s3://b/p")?.open(&options)?;
        Ok(format!("{store} {store:?}"))
    }

    #[test]
    fn a_store_is_named_by_its_address_and_shows_no_key() {
        let keys = [("aws.access_key_id", "me"), ("aws.secret_access_key", "hush")];
        let shown = opened(&keys).unwrap();
        assert!(shown.starts_with("s3://b ") && !shown.contains("hush"), "{shown}");
    }

    #[test]
    fn an_option_that_is_not_known_is_named_with_those_that_are() {
        let error = opened(&[("aws.secret_acess_key", "hush")]).unwrap_err().to_string();
        assert!(error.contains("aws.secret_acess_key"), "{error}");
        assert!(error.contains("aws.endpoint") && !error.contains("hush"), "{error}");
        let error = opened(&[("azure.account_key", "hush")]).unwrap_err().to_string();
        assert!(error.contains("another kind of store") && !error.contains("hush"), "{error}");
    }
}
