//! Pauses between the attempts at one request.

use std::time::{Duration, Instant};

/// The first pause, doubled each time up to the longest.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(2);

/// Grows from attempt to attempt, by lot, so that writers that met don't meet again.
pub(super) struct Pause {
    next: Duration,
    started: Instant,
}

impl Pause {
    pub(super) fn new() -> Self {
        Self { next: FIRST, started: Instant::now() }
    }

    /// Since the first attempt.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits before the next attempt: not at all where no runtime keeps time.
    pub(super) async fn wait(&mut self) {
        let pause = self.take();
        if tokio::runtime::Handle::try_current().is_ok() {
            tokio::time::sleep(pause).await;
        }
    }

    /// Between half of it and all.
    fn take(&mut self) -> Duration {
        let (lot, _) = uuid::Uuid::new_v4().as_u64_pair();
        let part = 0.5 + (lot >> 32) as f64 / f64::from(u32::MAX) / 2.0;
        let pause = self.next.mul_f64(part);
        self.next = (self.next * 2).min(LONGEST);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_bound_and_differ() {
        let [mut a, mut b] = [Pause::new(), Pause::new()];
        let taken: Vec<_> = (0..12).map(|_| (a.take(), b.take())).collect();
        assert!(taken[0].0 >= FIRST / 2 && taken[0].0 <= FIRST);
        assert!(taken[11].0 >= LONGEST / 2 && taken[11].0 <= LONGEST);
        assert!(taken.iter().any(|(a, b)| a != b));
    }
}
