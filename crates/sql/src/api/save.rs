//! From what a write says to its plan, and its run.
//!
//! ```text
//! frame --analyzed, read logs of its own--> rows --by name--> the table's columns --> PlannedWrite
//! mode, what is there --> operation            constants filled in --/
//! ```

use std::sync::Arc;
use std::time::Instant;

use datafusion::common::TableReference;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::LogicalPlan;
use partwise_commit::{
    Coverage, Description, Location, Operation, Table, TableSchema, Token, is_address,
};
use partwise_table::PartwiseTable;
use partwise_table::config::PartwiseConfig;
use partwise_table::write::spec::WriteSpec;
use partwise_table::write::table_types;

use super::write::JobRun;
use super::{Commit, Overwrite, PartitionedWrite, SaveMode};
use crate::plan::PlannedWrite;
use crate::plan::columns::{Order, project};
use crate::plan::create::check_columns;
use crate::plan::spec::PartitionSpec;
use crate::report::WriteReport;
use crate::session::with_extension;
use crate::token::{self, StatementText};
use crate::{Error, ErrorKind, Result, path_table, place, run};

/// What a write comes to, planned.
struct Plan {
    write: PlannedWrite,
    creates: bool,
}

impl PartitionedWrite {
    /// Runs the query, writes its rows and commits them: all of it is visible when this returns, or
    /// none of it. On a conflict with another writer it is run again a few times.
    ///
    /// # Errors
    /// By [kind](crate::Error::kind): `Invalid` for data at the path in mode `ErrorIfExists`, for a
    /// path, column, option or token that can't be; `Refused` for what the guard or the named
    /// partitions stop; `Conflict` where other writers won each time; `Busy` where they held the table
    /// for too long; `Unavailable` or `Unsupported` for a place that can't be reached or written; and
    /// what the query fails with. Nothing has changed.
    pub async fn save(mut self) -> Result<Commit> {
        let started = Instant::now();
        self.check()?;
        let (state, _) = self.frame.clone().into_parts();
        self.location = place::resolved(&state, self.location)?;
        let mut tries = 0;
        loop {
            match self.attempt(started).await {
                Err(error)
                    if error.kind() == ErrorKind::Conflict && tries < run::CONFLICT_RETRIES =>
                {
                    tries += 1;
                }
                done => return done,
            }
        }
    }

    /// What can be told without a look at the table.
    fn check(&self) -> Result<()> {
        match &self.location {
            Location::Local { dir, .. } if !dir.to_str().is_some_and(is_address) => {
                path_table::check_table_path(dir)?;
            }
            _ => {}
        }
        if self.overwrite.is_some() && self.mode != SaveMode::Overwrite {
            return Err(Error::invalid(format!(
                "overwrite(..) says what SaveMode::Overwrite replaces, but the mode is {:?}: drop \
                 one of them",
                self.mode
            )));
        }
        if self.step.is_some() && self.run.is_none() {
            return Err(Error::invalid(
                "step(..) counts the writes of a job's run: name it with token(job, run)",
            ));
        }
        if self.run.as_ref().is_some_and(|run| run.job.trim().is_empty()) {
            return Err(Error::invalid("the job of a token needs a name"));
        }
        match self.max_shrink {
            Some(share) if !(0.0..=1.0).contains(&share) => Err(Error::invalid(format!(
                "max_shrink can't be {share}: it is a share from 0 to 1 (1 turns the guard off)"
            ))),
            _ => Ok(()),
        }
    }

    async fn attempt(&self, started: Instant) -> Result<Commit> {
        let (state, rows) = self.frame.clone().into_parts();
        let text = StatementText(self.text(&rows));
        let state = with_extension(&state, text);
        let table = Table::new(self.location.clone());
        let there = table.describe().await?;
        if there.has_data && self.mode == SaveMode::ErrorIfExists {
            return self.applied(&state, &table, started).await;
        }
        if there.has_data && self.mode == SaveMode::Ignore {
            let target = self.location.display();
            token::count_needless(&state, &target)?;
            return Ok(Commit::skipped(&target, there.version, started.elapsed()));
        }
        let Plan { write, creates } = self.plan(&state, rows, &table, &there).await?;
        match run::write_now(&state, write, started).await {
            Ok(report) => report.try_into(),
            Err(error) => Err(self.unless_made(&table, creates, error).await),
        }
    }

    /// Data that this very write has made, in this run of its job, is there by right.
    async fn applied(
        &self,
        state: &SessionState,
        table: &Table,
        started: Instant,
    ) -> Result<Commit> {
        let Some(token) = self.token_of(state)? else { return Err(self.exists()) };
        let Some(committed) = table.applied(&token).await? else { return Err(self.exists()) };
        token::counted(state, &token, &self.location.display()).set(committed.clone());
        let report = WriteReport {
            target: self.location.display(),
            committed,
            partition_columns: vec![],
            token: Some(token),
            restored: None,
            changes: None,
            elapsed: started.elapsed(),
        };
        report.try_into()
    }

    /// The write's own token, or that of the session's job.
    fn token_of(&self, state: &SessionState) -> Result<Option<Token>> {
        let digest = token::digest(&token::text(state));
        match &self.run {
            Some(JobRun { job, run }) => {
                let step = self.step.unwrap_or(0);
                Ok(Some(Token { job: job.clone(), run: *run, step, digest }))
            }
            None => Ok(token::next_token(state, &self.location.display())?
                .map(|token| Token { digest, ..token })),
        }
    }

    /// A table that somebody else has made meanwhile is a conflict, unless it was to be new.
    async fn unless_made(&self, table: &Table, creates: bool, error: Error) -> Error {
        let new = !creates || self.mode == SaveMode::ErrorIfExists;
        match new || !table.describe().await.is_ok_and(|now| now.has_data) {
            true => error,
            false => Error::new(ErrorKind::Conflict, error.to_string()),
        }
    }

    fn exists(&self) -> Error {
        Error::invalid(format!(
            "{} has data already: SaveMode::Append adds to it, SaveMode::Overwrite replaces, \
             SaveMode::Ignore leaves it",
            self.location.display()
        ))
    }

    /// What the write is, in words that are the same when it is repeated.
    fn text(&self, rows: &LogicalPlan) -> String {
        let (mode, overwrite, by) = (self.mode, &self.overwrite, &self.partition_by);
        format!("write_partitioned {mode:?} {overwrite:?} {by:?}\n{}", rows.display_indent())
    }

    async fn plan(
        &self,
        state: &SessionState,
        rows: LogicalPlan,
        table: &Table,
        there: &Description,
    ) -> Result<Plan> {
        let rows = state.analyzer().execute_and_check(rows, state.config_options(), |_, _| {})?;
        let keeps = there.has_data && self.overwrite != Some(Overwrite::Table);
        let existing = match keeps {
            true => Some(path_table::open_table(self.location.clone(), state).await?),
            false => None,
        };
        let schema = match &existing {
            Some(existing) => self.same_partitioning(existing)?,
            None => self.new_schema(&rows)?,
        };
        check_columns(&schema)?;
        let named = self.named(&schema)?;
        let operation = self.operation(state, &schema, &named, there.has_data)?;
        let creates = operation == Operation::Create;
        let mut spec = self.spec(state, operation, &schema, existing.as_ref())?;
        spec.constants = named.shown(&schema);
        let rows = project(rows.clone(), &schema, &named.missing_in(&rows, &schema), Order::Name)?;
        let name = TableReference::bare(self.location.display());
        let write = PlannedWrite::new(&name, table.clone(), schema, spec, rows).await?;
        Ok(Plan { write, creates })
    }

    fn same_partitioning(&self, existing: &PartwiseTable) -> Result<TableSchema> {
        let schema = existing.table_schema();
        let there: Vec<&str> = schema.partition_columns().iter().map(|c| c.name.as_str()).collect();
        let Some(by) = &self.partition_by else { return Ok(schema.clone()) };
        let same = there.len() == by.len()
            && there.iter().zip(by).all(|(there, by)| there.eq_ignore_ascii_case(by));
        match same {
            true => Ok(schema.clone()),
            false => Err(Error::invalid(format!(
                "{} is partitioned by ({}), not by ({}): leave partition_by(..) out, or replace the \
                 table with Overwrite::Table",
                self.location.display(),
                there.join(", "),
                by.join(", ")
            ))),
        }
    }

    fn new_schema(&self, rows: &LogicalPlan) -> Result<TableSchema> {
        let types = Arc::new(table_types(rows.schema().as_arrow())?);
        Ok(TableSchema::new(types, self.partition_by.clone().unwrap_or_default())?)
    }

    /// The partitions that the write names.
    fn named(&self, schema: &TableSchema) -> Result<PartitionSpec> {
        match &self.overwrite {
            Some(Overwrite::Partitions(values)) => PartitionSpec::of_values(schema, values),
            _ => Ok(PartitionSpec::default()),
        }
    }

    fn operation(
        &self,
        state: &SessionState,
        schema: &TableSchema,
        named: &PartitionSpec,
        there: bool,
    ) -> Result<Operation> {
        use partwise_table::config::OverwriteMode::{Dynamic, Static};
        let mode = match &self.overwrite {
            Some(Overwrite::Table) => return Ok(Operation::Replace),
            Some(Overwrite::Partitions(_)) => return named.operation(schema, true, Static),
            _ if !there => return Ok(Operation::Create),
            _ if self.mode == SaveMode::Append => return Ok(Operation::Append),
            Some(Overwrite::Dynamic) => Dynamic,
            Some(Overwrite::Static) => return Ok(Operation::Overwrite(Coverage::Matching(vec![]))),
            None => PartwiseConfig::of(state.config_options()).partition_overwrite_mode,
        };
        named.operation(schema, true, mode)
    }

    fn spec(
        &self,
        state: &SessionState,
        operation: Operation,
        schema: &TableSchema,
        existing: Option<&PartwiseTable>,
    ) -> Result<WriteSpec> {
        let config = PartwiseConfig::of(state.config_options());
        let mut spec = WriteSpec::new(operation, &config);
        spec.token = self.token_of(state)?;
        if let Some(token) = &spec.token {
            spec.outcome = token::counted(state, token, &self.location.display());
        }
        if let Some(share) = self.max_shrink {
            spec.max_shrink = (share < 1.0).then_some(share);
        }
        spec.was_there = existing.is_some();
        if let Some(existing) = existing {
            spec.properties = existing.properties().clone();
            spec.options = spec.options.with_properties(&spec.properties, schema)?;
        }
        spec.options = spec.options.with_options(&self.options, schema, &[])?;
        spec.statement = format!("write_partitioned(\"{}\")", self.location.display());
        Ok(spec)
    }
}
