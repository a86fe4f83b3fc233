//! What is counted of a batch's rows while they are read.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

/// Counts of the rows of a batch; tasks share it.
#[derive(Debug)]
pub(crate) struct Meter {
    rows: AtomicU64,
    late: AtomicU64,
    /// `i64::MIN` as long as there is none.
    newest: AtomicI64,
    /// Reading has failed.
    failed: AtomicBool,
}

impl Default for Meter {
    fn default() -> Self {
        Self {
            rows: AtomicU64::new(0),
            late: AtomicU64::new(0),
            newest: AtomicI64::new(i64::MIN),
            failed: AtomicBool::new(false),
        }
    }
}

impl Meter {
    pub fn count(&self, rows: usize, late: usize, newest: Option<i64>) {
        self.rows.fetch_add(rows as u64, Ordering::Relaxed);
        self.late.fetch_add(late as u64, Ordering::Relaxed);
        if let Some(newest) = newest {
            self.newest.fetch_max(newest, Ordering::Relaxed);
        }
    }

    /// As if nothing had been counted.
    pub fn clear(&self) {
        self.rows.store(0, Ordering::Relaxed);
        self.late.store(0, Ordering::Relaxed);
        self.newest.store(i64::MIN, Ordering::Relaxed);
    }

    /// Says that the input can't be read.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Release);
    }

    /// Whether it was the input that couldn't be read.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Rows read.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Of them, those older than the watermark.
    pub fn late(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    /// The highest event time.
    pub fn newest(&self) -> Option<i64> {
        Some(self.newest.load(Ordering::Relaxed)).filter(|newest| *newest > i64::MIN)
    }
}
