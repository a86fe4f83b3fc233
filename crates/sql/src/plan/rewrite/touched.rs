//! The partitions that a statement changes: found first, then the only ones read and written.

use std::collections::{BTreeSet, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::row::{RowConverter, SortField};
use datafusion::common::{Result as DFResult, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, Volatility, in_list, lit,
};
use partwise_commit::{Coverage, Operation, PartitionColumn, PartitionKey, PartitionValue, Scope};
use partwise_table::{PartitionKeys, partition_value, scalar};

use crate::report::counted;
use crate::{Error, Result};

/// Partitions that the scope of a statement names; beyond, they are counted.
const NAMED: usize = 10;

/// Which partitions change.
#[derive(Debug, Clone)]
pub enum Touched {
    /// Any may: all are written anew.
    All,
    /// These.
    Keys(Arc<BTreeSet<PartitionKey>>),
}

impl Touched {
    /// Whether nothing changes.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Keys(keys) if keys.is_empty())
    }

    /// What the commit replaces: whatever it doesn't write anew of that ends empty.
    pub fn operation(&self, columns: &[PartitionColumn]) -> (Operation, Option<Scope>) {
        match self {
            Self::Keys(keys) if columns.is_empty() && keys.is_empty() => {
                (Operation::Overwrite(Coverage::Written), None)
            }
            Self::Keys(keys) if !columns.is_empty() => {
                let text = described(keys, columns);
                let scope = Scope::new(Arc::new(PartitionKeys::new(keys.iter())), text);
                (Operation::Overwrite(Coverage::Written), Some(scope))
            }
            _ => (Operation::Overwrite(Coverage::Matching(vec![])), None),
        }
    }

    /// The rows of the target that lie in these partitions; its columns are the table's by position,
    /// the partition columns at `indices`.
    ///
    /// # Errors
    /// None that the keys of a table can give.
    pub fn rows(
        &self,
        target: &LogicalPlan,
        columns: &[PartitionColumn],
        indices: &[usize],
    ) -> Result<LogicalPlan> {
        let rows = LogicalPlanBuilder::from(target.clone());
        let Self::Keys(keys) = self else { return Ok(rows.build()?) };
        if keys.is_empty() {
            return Ok(rows.filter(lit(false))?.build()?);
        }
        let all = target.schema().columns();
        let parts: Vec<Expr> =
            indices.iter().map(|index| Expr::Column(all[*index].clone())).collect();
        let Some(first) = parts.first() else { return Ok(rows.build()?) };
        let mut condition = leading(first, &columns[0], keys)?;
        if parts.len() > 1 {
            condition = condition.and(Within::of(columns, keys).call(parts.clone()));
        }
        Ok(rows.filter(condition)?.build()?)
    }
}

/// `dt=d1/hr=1, dt=d1/hr=2 and 7 more partitions`.
fn described(keys: &BTreeSet<PartitionKey>, columns: &[PartitionColumn]) -> String {
    if keys.is_empty() {
        return "no partition".to_owned();
    }
    let named: Vec<String> = keys.iter().take(NAMED).map(|key| key.display(columns)).collect();
    match keys.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {}", named.join(", "), counted(more as u64, "more partition")),
    }
}

/// The first partition column's values as a list: directories of others aren't looked for.
fn leading(
    column: &Expr,
    described: &PartitionColumn,
    keys: &BTreeSet<PartitionKey>,
) -> Result<Expr> {
    let values: BTreeSet<&PartitionValue> =
        keys.iter().filter_map(|key| key.values().first()).collect();
    let null = values.iter().any(|value| value.is_null());
    let listed = values.iter().filter(|value| !value.is_null());
    let listed = listed.map(|value| Ok(lit(scalar(&described.ty, value)?)));
    let listed = listed.collect::<Result<Vec<_>>>()?;
    Ok(match (listed.is_empty(), null) {
        (true, _) => column.clone().is_null(),
        (false, true) => in_list(column.clone(), listed, false).or(column.clone().is_null()),
        (false, false) => in_list(column.clone(), listed, false),
    })
}

/// `touched(dt, hr)`: whether the partition of these values is one of those that change.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Within {
    columns: Vec<PartitionColumn>,
    keys: Arc<BTreeSet<PartitionKey>>,
    signature: Signature,
}

impl Within {
    fn of(columns: &[PartitionColumn], keys: &Arc<BTreeSet<PartitionKey>>) -> ScalarUDF {
        let types = columns.iter().map(|column| column.ty.to_arrow()).collect();
        let signature = Signature::exact(types, Volatility::Immutable);
        let keys = Arc::clone(keys);
        ScalarUDF::from(Self { columns: columns.to_vec(), keys, signature })
    }
}

impl ScalarUDFImpl for Within {
    fn name(&self) -> &str {
        "touched"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> DFResult<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> DFResult<ColumnarValue> {
        let arrays = args
            .args
            .iter()
            .map(|arg| arg.to_array(args.number_rows))
            .collect::<DFResult<Vec<_>>>()?;
        let answers = (0..args.number_rows)
            .map(|row| Ok(self.keys.contains(&key_at(&self.columns, &arrays, row)?)))
            .collect::<DFResult<Vec<bool>>>()?;
        Ok(ColumnarValue::Array(Arc::new(BooleanArray::from(answers))))
    }
}

/// The key of a row of partition values.
fn key_at(columns: &[PartitionColumn], arrays: &[ArrayRef], row: usize) -> DFResult<PartitionKey> {
    let values = columns.iter().zip(arrays).map(|(column, array)| {
        partition_value(&column.ty, &ScalarValue::try_from_array(array, row)?)
    });
    Ok(values.collect::<DFResult<Vec<_>>>()?.into())
}

/// Collects the partitions of rows, each once.
pub struct Collector {
    columns: Vec<PartitionColumn>,
    converter: Option<RowConverter>,
    seen: HashSet<Box<[u8]>>,
    keys: BTreeSet<PartitionKey>,
}

impl Collector {
    /// For a table with these partition columns.
    pub fn new(columns: &[PartitionColumn]) -> Self {
        Self {
            columns: columns.to_vec(),
            converter: None,
            seen: HashSet::new(),
            keys: BTreeSet::new(),
        }
    }

    /// Adds the partitions of `rows` rows whose values are these.
    ///
    /// # Errors
    /// A value that isn't one of its column.
    pub fn add(&mut self, values: &[ArrayRef], rows: usize) -> Result<()> {
        if values.is_empty() {
            if rows > 0 {
                self.keys.insert(PartitionKey::default());
            }
            return Ok(());
        }
        let converter = match &mut self.converter {
            Some(converter) => converter,
            none => {
                let types = values.iter().map(|v| SortField::new(v.data_type().clone()));
                none.insert(RowConverter::new(types.collect())?)
            }
        };
        let encoded = converter.convert_columns(values)?;
        for (row, bytes) in encoded.iter().enumerate() {
            if !self.seen.contains(bytes.as_ref()) {
                self.seen.insert(bytes.as_ref().into());
                self.keys.insert(key_at(&self.columns, values, row).map_err(Error::from)?);
            }
        }
        Ok(())
    }

    /// How many values a key has.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Whether nothing was found so far.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// What was found.
    pub fn touched(self) -> Touched {
        Touched::Keys(Arc::new(self.keys))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Int32Array, StringArray};
    use partwise_commit::PartitionType;

    #[test]
    fn each_partition_is_collected_once_and_null_is_one() {
        let columns = [
            PartitionColumn::new("d", PartitionType::Text),
            PartitionColumn::new("h", PartitionType::Int32),
        ];
        let mut found = Collector::new(&columns);
        let d: ArrayRef = Arc::new(StringArray::from(vec![Some("a"), None, Some("a")]));
        let h: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(1), Some(1)]));
        found.add(&[d, h], 3).unwrap();
        let Touched::Keys(keys) = found.touched() else { panic!() };
        let shown: Vec<_> = keys.iter().map(|key| key.display(&columns)).collect();
        assert_eq!(shown, ["d=NULL/h=1", "d=a/h=1"]);
        assert_eq!(described(&keys, &columns), "d=NULL/h=1, d=a/h=1");
    }
}
