//! Which calls fail, and how: shared by everything that injects faults.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use crate::gate::{Bars, Gate};

/// The variable that replays a run of seeded faults.
pub const SEED_VARIABLE: &str = "PARTWISE_SEED";

/// What happens at a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// That call and all after it fail: the process is gone.
    Stop,
    /// That call alone fails, without effect.
    Error,
    /// The same, and the error says that nobody answered.
    Timeout,
    /// That call alone fails with this number of the operating system, without effect. A store
    /// takes it for an error.
    Os(i32),
    /// Half of the data is written or read, then the call fails. Where a call moves no data, or
    /// all of it or none, it is an error.
    Partial,
    /// The call has its effect and answers an error.
    Landed,
    /// The call answers an error and has its effect when so many later calls were made. A disk
    /// does things in order: there the effect comes at once.
    Late(usize),
}

/// When it happens.
#[derive(Debug)]
enum When {
    /// At the call of this number, counted from 0.
    At(usize, Fault),
    /// Stop before, or after, the n-th call (from 1) of a name.
    Named { name: &'static str, nth: usize, after: bool },
    /// At one of so many calls, the fault by lot too.
    Seeded { lots: SmallRng, one_in: u32 },
}

#[derive(Debug)]
struct Plan {
    when: When,
    gated: Option<Gated>,
    stopped: bool,
    struck: bool,
    calls: Vec<Call>,
}

/// Which calls wait at a gate.
#[derive(Clone, Debug)]
struct Gated {
    names: &'static [&'static str],
    on: &'static str,
    gate: Arc<Bars>,
}

/// One call that was made.
#[derive(Clone, Debug)]
struct Call {
    name: &'static str,
    on: String,
}

/// Counts calls and says which fail. Clones share the count.
#[derive(Clone, Debug)]
pub struct Faults(Arc<Mutex<Plan>>);

impl Faults {
    fn new(when: When) -> Self {
        let plan = Plan { when, gated: None, stopped: false, struck: false, calls: Vec::new() };
        Self(Arc::new(Mutex::new(plan)))
    }

    /// No call fails.
    pub fn none() -> Self {
        Self::at(Fault::Error, usize::MAX)
    }

    /// The call of this number fails, counted from 0.
    pub fn at(fault: Fault, at: usize) -> Self {
        Self::new(When::At(at, fault))
    }

    /// Stops before the `nth` call (from 1) of `name`.
    pub fn stopping_before(name: &'static str, nth: usize) -> Self {
        Self::new(When::Named { name, nth, after: false })
    }

    /// Stops after the `nth` call (from 1) of `name`.
    pub fn stopping_after(name: &'static str, nth: usize) -> Self {
        Self::new(When::Named { name, nth, after: true })
    }

    /// About one call of `one_in` fails, in any way but by a stop. The same seed and the same calls
    /// give the same faults.
    pub fn seeded(seed: Seed, one_in: u32) -> Self {
        Self::new(When::Seeded { lots: SmallRng::seed_from_u64(seed.0), one_in })
    }

    /// The calls of these names on what ends in `on` wait at `gate`.
    pub fn waiting(names: &'static [&'static str], on: &'static str, gate: &Gate) -> Self {
        let faults = Self::none();
        faults.plan().gated = Some(Gated { names, on, gate: gate.bars() });
        faults
    }

    /// The names of the calls so far.
    pub fn calls(&self) -> Vec<&'static str> {
        self.plan().calls.iter().map(|call| call.name).collect()
    }

    /// The calls so far, each with what it was made on.
    pub fn trace(&self) -> Vec<String> {
        self.plan().calls.iter().map(|call| format!("{} {}", call.name, call.on)).collect()
    }

    /// Whether a call has failed.
    pub fn hit(&self) -> bool {
        self.plan().struck
    }

    /// Counts a call; its number, and how it fails.
    pub(crate) fn call(&self, name: &'static str, on: String) -> (usize, Option<Fault>) {
        let mut plan = self.plan();
        plan.calls.push(Call { name, on });
        let fault = plan.decide(name);
        plan.stopped |= fault == Some(Fault::Stop);
        plan.struck |= fault.is_some();
        (plan.calls.len() - 1, fault)
    }

    /// What a call of this name on this has to wait at.
    pub(crate) fn gate(&self, name: &'static str, on: &str) -> Option<Arc<Bars>> {
        let gated = self.plan().gated.clone()?;
        (gated.names.contains(&name) && on.ends_with(gated.on)).then_some(gated.gate)
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Plan {
    fn decide(&mut self, name: &'static str) -> Option<Fault> {
        if self.stopped {
            return Some(Fault::Stop);
        }
        let n = self.calls.len() - 1;
        match &mut self.when {
            When::At(at, fault) => (n == *at).then_some(*fault),
            When::Named { name: stop, nth, after } => {
                let made = self.calls.iter().filter(|call| call.name == *stop).count();
                let now = made == *nth && name == *stop;
                if now && *after {
                    self.when = When::At(n + 1, Fault::Stop);
                    return None;
                }
                now.then_some(Fault::Stop)
            }
            When::Seeded { lots, one_in } => lots.random_ratio(1, *one_in).then(|| lot(lots)),
        }
    }
}

fn lot(lots: &mut SmallRng) -> Fault {
    match lots.random_range(0..5) {
        0 => Fault::Error,
        1 => Fault::Timeout,
        2 => Fault::Partial,
        3 => Fault::Landed,
        _ => Fault::Late(lots.random_range(1..12)),
    }
}

/// What seeded faults come from. Shown as the assignment that replays them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub u64);

impl Seed {
    /// That of the environment, else a new one for each run.
    pub fn of_this_run() -> Self {
        let set = std::env::var(SEED_VARIABLE).ok().and_then(|seed| seed.parse().ok());
        Self(set.unwrap_or_else(|| RandomState::new().build_hasher().finish()))
    }

    /// The `n`th that comes from this one.
    pub fn nth(self, n: u64) -> Self {
        Self(self.0.wrapping_add(n))
    }
}

impl std::fmt::Display for Seed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{SEED_VARIABLE}={}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(faults: &Faults, calls: usize) -> Vec<Option<Fault>> {
        (0..calls).map(|_| faults.call("put", String::new()).1).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_faults() {
        let run = || faults(&Faults::seeded(Seed(7), 4), 200);
        assert_eq!(run(), run());
        let struck = run().iter().flatten().count();
        assert!((20..100).contains(&struck), "{struck}");
    }

    #[test]
    fn after_a_stop_nothing_works() {
        let stop = Some(Fault::Stop);
        assert_eq!(faults(&Faults::at(Fault::Stop, 1), 3), [None, stop, stop]);
        assert_eq!(faults(&Faults::stopping_before("put", 2), 3), [None, stop, stop]);
        assert_eq!(faults(&Faults::stopping_after("put", 2), 4), [None, None, stop, stop]);
        assert_eq!(faults(&Faults::at(Fault::Error, 1), 3), [None, Some(Fault::Error), None]);
    }
}
