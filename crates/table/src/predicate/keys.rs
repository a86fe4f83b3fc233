//! Partitions by their values.

use std::collections::HashSet;
use std::sync::Arc;

use partwise_commit::{PartitionKey, PartitionSelector, PartitionValue, Result};

/// A set of partitions, and nothing else. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PartitionKeys {
    /// The values of each partition, and of each level above it.
    prefixes: Arc<HashSet<Vec<PartitionValue>>>,
}

impl PartitionKeys {
    /// The partitions of these keys.
    pub fn new<'a>(keys: impl IntoIterator<Item = &'a PartitionKey>) -> Self {
        let levels = |key: &'a PartitionKey| {
            (0..=key.values().len()).map(|level| key.values()[..level].to_vec())
        };
        Self { prefixes: Arc::new(keys.into_iter().flat_map(levels).collect()) }
    }

    pub(crate) fn holds(&self, values: &[PartitionValue]) -> bool {
        self.prefixes.contains(values)
    }
}

impl PartitionSelector for PartitionKeys {
    fn select(&self, prefixes: &[Vec<PartitionValue>]) -> Result<Vec<bool>> {
        Ok(prefixes.iter().map(|prefix| self.holds(prefix)).collect())
    }

    fn leading_values(&self) -> Vec<Vec<PartitionValue>> {
        let first = self.prefixes.iter().filter(|prefix| prefix.len() == 1);
        let mut first: Vec<_> = first.flatten().cloned().collect();
        first.sort();
        vec![first]
    }
}

/// What one of two selectors selects of what the other does.
pub(crate) struct Within<'a> {
    pub(crate) keys: &'a PartitionKeys,
    pub(crate) selector: &'a dyn PartitionSelector,
}

impl PartitionSelector for Within<'_> {
    fn select(&self, prefixes: &[Vec<PartitionValue>]) -> Result<Vec<bool>> {
        let selected = self.selector.select(prefixes)?;
        Ok(prefixes
            .iter()
            .zip(selected)
            .map(|(p, selected)| selected && self.keys.holds(p))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(texts: &[&str]) -> Vec<PartitionValue> {
        texts.iter().map(|text| PartitionValue::Text(text.to_string())).collect()
    }

    #[test]
    fn the_first_level_is_known_by_its_values() {
        let keys =
            [&["b", "1"], &["a", "2"], &["a", "1"]].map(|texts| PartitionKey::new(values(texts)));
        assert_eq!(PartitionKeys::new(&keys).leading_values(), [values(&["a", "b"])]);
    }

    #[test]
    fn a_level_is_selected_where_something_below_it_is() -> Result<()> {
        let keys = [&["a", "1"], &["b", "2"]].map(|texts| PartitionKey::new(values(texts)));
        let keys = PartitionKeys::new(&keys);
        let asked = [&["a"][..], &["c"], &["a", "1"], &["a", "2"], &["b", "2"]].map(values);
        assert_eq!(keys.select(&asked)?, [true, false, true, false, true]);
        Ok(())
    }
}
