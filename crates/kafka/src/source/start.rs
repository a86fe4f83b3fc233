//! [`Start`]: where a query begins to read.

use std::collections::BTreeMap;

use partwise_stream::{Error, Result};

use super::offsets::Held;

/// Where a query starts to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Start {
    /// At the first offset that is there.
    #[default]
    Earliest,
    /// Behind the last one.
    Latest,
    /// At these; partitions that aren't named, at the first.
    At(BTreeMap<i32, i64>),
}

impl Start {
    /// Of the option `starting_offsets`: a word, or JSON such as `{"0": 17, "1": -2}` where -2 is
    /// earliest and -1 latest.
    ///
    /// # Errors
    /// Something else.
    pub fn of(text: &str) -> Result<Self> {
        match text.trim().to_ascii_lowercase().as_str() {
            "earliest" => return Ok(Self::Earliest),
            "latest" => return Ok(Self::Latest),
            _ => {}
        }
        serde_json::from_str(text).map(Self::At).map_err(|_| {
            Error::invalid(format!(
                "starting_offsets is '{text}': earliest, latest or an offset for each partition, \
                 {{\"0\": 17, \"1\": -2}}, where -2 is the earliest and -1 the latest"
            ))
        })
    }

    /// The offset that a partition is read from.
    pub fn offset(&self, partition: i32, held: Held) -> i64 {
        match self {
            Self::Earliest => held.low,
            Self::Latest => held.high,
            Self::At(offsets) => match offsets.get(&partition) {
                None | Some(-2) => held.low,
                Some(-1) => held.high,
                Some(offset) => *offset,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starting_offsets_are_words_or_numbers() {
        let at = Start::of(r#"{"0": 17, "1": -2, "2": -1}"#).expect("offsets");
        let from: Vec<i64> = (0..4).map(|p| at.offset(p, Held { low: 3, high: 30 })).collect();
        assert_eq!(from, [17, 3, 30, 3]);
        assert!(Start::of("yesterday").is_err());
    }
}
