//! Compression codecs by the names that options use.

use std::fmt;
use std::str::FromStr;

use datafusion::common::Result;
use datafusion::error::DataFusionError;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};

use crate::config::wrong_value;

/// A codec with its level, checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// No compression.
    None,
    /// Snappy: fast, what Spark writes.
    Snappy,
    /// LZ4 in the form other readers know (`LZ4_RAW`).
    Lz4,
    /// Zstandard with its level.
    Zstd(ZstdLevel),
    /// Gzip with its level.
    Gzip(GzipLevel),
    /// Brotli with its level.
    Brotli(BrotliLevel),
}

const ACCEPTED: &str = "'snappy', 'zstd(1..22)', 'gzip(0..9)', 'lz4', 'brotli(0..11)' and 'none'; the level may be left out";

impl Codec {
    /// The codec as the Parquet writer takes it.
    pub fn parquet(&self) -> Compression {
        match *self {
            Codec::None => Compression::UNCOMPRESSED,
            Codec::Snappy => Compression::SNAPPY,
            Codec::Lz4 => Compression::LZ4_RAW,
            Codec::Zstd(level) => Compression::ZSTD(level),
            Codec::Gzip(level) => Compression::GZIP(level),
            Codec::Brotli(level) => Compression::BROTLI(level),
        }
    }

    /// How names of files with this codec end: `snappy.parquet`.
    pub fn file_suffix(&self) -> &'static str {
        match self {
            Codec::None => "parquet",
            Codec::Snappy => "snappy.parquet",
            Codec::Lz4 => "lz4.parquet",
            Codec::Zstd(_) => "zstd.parquet",
            Codec::Gzip(_) => "gz.parquet",
            Codec::Brotli(_) => "br.parquet",
        }
    }
}

impl fmt::Display for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Codec::None => f.write_str("none"),
            Codec::Snappy => f.write_str("snappy"),
            Codec::Lz4 => f.write_str("lz4"),
            Codec::Zstd(level) => write!(f, "zstd({})", level.compression_level()),
            Codec::Gzip(level) => write!(f, "gzip({})", level.compression_level()),
            Codec::Brotli(level) => write!(f, "brotli({})", level.compression_level()),
        }
    }
}

impl FromStr for Codec {
    type Err = DataFusionError;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || wrong_value("compression", text, ACCEPTED);
        let lower = text.trim().to_ascii_lowercase();
        let (name, level) = split_level(&lower).ok_or_else(wrong)?;
        let codec = match (name, level) {
            ("none" | "uncompressed", None) => Some(Codec::None),
            ("snappy", None) => Some(Codec::Snappy),
            ("lz4" | "lz4_raw", None) => Some(Codec::Lz4),
            ("zstd", level) => ZstdLevel::try_new(level.unwrap_or(3)).ok().map(Codec::Zstd),
            ("gzip", level) => unsigned(level.unwrap_or(6), GzipLevel::try_new).map(Codec::Gzip),
            ("brotli", level) => {
                unsigned(level.unwrap_or(1), BrotliLevel::try_new).map(Codec::Brotli)
            }
            _ => None,
        };
        codec.ok_or_else(wrong)
    }
}

fn unsigned<L, E>(level: i32, make: fn(u32) -> std::result::Result<L, E>) -> Option<L> {
    make(u32::try_from(level).ok()?).ok()
}

/// `zstd(3)` -> `zstd`, 3.
fn split_level(text: &str) -> Option<(&str, Option<i32>)> {
    let Some((name, rest)) = text.split_once('(') else { return Some((text, None)) };
    let level = rest.strip_suffix(')')?.trim().parse().ok()?;
    Some((name.trim(), Some(level)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_codec_reads_back_what_it_shows() {
        for text in ["none", "snappy", "lz4", "zstd(19)", "gzip(9)", "brotli(11)", "zstd(1)"] {
            assert_eq!(text.parse::<Codec>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn the_level_may_be_left_out() {
        assert_eq!("ZSTD".parse::<Codec>().expect("zstd").to_string(), "zstd(3)");
        assert_eq!("gzip".parse::<Codec>().expect("gzip").to_string(), "gzip(6)");
    }

    #[test]
    fn a_wrong_codec_or_level_lists_the_accepted_ones() {
        for text in ["snapy", "zstd(99)", "zstd(x)", "snappy(1)", "gzip(-1)", "zstd(3", ""] {
            let error = text.parse::<Codec>().expect_err(text).strip_backtrace();
            assert!(error.contains("'zstd(1..22)'"), "{error}");
        }
    }
}
