//! Addresses of object stores, `s3://bucket/prefix`, and how they are opened.
//!
//! ```text
//!   "s3://bucket/prefix" --> StoreAddress --+--> bucket's client (NamedStore) --> Location::Store
//!   environment, options --> Settings ------+
//! ```

#[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
mod client;
mod redact;
mod settings;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use object_store::ObjectStoreScheme;
use object_store::path::Path as StorePath;
use url::Url;

pub use redact::{hide_secrets, is_secret};
pub use settings::is_store_option;

use crate::location::TableStore;
use crate::{Error, Result};

/// Whether a path is the address of an object store or another server, not a file's.
pub fn is_address(path: &str) -> bool {
    let scheme = path.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| {
        let odd = |c: char| !c.is_ascii_alphanumeric() && !['+', '-', '.'].contains(&c);
        !scheme.is_empty() && !scheme.contains(odd) && !scheme.eq_ignore_ascii_case("file")
    })
}

/// A store knows no folder above: what `..` would lead to is another key.
fn refuse_dots(address: &str, url: &Url) -> Result<()> {
    let decoded = percent_encoding::percent_decode_str(address).decode_utf8_lossy();
    match decoded.split(['/', '\\']).any(|part| part == "." || part == "..") {
        false => Ok(()),
        true => Err(Error::invalid(format!(
            "an address in {} names its keys as they are, without . and ..",
            bucket_of(url)
        ))),
    }
}

/// Whose protocol a store speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    S3,
    Azure,
    Google,
}

impl Protocol {
    /// The feature of this crate that it needs.
    pub(crate) fn feature(self) -> &'static str {
        match self {
            Self::S3 => "aws",
            Self::Azure => "azure",
            Self::Google => "gcp",
        }
    }
}

/// The address of a bucket, or of a prefix in it.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreAddress {
    protocol: Protocol,
    url: Url,
    prefix: StorePath,
}

impl StoreAddress {
    /// Reads an address: `s3://`, `s3a://`, `gs://`, `az://`, `abfs[s]://`, or the `https://` ones of
    /// the three.
    ///
    /// # Errors
    /// `Invalid` for an address without a bucket, with keys in it or of another kind; the message
    /// names the accepted ones.
    pub fn parse(address: &str) -> Result<Self> {
        let url = Url::parse(address).map_err(|e| not_one(address, &e))?;
        refuse_dots(address, &url)?;
        if url.password().is_some() || url.query().is_some() || url.fragment().is_some() {
            return Err(Error::invalid(format!(
                "{}: an address holds bucket and prefix alone; keys and settings go into the \
                 environment or OPTIONS",
                bucket_of(&url)
            )));
        }
        let (scheme, prefix) = ObjectStoreScheme::parse(&url).map_err(|e| not_one(address, &e))?;
        let protocol = match scheme {
            ObjectStoreScheme::AmazonS3 => Protocol::S3,
            ObjectStoreScheme::GoogleCloudStorage => Protocol::Google,
            ObjectStoreScheme::MicrosoftAzure => Protocol::Azure,
            _ => return Err(not_one(address, &"no store that holds tables")),
        };
        Ok(Self { protocol, url, prefix })
    }

    /// The key prefix, without slashes around it; empty for the whole bucket.
    pub fn prefix(&self) -> &StorePath {
        &self.prefix
    }

    /// The address of the bucket: what one client serves.
    pub fn bucket(&self) -> String {
        bucket_of(&self.url)
    }

    /// Opens a client of the bucket. `options` go before the environment, their names as
    /// `aws.endpoint` or `endpoint`; see [`is_store_option`]. Nothing is asked of the store.
    ///
    /// # Errors
    /// `Invalid` for an option that isn't known or doesn't fit; `Unsupported` where this build has
    /// no such stores.
    pub fn open(&self, options: &BTreeMap<String, String>) -> Result<Arc<dyn TableStore>> {
        #[cfg(any(feature = "aws", feature = "azure", feature = "gcp"))]
        return client::open(self, options);
        #[cfg(not(any(feature = "aws", feature = "azure", feature = "gcp")))]
        {
            let _ = options;
            Err(self.unreachable())
        }
    }

    /// That this build has no client for it.
    #[cfg_attr(all(feature = "aws", feature = "azure", feature = "gcp"), allow(dead_code))]
    fn unreachable(&self) -> Error {
        Error::unsupported(format!(
            "{self}: this build can't reach such stores: build it with the feature {}",
            self.protocol.feature()
        ))
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.prefix.as_ref() {
            "" => f.write_str(&self.bucket()),
            prefix => write!(f, "{}/{prefix}", self.bucket()),
        }
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreAddress({self})")
    }
}

/// Scheme, bucket and host of an address: what is the same for all its prefixes.
fn bucket_of(url: &Url) -> String {
    let mut bucket = url.clone();
    let _ = bucket.set_password(None);
    bucket.set_query(None);
    bucket.set_fragment(None);
    let in_path = url.scheme() == "https";
    let first = url.path_segments().and_then(|mut names| names.next()).unwrap_or_default();
    bucket.set_path(if in_path { first } else { "" });
    bucket.as_str().trim_end_matches('/').to_owned()
}

fn not_one(address: &str, cause: &dyn fmt::Display) -> Error {
    let shown = address.split(['?', '#']).next().unwrap_or_default();
    Error::invalid(format!(
        "{shown} is not the address of a store that holds tables ({cause}): use s3://bucket/prefix, \
         gs://bucket/prefix, az://container/prefix or abfss://container@account.host/prefix"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_told_from_a_path() {
        for address in ["s3://b/p", "gs://b", "https://b.s3.amazonaws.com/p", "hdfs://x/y"] {
            assert!(is_address(address), "{address}");
        }
        for path in ["dir/", "/a/b", "file:///a", "a b://c", "://", "c:\\dir", "FILE://x"] {
            assert!(!is_address(path), "{path}");
        }
    }

    #[test]
    fn bucket_and_prefix_are_told_apart() {
        for (address, bucket, prefix) in [
            ("s3://b/lake/report", "s3://b", "lake/report"),
            ("s3://b", "s3://b", ""),
            ("s3a://b/x/", "s3a://b", "x"),
            ("gs://b/a%20b", "gs://b", "a b"),
            ("abfss://c@a.dfs.core.windows.net/l", "abfss://c@a.dfs.core.windows.net", "l"),
            ("https://s3.eu-west-1.amazonaws.com/b/l", "https://s3.eu-west-1.amazonaws.com/b", "l"),
        ] {
            let parsed = StoreAddress::parse(address).unwrap();
            assert_eq!((parsed.bucket().as_str(), parsed.prefix().as_ref()), (bucket, prefix));
        }
    }

    #[test]
    fn no_address_leads_out_of_its_prefix() {
        for address in ["s3://b/lake/../x", "s3://b/./x", "s3://b/a/%2e%2E/x", "s3://b/.."] {
            let error = StoreAddress::parse(address).unwrap_err().to_string();
            assert!(error.contains("without . and .."), "{address}: {error}");
        }
        assert_eq!(StoreAddress::parse("s3://b/a..b/.c").unwrap().prefix().as_ref(), "a..b/.c");
    }

    #[test]
    fn what_is_no_store_is_refused_with_those_that_are() {
        for address in ["hdfs://n/p", "http://host/x", "s3:///p", "ftp://h/x"] {
            let error = StoreAddress::parse(address).unwrap_err();
            assert!(error.to_string().contains("s3://bucket/prefix"), "{error}");
        }
    }

    #[test]
    fn keys_in_an_address_are_refused_and_not_shown() {
        for address in ["s3://key:hush@b/p", "s3://b/p?aws_secret_access_key=hush"] {
            let error = StoreAddress::parse(address).unwrap_err().to_string();
            assert!(error.contains("OPTIONS") && !error.contains("hush"), "{error}");
        }
    }
}
