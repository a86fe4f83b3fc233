//! The partitions that are named to be emptied: `PARTITION (..)` without a query behind it.

use std::sync::Arc;

use datafusion::common::ScalarValue;
use datafusion::execution::context::SessionState;
use partwise_commit::{
    Coverage, Operation, PartitionColumn, PartitionSelector, PartitionValue, Scope, TableSchema,
};
use partwise_table::partition_value;

use super::spec::{Items, PartitionSpec};
use crate::statement::PartitionItem;
use crate::{Error, Result};

/// The partitions of one `PARTITION (..)`: those that equal its constants and fulfil its conditions.
pub struct Named {
    /// As messages and the record show it.
    pub text: String,
    /// Those that match.
    pub selector: Arc<dyn PartitionSelector>,
    /// Where constants say it all: values by the index of their column.
    values: Option<Vec<(usize, PartitionValue)>>,
}

impl Named {
    /// Checks a clause against a table's partition columns; any of them may be left out.
    ///
    /// # Errors
    /// A column without a value, an unknown or repeated one, a value that doesn't fit its type, a
    /// condition that doesn't decide on partitions.
    pub fn new(
        state: &SessionState,
        schema: &TableSchema,
        items: &[PartitionItem],
    ) -> Result<Self> {
        let columns = schema.partition_columns();
        if columns.is_empty() {
            return Err(Error::invalid(
                "the table isn't partitioned: TRUNCATE TABLE t empties all of it",
            ));
        }
        let Items { named, predicates } = Items::sort(state, columns, items)?;
        let constant = |(index, value): (usize, Option<ScalarValue>)| {
            Ok((index, value.ok_or_else(|| no_value(&columns[index].name))?))
        };
        let constants = named.into_iter().map(constant).collect::<Result<_>>()?;
        let spec = PartitionSpec { constants, scope: None };
        let selector = spec.selector(state, columns, &predicates)?;
        let equal = spec.shown(schema).into_iter().map(|(name, value)| format!("{name} = {value}"));
        let text: Vec<String> = equal.chain(predicates.iter().map(ToString::to_string)).collect();
        let values = match predicates.is_empty() {
            true => Some(values(columns, &spec)?),
            false => None,
        };
        Ok(Self { text: text.join(" AND "), selector, values })
    }
}

fn values(
    columns: &[PartitionColumn],
    spec: &PartitionSpec,
) -> Result<Vec<(usize, PartitionValue)>> {
    let values = spec.constants.iter();
    let value =
        |(index, value): (&usize, _)| Ok((*index, partition_value(&columns[*index].ty, value)?));
    values.map(value).collect()
}

fn no_value(name: &str) -> Error {
    Error::invalid(format!(
        "PARTITION gives {name} no value: {name} = constant, a condition on it, or leave it out \
         for all of its values"
    ))
}

/// What empties the partitions of all clauses: by values where one says it all, else by a scope.
pub fn emptied(named: &[Named]) -> (Operation, Option<Scope>) {
    if let [Named { values: Some(values), .. }] = named {
        return (Operation::Overwrite(Coverage::Matching(values.clone())), None);
    }
    let texts: Vec<&str> = named.iter().map(|named| named.text.as_str()).collect();
    let any = AnyOf(named.iter().map(|named| Arc::clone(&named.selector)).collect());
    let scope = Scope::new(Arc::new(any), texts.join(" OR "));
    (Operation::Overwrite(Coverage::Written), Some(scope))
}

/// The partitions that one of several selectors selects.
struct AnyOf(Vec<Arc<dyn PartitionSelector>>);

impl PartitionSelector for AnyOf {
    fn select(&self, prefixes: &[Vec<PartitionValue>]) -> partwise_commit::Result<Vec<bool>> {
        let mut selected = vec![false; prefixes.len()];
        for selector in &self.0 {
            for (selected, also) in selected.iter_mut().zip(selector.select(prefixes)?) {
                *selected |= also;
            }
        }
        Ok(selected)
    }
}
