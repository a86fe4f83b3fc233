//! What stands in `offsets/<n>` and `commits/<n>`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::lock::{Runner, now_ms};
use crate::{Error, Result};

/// The exact input of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct OffsetsEntry {
    /// The source's offsets.
    pub offsets: Value,
    /// The watermark that the batch runs with, in the event time's own unit.
    pub watermark: Option<i64>,
    /// What the watermark stays behind the newest event time, in the same unit.
    #[serde(default)]
    pub delay: Option<i64>,
    /// The tasks that the batch's rows are dealt out to.
    #[serde(default)]
    pub tasks: Option<usize>,
    /// Digest of offsets and watermark: the sink knows the batch by it.
    pub digest: String,
    /// When it was planned, milliseconds since 1970, UTC.
    pub planned_ms: i64,
    /// Who planned it.
    pub runner: Runner,
}

impl OffsetsEntry {
    /// The input of a batch that is planned now.
    pub fn new(
        offsets: Value,
        (watermark, delay): (Option<i64>, Option<i64>),
        tasks: usize,
        runner: &Runner,
    ) -> Result<Self> {
        let text = serde_json::to_vec(&(&offsets, watermark))
            .map_err(|cause| Error::internal(format!("offsets as JSON: {cause}")))?;
        let digest = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
        let (planned_ms, runner) = (now_ms(), runner.clone());
        Ok(Self { offsets, watermark, delay, tasks: Some(tasks), digest, planned_ms, runner })
    }
}

/// A batch that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct CommitEntry {
    /// The watermark that it leaves, in the event time's own unit.
    pub watermark: Option<i64>,
    /// The last batch that the sink has been given.
    pub delivered: Option<Delivered>,
    /// When it was done, milliseconds since 1970, UTC.
    pub committed_ms: i64,
    /// Who did it.
    pub runner: Runner,
}

/// A batch that the sink has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Delivered {
    pub batch: u64,
    pub digest: String,
}

impl CommitEntry {
    /// A batch that is done now.
    pub fn new(watermark: Option<i64>, delivered: Option<Delivered>, runner: &Runner) -> Self {
        Self { watermark, delivered, committed_ms: now_ms(), runner: runner.clone() }
    }
}
