//! Statements that change which tables there are.

use std::path::Path;

use datafusion::common::TableReference;
use datafusion::execution::context::SessionState;
use datafusion::sql::parser::{CreateExternalTable, Statement as DFStatement};
use partwise_commit::{Location, Table, TableSchema, is_address, is_store_option};
use partwise_table::config::PartwiseConfig;
use partwise_table::{OpenOptions, PartwiseTable};

use super::{Planned, plan_datafusion, reparse, rowless};
use crate::plan::create::{Created, declared_schema};
use crate::statement::CreateTable;
use crate::{Error, PartwiseContext, Result, lookup, missing, place, plan};

/// `CREATE TABLE`, with or without `AS`.
pub async fn create_table(
    context: &PartwiseContext,
    state: &SessionState,
    create: &CreateTable,
    sql: &str,
) -> Result<Planned> {
    let name = lookup::reference(&create.name.to_string());
    check_schema(context, &name)?;
    let in_lake = match &create.location {
        Some(_) => None,
        None => context.schema().lake().location(name.table())?,
    };
    let location = match (&create.location, in_lake) {
        (Some(path), _) => place::location(state, path, &plan::create::store_options(create))?,
        (None, Some(location)) => location,
        (None, None) if create.format.is_none() && create.partitioned_by.is_empty() => {
            return plan_datafusion(context, state, reparse(sql)?).await;
        }
        (None, None) => {
            return Err(Error::invalid(
                "there is no lake to put the table in: give a LOCATION, or start with --lake DIR",
            ));
        }
    };
    plan::create::check_clauses(create)?;
    if create.if_not_exists && context.schema().is_of_session(name.table()) {
        return Ok(Planned::Needless(format!("{name} exists, nothing was done"), location));
    }
    check_name(context, create, &name)?;
    let takes_over = create.location.is_some() && create.query.is_none() && !create.or_replace;
    if takes_over && Table::new(location.clone()).describe().await?.has_data {
        return take_over(context, state, create, &name, location).await;
    }
    match plan::create::plan(state, create, &name, location.clone()).await? {
        Created::Exists if create.location.is_some() => {
            take_over(context, state, create, &name, location).await
        }
        Created::Exists => {
            Ok(Planned::Needless(format!("{name} exists, nothing was done"), location))
        }
        Created::Filled(write) => {
            let then = create.location.as_ref().map(|_| Registration { name, location });
            Ok(Planned::Write(write, then))
        }
        Created::Empty(schema) => {
            let done = empty_table(state, create, &name, location.clone(), schema).await?;
            if create.location.is_some() {
                register(context, state, &name, location, None).await?;
            }
            Ok(done)
        }
    }
}

/// The lake is one schema; a name of another may not fall on a table of it.
pub(super) fn check_schema(context: &PartwiseContext, name: &TableReference) -> Result<()> {
    match context.is_of_lake(name) {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "{name}: tables are made and dropped in the session's own schema alone, leave the rest \
             of the name out"
        ))),
    }
}

/// A table that is a link belongs to another lake.
fn refuse_link(name: &str, location: &Location) -> Result<()> {
    let path = location.display();
    match std::fs::symlink_metadata(&path) {
        Ok(found) if found.is_symlink() => Err(Error::invalid(format!(
            "{name} is a link, {path}: remove the link, or drop the table where its files are"
        ))),
        _ => Ok(()),
    }
}

/// A lake table may not hide behind a session's, nor the other way round.
fn check_name(
    context: &PartwiseContext,
    create: &CreateTable,
    name: &TableReference,
) -> Result<()> {
    let replaces = create.or_replace && create.location.is_some();
    if !context.schema().is_of_session(name.table()) || replaces {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{name} is a table or view of this session: DROP it first, or take another name"
    )))
}

async fn empty_table(
    state: &SessionState,
    create: &CreateTable,
    name: &TableReference,
    location: Location,
    schema: TableSchema,
) -> Result<Planned> {
    let properties = plan::create::properties(state, create, &schema)?;
    let table = Table::new(location);
    let spec = plan::insert::write_spec(state, plan::create::operation(create), &table)?;
    let committed = rowless::commit(state, &table, &schema, properties, &spec).await?;
    let what = match committed.replayed {
        true => "already made by this job and run, nothing changed".to_owned(),
        false => format!("{name} made, no rows yet"),
    };
    let message = format!("version {}: {what}", committed.version);
    Ok(Planned::Done(Some(message)))
}

/// `CREATE TABLE .. LOCATION` without a query over what is there: taken over as declared.
async fn take_over(
    context: &PartwiseContext,
    state: &SessionState,
    create: &CreateTable,
    name: &TableReference,
    location: Location,
) -> Result<Planned> {
    if let Some((option, _)) = create.options.iter().find(|(name, _)| !is_store_option(name)) {
        return Err(Error::invalid(format!(
            "{} has data already, so the option {option} would not be kept: leave it out, or \
             replace the table with CREATE OR REPLACE TABLE .. AS",
            location.display()
        )));
    }
    let schema = match create.columns.is_empty() {
        true => None,
        false => {
            let by = create.partitioned_by.iter().map(|ident| ident.value.clone()).collect();
            Some(TableSchema::new(declared_schema(state, &create.columns).await?, by)?)
        }
    };
    if let Some(schema) = &schema {
        plan::create::check_columns(schema)?;
    }
    register(context, state, name, location.clone(), schema).await?;
    Ok(Planned::Needless(format!("{name} is known in this session"), location))
}

/// `CREATE EXTERNAL TABLE`: ours for a directory of Parquet.
pub async fn create_external(
    context: &PartwiseContext,
    state: &SessionState,
    create: &CreateExternalTable,
    sql: &str,
) -> Result<Planned> {
    let path = match create.locations.as_slice() {
        [one] => one.as_str(),
        _ => return plan_datafusion(context, state, reparse(sql)?).await,
    };
    let (store_options, options) = place::split_options(&create.options, plan::copy::text);
    let directory = path.ends_with('/')
        || Path::new(path).is_dir()
        || (is_address(path) && !place::names_files(path));
    if !create.file_type.eq_ignore_ascii_case("parquet") || !directory {
        let mut create = create.clone();
        if is_address(path) {
            place::register(state, path, &store_options)?;
            create.options.retain(|(name, _)| !is_store_option(name));
        }
        return plan_datafusion(context, state, DFStatement::CreateExternalTable(create)).await;
    }
    if let Some((option, _)) = options.first() {
        return Err(Error::invalid(format!(
            "an external table is known in this session only, so the option {option} would not be \
             kept: leave it out, or make the table with CREATE TABLE .. LOCATION '{path}'"
        )));
    }
    let name = lookup::reference(&create.name.to_string());
    if context.schema().is_of_session(name.table()) && !create.or_replace {
        return match create.if_not_exists {
            true => Ok(Planned::Done(Some(format!("{name} exists, nothing was done")))),
            false => Err(Error::invalid(format!("{name} is known in this session already"))),
        };
    }
    let schema = match create.columns.is_empty() {
        true => None,
        false => Some(TableSchema::new(
            declared_schema(state, &create.columns).await?,
            create.table_partition_cols.clone(),
        )?),
    };
    let location = place::location(state, path, &store_options)?;
    let table = open_there(state, &location, &schema).await?;
    check_partitions(&table, &create.table_partition_cols)?;
    register(context, state, &name, location, schema).await?;
    Ok(Planned::Done(None))
}

fn check_partitions(table: &PartwiseTable, declared: &[String]) -> Result<()> {
    let there = table.table_schema().partition_columns();
    let same = there.len() == declared.len()
        && there.iter().zip(declared).all(|(a, b)| a.name.eq_ignore_ascii_case(b));
    if declared.is_empty() || same {
        return Ok(());
    }
    let names: Vec<&str> = there.iter().map(|c| c.name.as_str()).collect();
    Err(Error::invalid(format!(
        "the directory is partitioned by ({}), the statement says ({})",
        names.join(", "),
        declared.join(", ")
    )))
}

/// Makes a location known under a name for the session, if a table can be opened there.
async fn register(
    context: &PartwiseContext,
    state: &SessionState,
    name: &TableReference,
    location: Location,
    schema: Option<TableSchema>,
) -> Result<()> {
    open_there(state, &location, &schema).await?;
    context.session().deregister_table(name.clone())?;
    context.schema().locate(name.table(), location, schema);
    Ok(())
}

async fn open_there(
    state: &SessionState,
    location: &Location,
    schema: &Option<TableSchema>,
) -> Result<PartwiseTable> {
    let options = OpenOptions { schema: schema.clone() };
    let table = PartwiseTable::open(location.clone(), options, state).await?;
    table.ok_or_else(|| {
        Error::invalid(format!(
            "{} holds no Parquet file: declare the columns, (name TYPE, ..)",
            location.display()
        ))
    })
}

/// A table to make known once its first write is done.
#[derive(Debug, Clone)]
pub(crate) struct Registration {
    name: TableReference,
    location: Location,
}

impl Registration {
    /// Opens what was written and makes it known.
    pub async fn register(&self, context: &PartwiseContext) -> Result<()> {
        let state = context.session().state();
        register(context, &state, &self.name, self.location.clone(), None).await
    }
}

/// `DROP TABLE [IF EXISTS] t [PURGE]`.
pub async fn drop_table(
    context: &PartwiseContext,
    name: &str,
    if_exists: bool,
    purge: bool,
) -> Result<Planned> {
    let reference = lookup::reference(name);
    check_schema(context, &reference)?;
    if context.schema().is_of_session(reference.table()) {
        context.schema().refuse_stream(reference.table()).await?;
        if purge {
            return Err(Error::invalid(format!(
                "{name} lies outside the lake: DROP TABLE {name} forgets it, its files stay"
            )));
        }
        context.session().deregister_table(reference)?;
        return Ok(Planned::Done(None));
    }
    let location = context.schema().lake().location(reference.table())?;
    let there = match &location {
        Some(location) => Table::new(location.clone()).describe().await?.has_data,
        None => false,
    };
    match (location, there) {
        (Some(location), true) if purge => {
            refuse_link(name, &location)?;
            Table::new(location).purge().await?;
            Ok(Planned::Done(Some(format!("{name} is dropped, its files and its log are deleted"))))
        }
        (Some(location), true) => Err(Error::invalid(format!(
            "dropping {name} deletes its files in {}: say DROP TABLE {name} PURGE",
            location.display()
        ))),
        _ if if_exists => Ok(Planned::Done(None)),
        _ => match lookup::find(&context.session().state(), &reference).await {
            Ok(Some(_)) | Err(_) => Err(Error::invalid(format!("{name} can't be dropped"))),
            Ok(None) => Err(missing::no_table(&context.session().state(), name).await),
        },
    }
}

const SPARK_OVERWRITE_MODE: &str = "spark.sql.sources.partitionOverwriteMode";

/// Settings of Hive's for what a partitioned table is here anyway, and their only values.
const HIVE_DYNAMIC: [(&str, &str); 2] =
    [("hive.exec.dynamic.partition", "true"), ("hive.exec.dynamic.partition.mode", "nonstrict")];

/// Settings that other systems use.
pub async fn set_foreign(context: &PartwiseContext, name: &str, value: &str) -> Result<Planned> {
    let value = value.to_ascii_lowercase();
    if let Some((_, only)) = HIVE_DYNAMIC.iter().find(|(n, _)| name.eq_ignore_ascii_case(n)) {
        return set_dynamic(name, &value, only);
    }
    if !name.eq_ignore_ascii_case(SPARK_OVERWRITE_MODE) {
        return Err(Error::unsupported(format!(
            "{name} is not a setting here; of Spark's, only {SPARK_OVERWRITE_MODE} is known"
        )));
    }
    let sql = format!("SET partwise.partition_overwrite_mode = '{}'", value.replace('\'', "''"));
    plan_datafusion(context, &context.session().state(), reparse(&sql)?).await
}

fn set_dynamic(name: &str, value: &str, only: &str) -> Result<Planned> {
    match value == only {
        true => Ok(Planned::Done(Some(format!(
            "nothing to set: {name} is always {only}, a write may name partitions or leave them to \
             its rows"
        )))),
        false => Err(Error::unsupported(format!(
            "{name} is always {only} here; to bound what a write may touch, name the partitions, \
             INSERT .. PARTITION (..)"
        ))),
    }
}

/// `RESET name`: DataFusion's own knows no settings but its own.
pub fn reset(context: &PartwiseContext, name: &str) -> Result<Planned> {
    let lower = name.to_ascii_lowercase();
    let ours = match lower.strip_prefix("partwise.") {
        Some(ours) => ours,
        None if lower == SPARK_OVERWRITE_MODE.to_ascii_lowercase() => "partition_overwrite_mode",
        None => {
            return Err(Error::invalid(format!(
                "{name} is not a setting of Partwise or DataFusion"
            )));
        }
    };
    let state = context.session().state_ref();
    let mut state = state.write();
    if let Some(config) = state.config_mut().options_mut().extensions.get_mut::<PartwiseConfig>() {
        config.reset(ours)?;
    }
    Ok(Planned::Done(None))
}
