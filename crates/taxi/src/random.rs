//! Where chance comes from: one generator per task, derived from the seed and the task's own number,
//! so that the outcome does not depend on which thread runs which task.

use rand::SeedableRng;
use rand::rngs::SmallRng;

/// What a generator is for; the same day has one for its plan and another for its rows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Purpose {
    DayFactors = 1,
    Cells = 2,
    Rows = 3,
    Guests = 4,
}

/// The generator of one task.
pub(crate) fn generator(seed: u64, purpose: Purpose, task: usize) -> SmallRng {
    let stream = mix(seed ^ mix(purpose as u64));
    SmallRng::seed_from_u64(mix(stream ^ mix(task as u64)))
}

/// The SplitMix64 finalizer (Steele, Lea, Flood 2014).
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
