//! The contracts on a real S3.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path as StorePath;
use object_store::{BackoffConfig, RetryConfig};
use partwise_testkit::S3Server;

use crate::place::Place;

/// A lake in the bucket of a running server.
pub struct Bucket {
    pub store: Arc<AmazonS3>,
    pub server: Arc<S3Server>,
    lake: String,
}

impl Bucket {
    pub fn key(&self, path: &str) -> StorePath {
        let key = if path.is_empty() { self.lake.clone() } else { format!("{}/{path}", self.lake) };
        StorePath::parse(key).unwrap()
    }

    /// How many uploads are open in this lake.
    pub fn open_uploads(&self) -> usize {
        self.server.open_uploads(&self.lake).unwrap()
    }

    /// Another lake in the same bucket.
    pub fn another(&self) -> Self {
        Self { store: Arc::clone(&self.store), server: Arc::clone(&self.server), lake: new_lake() }
    }
}

fn new_lake() -> String {
    static LAKES: AtomicUsize = AtomicUsize::new(0);
    format!("lake-{:06}", LAKES.fetch_add(1, Ordering::Relaxed))
}

/// A new lake; none where there is no server, said with what is skipped.
pub fn place(skipped: &str) -> Option<Place> {
    let server = S3Server::shared(skipped).unwrap()?;
    let store = store_at(&server.endpoint(), Duration::from_secs(60));
    Some(Place::S3(Bucket { store: Arc::new(store), server, lake: new_lake() }))
}

/// A client of what answers there, which tries for so long.
pub fn store_at(endpoint: &str, tries: Duration) -> AmazonS3 {
    let backoff = BackoffConfig { init_backoff: Duration::from_millis(20), ..Default::default() };
    let retry = RetryConfig { backoff, retry_timeout: tries, ..Default::default() };
    AmazonS3Builder::new()
        .with_endpoint(endpoint)
        .with_allow_http(true)
        .with_region("us-east-1")
        .with_bucket_name(S3Server::BUCKET)
        .with_access_key_id(S3Server::KEY)
        .with_secret_access_key(S3Server::SECRET)
        .with_retry(retry)
        .build()
        .unwrap()
}
