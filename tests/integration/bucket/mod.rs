//! The binary on a real S3: lakes and tables by address, and what goes wrong there.

mod addresses;
mod kills;
mod readers;
mod secrets;
mod streams;
mod trouble;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::TryStreamExt;
use object_store::path::Path as StorePath;
use object_store::{ObjectStore, ObjectStoreExt};
use partwise::{StoreAddress, TableStore};
use partwise_testkit::S3Server;

use crate::support::{Folder, Ran, ran};

/// A lake of one test in a bucket, and a folder to run the binary in.
pub struct Bucket {
    pub folder: Folder,
    pub server: Arc<S3Server>,
    prefix: String,
}

/// Where there is an S3, a new lake in it; else what is skipped is said.
pub fn bucket(skipped: &str) -> Option<Bucket> {
    static LAKES: AtomicUsize = AtomicUsize::new(0);
    let server = S3Server::shared(skipped).expect("S3 starts")?;
    let prefix = format!("binary-{}", LAKES.fetch_add(1, Ordering::Relaxed));
    Some(Bucket { folder: Folder::new(), server, prefix })
}

impl Bucket {
    /// The address of something in the lake; of the lake itself for an empty path.
    pub fn address(&self, path: &str) -> String {
        let lake = format!("s3://{}/{}", S3Server::BUCKET, self.prefix);
        if path.is_empty() { lake } else { format!("{lake}/{path}") }
    }

    /// The binary, with the server's keys in its environment and no lake named.
    pub fn partwise(&self) -> Command {
        with_keys(self.without_keys(), &self.server.endpoint())
    }

    /// The binary, which knows of no store.
    pub fn without_keys(&self) -> Command {
        let mut command = self.folder.partwise();
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("AWS_") {
                command.env_remove(name);
            }
        }
        command
    }

    /// Runs statements on the lake.
    pub fn sql(&self, sql: &str) -> Ran {
        ran(self.partwise().args(["--lake", &self.address(""), "-c", sql]).output().expect("runs"))
    }

    /// Rows of the last query as CSV lines, without the header.
    pub fn rows(&self, sql: &str) -> Vec<String> {
        let mut command = self.partwise();
        command.args(["--lake", &self.address(""), "-q", "--format", "csv", "-c", sql]);
        let ran = ran(command.output().expect("the binary runs"));
        assert_eq!(ran.status, Some(0), "{sql}\n{}{}", ran.out, ran.err);
        ran.out.lines().skip(1).map(str::to_owned).collect()
    }

    /// A client of the bucket.
    pub fn store(&self) -> Arc<dyn TableStore> {
        let address = StoreAddress::parse(&self.address("")).expect("an address");
        let options = [
            ("aws.access_key_id", S3Server::KEY.to_owned()),
            ("aws.secret_access_key", S3Server::SECRET.to_owned()),
            ("aws.endpoint", self.server.endpoint()),
        ];
        let options = options.map(|(name, value)| (name.to_owned(), value));
        address.open(&options.into()).expect("a client")
    }

    /// The lake's key prefix.
    pub fn prefix(&self) -> StorePath {
        StorePath::from(self.prefix.as_str())
    }

    /// Every object of the lake, with its bytes.
    pub fn objects(&self) -> Vec<(String, Vec<u8>)> {
        let (store, prefix) = (self.store(), self.prefix());
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let listed: Vec<_> = store.list(Some(&prefix)).try_collect().await.expect("a listing");
            let mut objects = Vec::new();
            for meta in listed {
                let found = store.get(&meta.location).await.expect("an object");
                objects
                    .push((meta.location.to_string(), found.bytes().await.expect("bytes").into()));
            }
            objects
        })
    }

    /// The options of a statement that open the server.
    pub fn options(&self) -> String {
        format!(
            "'aws.access_key_id' '{}', 'aws.secret_access_key' '{}', 'aws.endpoint' '{}'",
            S3Server::KEY,
            S3Server::SECRET,
            self.server.endpoint()
        )
    }
}

/// A run with the server's one user's keys and an endpoint.
pub fn with_keys(mut command: Command, endpoint: &str) -> Command {
    command
        .env("AWS_ACCESS_KEY_ID", S3Server::KEY)
        .env("AWS_SECRET_ACCESS_KEY", S3Server::SECRET)
        .env("AWS_ENDPOINT", endpoint);
    command
}

/// That nothing was written beside the store, in a folder that looks like its address.
pub fn stays_empty(folder: &Path) {
    let names: Vec<_> = std::fs::read_dir(folder).expect("the folder").flatten().collect();
    assert!(names.is_empty(), "{names:?}");
}
