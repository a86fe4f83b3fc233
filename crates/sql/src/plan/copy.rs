//! `COPY (query) TO 'dir/'`: the same writer on a path.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use datafusion::common::TableReference;
use datafusion::execution::context::SessionState;
use datafusion::sql::parser::{CopyToSource, CopyToStatement};
use datafusion::sql::sqlparser::ast::{Query, Value};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;
use partwise_commit::{
    Coverage, Location, Operation, Table, TableSchema, is_address, is_store_option,
};
use partwise_table::write::table_types;
use partwise_table::{OpenOptions, PartwiseTable};

use super::columns::{Order, project};
use super::create::check_columns;
use super::insert::write_spec;
use super::query::plan_as_is;
use super::spec::PartitionSpec;
use super::target::PlannedWrite;
use crate::{Error, Result, place};

/// What a COPY does where there is data already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Error,
    Ignore,
    Append,
    Overwrite,
    OverwritePartitions,
}

impl Mode {
    fn parse(text: &str) -> Result<Self> {
        Ok(match text.to_ascii_lowercase().as_str() {
            "error" | "errorifexists" => Self::Error,
            "ignore" => Self::Ignore,
            "append" => Self::Append,
            "overwrite" => Self::Overwrite,
            "overwrite_partitions" => Self::OverwritePartitions,
            _ => {
                return Err(Error::invalid(format!(
                    "mode '{text}' is not known: use error, ignore, append, overwrite or \
                     overwrite_partitions"
                )));
            }
        })
    }
}

/// Whether a COPY is ours: Parquet into a directory.
pub fn is_ours(copy: &CopyToStatement) -> bool {
    let parquet = copy.stored_as.as_ref().is_none_or(|f| f.eq_ignore_ascii_case("parquet"));
    let target = Path::new(&copy.target);
    let directory = copy.target.ends_with('/')
        || !copy.partitioned_by.is_empty()
        || target.is_dir()
        || target.extension().is_none();
    parquet && directory
}

/// Plans a COPY into a directory; none where the mode leaves what is there.
///
/// # Errors
/// Data at the path in mode `error`, options that aren't known, columns that don't fit.
pub async fn plan(state: &SessionState, copy: &CopyToStatement) -> Result<Option<PlannedWrite>> {
    let (mode, options) = options(copy)?;
    let location = location(state, copy)?;
    let table = Table::new(location.clone());
    let there = table.describe().await?.has_data;
    match (there, mode) {
        (true, Mode::Error) => {
            return Err(Error::invalid(format!(
                "{} has data already: OPTIONS ('mode' 'overwrite'), 'overwrite_partitions', \
                 'append' or 'ignore' says what to do with it",
                table.location().display()
            )));
        }
        (true, Mode::Ignore) => return Ok(None),
        _ => {}
    }
    let rows = plan_as_is(state, source(&copy.source)?).await?;
    let existing = match there && matches!(mode, Mode::Append | Mode::OverwritePartitions) {
        true => PartwiseTable::open(location, OpenOptions::default(), state).await?,
        false => None,
    };
    let schema = match &existing {
        Some(existing) => same_layout(existing, copy)?,
        None => {
            let types = Arc::new(table_types(rows.schema().as_arrow())?);
            TableSchema::new(types, copy.partitioned_by.clone())?
        }
    };
    check_columns(&schema)?;
    let order = if existing.is_some() { Order::Name } else { Order::Position };
    let rows = project(rows, &schema, &PartitionSpec::default(), order)?;
    let operation = match mode {
        Mode::Append if there => Operation::Append,
        Mode::OverwritePartitions if there => Operation::Overwrite(Coverage::Written),
        Mode::Overwrite => Operation::Replace,
        _ => Operation::Create,
    };
    let mut spec = write_spec(state, operation, &table)?;
    spec.was_there = existing.is_some();
    if let Some(existing) = &existing {
        spec.properties = existing.properties().clone();
        spec.options = spec.options.with_properties(&spec.properties, &schema)?;
    }
    spec.options = spec.options.with_options(&options, &schema, &["mode"])?;
    let name = TableReference::bare(copy.target.as_str());
    Ok(Some(PlannedWrite::new(&name, table, schema, spec, rows).await?))
}

/// Where a COPY writes.
///
/// # Errors
/// An address or options of a store that can't be.
pub fn location(state: &SessionState, copy: &CopyToStatement) -> Result<Location> {
    place::location(state, &copy.target, &place::split_options(&copy.options, text).0)
}

/// A COPY of DataFusion's to a store: the store is made known, its options are taken out.
///
/// # Errors
/// As [`location`].
pub fn with_store(state: &SessionState, copy: &CopyToStatement) -> Result<CopyToStatement> {
    let mut copy = copy.clone();
    if is_address(&copy.target) {
        place::register(state, &copy.target, &place::split_options(&copy.options, text).0)?;
        copy.options.retain(|(name, _)| !is_store_option(name));
    }
    Ok(copy)
}

/// A COPY of DataFusion's writes without a commit: not where a table of ours, or a log, is.
///
/// # Errors
/// A target in one.
pub async fn refuse_in_table(copy: &CopyToStatement) -> Result<()> {
    if is_address(&copy.target) {
        return Ok(());
    }
    let target = std::path::absolute(&copy.target)
        .map_err(|error| Error::invalid(format!("{}: {error}", copy.target)))?;
    for dir in target.ancestors().skip(1).filter(|dir| dir.parent().is_some()) {
        if Table::new(Location::local(dir)).is_logged().await? {
            return Err(Error::invalid(format!(
                "{} lies inside the table {}: INSERT writes to a table, or take another target",
                copy.target,
                dir.display()
            )));
        }
    }
    Ok(())
}

fn same_layout(existing: &PartwiseTable, copy: &CopyToStatement) -> Result<TableSchema> {
    let schema = existing.table_schema();
    let there: Vec<&str> = schema.partition_columns().iter().map(|c| c.name.as_str()).collect();
    let same = there.len() == copy.partitioned_by.len()
        && there.iter().zip(&copy.partitioned_by).all(|(a, b)| a.eq_ignore_ascii_case(b));
    match same {
        true => Ok(schema.clone()),
        false => Err(Error::invalid(format!(
            "{} is partitioned by ({}), the statement says ({}): they must be the same",
            copy.target,
            there.join(", "),
            copy.partitioned_by.join(", ")
        ))),
    }
}

fn options(copy: &CopyToStatement) -> Result<(Mode, BTreeMap<String, String>)> {
    let mut mode = Mode::Error;
    let mut rest = BTreeMap::new();
    for (key, value) in &place::split_options(&copy.options, text).1 {
        let value = value.clone();
        let key = key.strip_prefix("format.").unwrap_or(key);
        match key.eq_ignore_ascii_case("mode") {
            true => mode = Mode::parse(&value)?,
            false => drop(rest.insert(key.to_owned(), value)),
        }
    }
    Ok((mode, rest))
}

/// An option's value without its quotes.
pub fn text(value: &Value) -> String {
    match value {
        Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => text.clone(),
        other => other.to_string(),
    }
}

fn source(source: &CopyToSource) -> Result<Query> {
    match source {
        CopyToSource::Query(query) => Ok(query.as_ref().clone()),
        CopyToSource::Relation(name) => {
            let sql = format!("SELECT * FROM {name}");
            let mut parser = Parser::new(&GenericDialect {})
                .try_with_sql(&sql)
                .map_err(crate::statement::syntax)?;
            Ok(*parser.parse_query().map_err(crate::statement::syntax)?)
        }
    }
}
