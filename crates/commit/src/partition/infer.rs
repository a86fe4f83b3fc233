//! Partition columns of a foreign tree: names from the directories, types over all their values.

use super::types::PartitionType;
use super::value::PartitionValue;

/// The values seen of one column, as far as its type depends on them.
#[derive(Clone, Debug)]
pub(crate) struct Inference {
    int: bool,
    bigint: bool,
    date: bool,
    any: bool,
}

impl Default for Inference {
    fn default() -> Self {
        Self { int: true, bigint: true, date: true, any: false }
    }
}

impl Inference {
    /// Takes one decoded value into account; none is NULL, which fits every type.
    pub(crate) fn see(&mut self, text: Option<&str>) {
        let Some(text) = text else { return };
        self.any = true;
        self.int &= reads_back(PartitionType::Int32, text);
        self.bigint &= reads_back(PartitionType::Int64, text);
        self.date &= reads_back(PartitionType::Date, text);
    }

    /// Int, bigint, date, else text: the narrowest type that gives every text back unchanged, so
    /// that leading zeros or one odd value make the column text.
    pub(crate) fn ty(&self) -> PartitionType {
        match self {
            Self { any: false, .. } => PartitionType::Text,
            Self { int: true, .. } => PartitionType::Int32,
            Self { bigint: true, .. } => PartitionType::Int64,
            Self { date: true, .. } => PartitionType::Date,
            _ => PartitionType::Text,
        }
    }
}

fn reads_back(ty: PartitionType, text: &str) -> bool {
    let value = ty.parse(text).unwrap_or(PartitionValue::Null);
    ty.format(&value).as_deref() == Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_narrowest_type_that_keeps_every_text_is_inferred() {
        let inferred = |texts: &[&str]| {
            let mut inference = Inference::default();
            texts.iter().for_each(|text| inference.see(Some(text)));
            inference.see(None);
            inference.ty()
        };
        assert_eq!(inferred(&["1", "-20"]), PartitionType::Int32);
        assert_eq!(inferred(&["1", "3000000000"]), PartitionType::Int64);
        assert_eq!(inferred(&["2024-01-01", "1999-12-31"]), PartitionType::Date);
        for odd in
            [&["01", "2"][..], &["1", "x"], &["+1"], &["2024-1-1"], &["1", "2024-01-01"], &[]]
        {
            assert_eq!(inferred(odd), PartitionType::Text, "{odd:?}");
        }
    }
}
