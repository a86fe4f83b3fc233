//! Partition keys to directory paths and back.

use super::escape::{NULL_PARTITION, escape, unescape};
use super::value::{PartitionColumn, PartitionKey, PartitionValue};
use crate::{Error, Result};

/// The longest name of one directory or file that every file system takes, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// The directory of a partition relative to the table, as this crate spells it:
/// `pickup_month=2024-02/hr=7`, Hive-escaped, empty for a table without partition columns.
///
/// Refused: the empty string and the literal text `__HIVE_DEFAULT_PARTITION__` (other readers can't
/// tell them from NULL), and a name longer than a file system takes.
pub fn partition_path(columns: &[PartitionColumn], key: &PartitionKey) -> Result<String> {
    if columns.len() != key.values().len() {
        return Err(Error::internal(format!(
            "a key of {} values for {} partition columns",
            key.values().len(),
            columns.len()
        )));
    }
    let parts: Vec<String> = columns
        .iter()
        .zip(key.values())
        .map(|(column, value)| component(column, value))
        .collect::<Result<_>>()?;
    Ok(parts.join("/"))
}

/// The name of one directory level, as this crate spells it; refused as by [`partition_path`].
pub(crate) fn component(column: &PartitionColumn, value: &PartitionValue) -> Result<String> {
    let name = &column.name;
    let text = match column.ty.format(value) {
        None => NULL_PARTITION.to_string(),
        Some(text) if text.is_empty() => {
            return Err(Error::invalid(format!(
                "the empty string can't be a value of partition column {name}: other readers take it \
                 for NULL; write NULL or another text"
            )));
        }
        Some(text) if text == NULL_PARTITION => {
            return Err(Error::invalid(format!(
                "'{NULL_PARTITION}' can't be a value of partition column {name}: it is the name of \
                 the NULL partition; write NULL or another text"
            )));
        }
        Some(text) => escape(&text),
    };
    let component = format!("{}={text}", escape(name));
    if component.len() > MAX_NAME_BYTES {
        let head: String = component.chars().take(40).collect();
        return Err(Error::invalid(format!(
            "the directory name {head}... of partition column {name} has {} bytes, more than the \
             {MAX_NAME_BYTES} a file system takes: use a shorter value",
            component.len()
        )));
    }
    Ok(component)
}

/// The typed key of a partition directory's path, whatever its escaping; names match without case.
/// An error of kind `Invalid` where the path isn't one of these columns.
pub fn parse_partition_path(columns: &[PartitionColumn], path: &str) -> Result<PartitionKey> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    if parts.len() != columns.len() {
        return Err(Error::invalid(format!(
            "the directory {path} has {} levels where the table has {} partition columns",
            parts.len(),
            columns.len()
        )));
    }
    let values = columns
        .iter()
        .zip(parts)
        .map(|(column, part)| typed_value(column, part, path))
        .collect::<Result<Vec<_>>>()?;
    Ok(PartitionKey::new(values))
}

fn typed_value(column: &PartitionColumn, part: &str, path: &str) -> Result<PartitionValue> {
    let component = parse_component(part).filter(|found| same_name(&found.name, &column.name));
    let Some(component) = component else {
        return Err(Error::invalid(format!(
            "the directory {path} is not of the form {}=value at {part}",
            column.name
        )));
    };
    component.value(column)
}

/// One directory level, decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Component {
    /// The column name as spelled.
    pub(crate) name: String,
    /// The decoded text; none for NULL.
    pub(crate) text: Option<String>,
}

impl Component {
    /// The typed value for `column`.
    pub(crate) fn value(&self, column: &PartitionColumn) -> Result<PartitionValue> {
        match &self.text {
            None => Ok(PartitionValue::Null),
            Some(text) => column.ty.parse(text).map_err(|error| {
                Error::invalid(format!(
                    "the directory {}={text} does not fit partition column {} {}: declare it STRING, \
                     or remove the directory",
                    self.name, column.name, column.ty
                ))
                .with_source(error)
            }),
        }
    }

    /// Whether this level belongs to `column`: names match without case.
    pub(crate) fn belongs_to(&self, column: &PartitionColumn) -> bool {
        same_name(&self.name, &column.name)
    }
}

/// Splits `name=value` and decodes both sides once; none where the name has no `=`, an empty left
/// side, or bytes that are not UTF-8. An empty value is what other writers leave for NULL.
pub(crate) fn parse_component(part: &str) -> Option<Component> {
    let (name, value) = part.split_once('=')?;
    let name = unescape(name).filter(|name| !name.is_empty())?;
    let value = unescape(value)?;
    let text = (!value.is_empty() && value != NULL_PARTITION).then_some(value);
    Some(Component { name, text })
}

fn same_name(a: &str, b: &str) -> bool {
    a == b || a.to_lowercase() == b.to_lowercase()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::partition::{PartitionType, PartitionValue as V};

    fn round_trip(ty: PartitionType, name: &str, value: V) -> Result<()> {
        let columns = [PartitionColumn::new(name, ty)];
        let key = PartitionKey::new(vec![value]);
        let path = partition_path(&columns, &key)?;
        assert_eq!(parse_partition_path(&columns, &path)?, key, "{path}");
        assert!(!path.contains('/') && path != "." && path != "..", "{path}");
        Ok(())
    }

    fn text(value: &str) -> PartitionKey {
        PartitionKey::new(vec![V::Text(value.into())])
    }

    #[test]
    fn values_are_escaped_as_hive_does() -> Result<()> {
        let columns = [PartitionColumn::new("p", PartitionType::Text)];
        let path = |value: &str| partition_path(&columns, &text(value));
        assert_eq!(path("a b\u{e9}+")?, "p=a b\u{e9}+");
        assert_eq!(path("\"#%'*/:=?\\{[]^")?, "p=%22%23%25%27%2A%2F%3A%3D%3F%5C%7B%5B%5D%5E");
        assert_eq!(path("\n\u{7f}\u{0}")?, "p=%0A%7F%00");
        assert_eq!(path("}~")?, "p=}~");
        Ok(())
    }

    #[test]
    fn escapes_are_decoded_once_whatever_they_are() -> Result<()> {
        let columns = [PartitionColumn::new("p", PartitionType::Text)];
        for (spelling, value) in [
            ("P=a%20b", "a b"),
            ("p=%41%2f", "A/"),
            ("p=%2541", "%41"),
            ("p=50%", "50%"),
            ("p=a=b", "a=b"),
        ] {
            assert_eq!(parse_partition_path(&columns, spelling)?, text(value));
        }
        Ok(())
    }

    #[test]
    fn null_is_the_default_partition_or_what_others_leave_empty() -> Result<()> {
        let columns = [PartitionColumn::new("p", PartitionType::Int32)];
        let null = PartitionKey::new(vec![V::Null]);
        assert_eq!(partition_path(&columns, &null)?, "p=__HIVE_DEFAULT_PARTITION__");
        assert_eq!(parse_partition_path(&columns, "p=")?, null);
        assert_eq!(null.display(&columns), "p=NULL");
        Ok(())
    }

    #[test]
    fn a_path_of_other_columns_is_refused() {
        let columns = [PartitionColumn::new("p", PartitionType::Int32)];
        for path in ["q=1", "p", "p=1/q=2", "", "=1", "p=x"] {
            assert!(parse_partition_path(&columns, path).is_err(), "{path}");
        }
    }

    #[test]
    fn typed_values_read_as_they_are_written_elsewhere() -> Result<()> {
        let parsed = |ty: PartitionType, text: &str| ty.parse(text);
        let decimal = PartitionType::Decimal128 { precision: 5, scale: 2 };
        assert_eq!(parsed(PartitionType::Int32, "007")?, V::Int(7));
        assert_eq!(parsed(decimal, "1.5")?, V::Decimal(150));
        assert_eq!(parsed(decimal, "-0.500")?, V::Decimal(-50));
        assert!(parsed(decimal, "1.234").is_err() && parsed(decimal, "1000").is_err());
        let timestamp = PartitionType::Timestamp { utc: false };
        let seven = V::Timestamp(25_200_000_000);
        for text in ["1970-01-01 07:00:00", "1970-01-01T07:00:00", "1970-01-01 07:00:00.000"] {
            assert_eq!(parsed(timestamp, text)?, seven, "{text}");
        }
        assert_eq!(timestamp.format(&seven).as_deref(), Some("1970-01-01 07:00:00"));
        assert_eq!(parsed(PartitionType::Boolean, "TRUE")?, V::Boolean(true));
        assert!(parsed(PartitionType::Int8, "128").is_err());
        assert!(parsed(PartitionType::Date, "2024-02-30").is_err());
        Ok(())
    }

    proptest! {
        #[test]
        fn text_round_trips(name in "[^/]{1,8}", value in "\\PC{1,40}|[ -~\n\t]{1,40}") {
            prop_assume!(value != NULL_PARTITION && !name.is_empty());
            round_trip(PartitionType::Text, &name, V::Text(value))?;
        }

        #[test]
        fn numbers_round_trip(value: i64, scale in -3i8..10, unscaled in -10i128.pow(17)..10i128.pow(17)) {
            round_trip(PartitionType::Int64, "n", V::Int(value))?;
            let ty = PartitionType::Decimal128 { precision: 38, scale };
            round_trip(ty, "d", V::Decimal(unscaled))?;
        }

        #[test]
        fn times_round_trip(days in -900_000i32..3_000_000, micros in -62_000_000_000_000_000i64..250_000_000_000_000_000) {
            round_trip(PartitionType::Date, "d", V::Date(days))?;
            round_trip(PartitionType::Timestamp { utc: true }, "t", V::Timestamp(micros))?;
        }

        #[test]
        fn any_directory_name_is_read_without_a_panic(name in "\\PC{0,40}") {
            let _ = parse_component(&name);
            for ty in [PartitionType::Int8, PartitionType::Date, PartitionType::Boolean,
                PartitionType::Timestamp { utc: false }, PartitionType::Decimal128 { precision: 4, scale: -1 }] {
                let _ = ty.parse(&name);
            }
        }
    }
}
