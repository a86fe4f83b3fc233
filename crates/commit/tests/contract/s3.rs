//! The contracts on a real S3.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path as StorePath;
use object_store::{BackoffConfig, RetryConfig};
use partwise_commit::*;
use partwise_testkit::S3Server;

use crate::place::Place;
use crate::support::*;

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

/// A store at a port where nobody listens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_down_is_named_in_bounded_time() -> Result<()> {
    let free = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let endpoint = format!("http://{}", free.local_addr().unwrap());
    drop(free);
    let store = Arc::new(store_at(&endpoint, Duration::from_secs(2)));
    let table = Table::new(Location::store(store, StorePath::parse("far/report").unwrap()));
    let written = write(&table, Operation::Append, &[("a", &["1"])]);
    let errors = async { (written.await.unwrap_err(), content(&table).await.unwrap_err()) };
    let patience = Duration::from_secs(120);
    let (written, read) = tokio::time::timeout(patience, errors).await.expect("it ends");
    for error in [written, read] {
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains(&endpoint), "{error}");
        assert!(error.message().contains("far/"), "{error}");
    }
    Ok(())
}
