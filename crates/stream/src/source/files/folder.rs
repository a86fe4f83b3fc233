//! The folder that files arrive in: of this machine, or a prefix of a store.

use std::fmt;
use std::io::ErrorKind as IoKind;
use std::path::PathBuf;

use datafusion::datasource::listing::ListingTableUrl;
use object_store::path::Path;
use partwise_commit::is_address;
use url::Url;

use crate::checkpoint::blocking;
use crate::{Error, Result};

/// Characters of patterns, and those that end the path of an address.
const PATTERN: [char; 4] = ['*', '?', '[', '#'];

/// A folder.
#[derive(Clone, Debug)]
pub(super) struct Folder {
    url: ListingTableUrl,
    /// Of this machine.
    dir: Option<PathBuf>,
}

impl Folder {
    /// The folder that a path or an address names: all of it as it stands, nothing in it is a
    /// pattern.
    ///
    /// # Errors
    /// A path that names nothing, a file, or files by a pattern.
    pub fn parse(path: &str) -> Result<Self> {
        if path.trim().is_empty() {
            return Err(Error::invalid("FROM FILES '' names no folder: FROM FILES 'landing/'"));
        }
        match is_address(path) {
            true => Self::of_store(path),
            false => Self::of_this_machine(path.strip_prefix("file://").unwrap_or(path)),
        }
    }

    fn of_store(address: &str) -> Result<Self> {
        if address.contains(PATTERN) {
            return Err(pattern(address));
        }
        let url = ListingTableUrl::parse(format!("{}/", address.trim_end_matches('/')))?;
        Ok(Self { url, dir: None })
    }

    fn of_this_machine(path: &str) -> Result<Self> {
        let none = || Error::invalid(format!("FROM FILES '{path}' is no path"));
        let absolute = std::path::absolute(path).map_err(|cause| none().with_source(cause))?;
        let url = Url::from_directory_path(absolute).map_err(|()| none())?;
        // Parsed once more, it has no `..` left.
        let url = Url::parse(url.as_str()).map_err(|cause| none().with_source(cause))?;
        let dir = url.to_file_path().map_err(|()| none())?;
        if std::path::Path::new(path).is_file() {
            return Err(Error::invalid(format!(
                "{path} is a file: a stream reads the folder that files arrive in"
            )));
        }
        if path.contains(PATTERN) && !dir.exists() {
            return Err(pattern(path));
        }
        Ok(Self { url: ListingTableUrl::try_new(url, None)?, dir: Some(dir) })
    }

    /// Its address.
    pub fn url(&self) -> &ListingTableUrl {
        &self.url
    }

    /// The folder, where it is one of this machine.
    pub fn dir(&self) -> Option<&std::path::Path> {
        self.dir.as_deref()
    }

    /// Whether it is there; a prefix of a store is one also where nothing has it.
    ///
    /// # Errors
    /// A disk that doesn't tell.
    pub async fn is_there(&self) -> Result<bool> {
        let Some(dir) = self.dir.clone() else { return Ok(true) };
        blocking(move || match std::fs::metadata(&dir) {
            Ok(found) => Ok(found.is_dir()),
            Err(cause) if matches!(cause.kind(), IoKind::NotFound | IoKind::NotADirectory) => {
                Ok(false)
            }
            Err(cause) => Err(Error::io("look into", &dir, cause)),
        })
        .await
    }

    /// A file in it, as people know it.
    pub fn name_of(&self, file: &Path) -> String {
        match self.dir {
            Some(_) => format!("/{file}"),
            None => format!("{}{file}", self.url.object_store().as_str()),
        }
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.dir {
            Some(dir) => dir.display().fmt(f),
            None => f.write_str(self.url.as_str()),
        }
    }
}

fn pattern(path: &str) -> Error {
    Error::invalid(format!(
        "FROM FILES '{path}' is a pattern: a stream reads all of one folder, so name the folder that \
         the files arrive in"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str) -> String {
        Folder::parse(path).expect_err(path).to_string()
    }

    #[test]
    fn a_folder_is_taken_as_it_is_named() {
        let within = tempfile::tempdir().expect("a folder");
        let odd = within.path().join("in[1] *?#%20");
        std::fs::create_dir(&odd).expect("a folder");
        let folder = Folder::parse(&odd.display().to_string()).expect("a folder");
        assert_eq!(folder.to_string(), format!("{}/", odd.display()));
        let prefix = folder.url().prefix();
        assert_eq!(folder.name_of(&prefix.clone().join("a")), format!("{}/a", odd.display()));
        let above = format!("{}/../", odd.display());
        let above = Folder::parse(&above).expect("a folder").to_string();
        assert_eq!(above, format!("{}/", within.path().display()));
        let bucket = Folder::parse("s3://bucket/landing").expect("a prefix");
        assert_eq!(bucket.to_string(), "s3://bucket/landing/");
        assert_eq!(bucket.name_of(&Path::from("landing/1.csv")), "s3://bucket/landing/1.csv");
    }

    #[test]
    fn a_pattern_or_nothing_at_all_is_no_folder() {
        for pattern in ["landing/2024-*", "in[1]/", "s3://bucket/2024-*/", "s3://bucket/a?b", "*"] {
            assert!(refused(pattern).contains("is a pattern"), "{pattern}");
        }
        for nothing in ["", " "] {
            assert!(refused(nothing).contains("names no folder"), "{nothing}");
        }
    }
}
