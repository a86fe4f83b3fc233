//! A cache of bounded weight: what was asked for longest ago goes first.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many bytes of records are remembered, as they are written; in memory they take a few times
/// that.
pub(crate) const RECORD_BYTES_REMEMBERED: usize = 32 << 20;

#[cfg(test)]
thread_local! {
    /// On a thread of the protocol's model, which asks the same disk or store once more for each
    /// step, nothing is remembered.
    pub(crate) static FORGETS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Values under keys, each with a weight; their sum stays within a limit.
pub(crate) struct Cache<K, V> {
    limit: usize,
    state: Mutex<State<K, V>>,
}

struct State<K, V> {
    values: HashMap<K, Kept<V>>,
    /// The keys by when they were asked for last.
    by_use: BTreeMap<u64, K>,
    uses: u64,
    weight: usize,
}

struct Kept<V> {
    value: V,
    weight: usize,
    last_use: u64,
}

impl<K: Clone + Eq + Hash, V: Clone> Cache<K, V> {
    /// An empty cache for values that weigh `limit` together.
    pub(crate) fn new(limit: usize) -> Self {
        let state = State { values: HashMap::new(), by_use: BTreeMap::new(), uses: 0, weight: 0 };
        Self { limit, state: Mutex::new(state) }
    }

    pub(crate) fn get<Q>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        #[cfg(test)]
        if FORGETS.get() {
            return None;
        }
        let mut state = self.locked();
        let state = &mut *state;
        let kept = state.values.get_mut(key)?;
        state.uses += 1;
        if let Some(key) = state.by_use.remove(&kept.last_use) {
            state.by_use.insert(state.uses, key);
        }
        kept.last_use = state.uses;
        Some(kept.value.clone())
    }

    /// Keeps a value in place of the one under its key; one that is too heavy is not kept.
    pub(crate) fn put(&self, key: K, value: V, weight: usize) {
        let mut state = self.locked();
        state.remove(&key);
        if weight > self.limit {
            return;
        }
        while state.weight + weight > self.limit {
            let Some((_, oldest)) = state.by_use.pop_first() else { break };
            state.remove(&oldest);
        }
        state.uses += 1;
        state.weight += weight;
        let last_use = state.uses;
        state.by_use.insert(last_use, key.clone());
        state.values.insert(key, Kept { value, weight, last_use });
    }

    /// Plain data that no panic leaves half changed.
    fn locked(&self) -> MutexGuard<'_, State<K, V>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash, V> State<K, V> {
    fn remove(&mut self, key: &K) {
        if let Some(kept) = self.values.remove(key) {
            self.weight -= kept.weight;
            self.by_use.remove(&kept.last_use);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_for_longest_ago_goes_first() {
        let cache: Cache<String, u32> = Cache::new(10);
        cache.put("a".into(), 1, 4);
        cache.put("b".into(), 2, 4);
        assert_eq!(cache.get("a"), Some(1));
        cache.put("c".into(), 3, 4);
        assert_eq!((cache.get("a"), cache.get("b"), cache.get("c")), (Some(1), None, Some(3)));
    }

    #[test]
    fn the_weights_stay_within_the_limit() {
        let cache: Cache<String, u32> = Cache::new(10);
        cache.put("a".into(), 1, 4);
        cache.put("a".into(), 2, 8);
        assert_eq!(cache.get("a"), Some(2));
        cache.put("b".into(), 3, 11);
        assert_eq!((cache.get("a"), cache.get("b")), (Some(2), None));
        cache.put("a".into(), 4, 11);
        assert_eq!(cache.get("a"), None, "a value that is too heavy leaves none behind");
        cache.put("c".into(), 5, 10);
        assert_eq!(cache.get("c"), Some(5));
    }
}
