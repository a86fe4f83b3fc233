//! Running a statement: who plans it, what is tried again, what is reported.

use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::array::RecordBatch;
use datafusion::execution::TaskContext;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::sql::parser::Statement as DFStatement;
use datafusion::sql::sqlparser::ast::ObjectName;
use partwise_commit::{Committed, Location, Table};
use partwise_table::config::PartwiseConfig;

use crate::execution::Execution;
use crate::plan::PlannedWrite;
use crate::plan::optimize::Optimized;
use crate::progress::Running;
use crate::report::{RowChanges, WriteReport};
use crate::script::without_preview;
use crate::session::with_extension;
use crate::statement::{Explain, Insert, Optimize, Rewrite, Statement};
use crate::token::{self, StatementText};
use crate::{
    Error, ErrorKind, PartwiseContext, Result, definition, explain, functions, lookup, missing,
    plan, scans, secrets,
};

mod alter;
mod ddl;
mod empty;
mod frame;
mod passed_on;
mod prepared;
mod preview;
mod restore;
mod rowless;
mod rows;
mod streams;
mod vacuum;

use ddl::Registration;
pub(crate) use frame::frame;
use passed_on::plan_datafusion;
use rows::{Again, rows_of};
pub(crate) use streams::no_query;

/// Times a statement is planned and run again when a later commit changed what it read.
pub(crate) const CONFLICT_RETRIES: usize = 3;

/// What a statement comes to, planned.
enum Planned {
    /// A write of ours, and what to make known once it is done.
    Write(Box<PlannedWrite>, Option<Registration>),
    /// A plan that gives rows; `explains` another.
    Query { plan: LogicalPlan, state: Box<SessionState>, explains: bool, notes: Vec<String> },
    /// Rows that are there already.
    Batch(RecordBatch),
    /// Rows of what has happened, and what is said beside them.
    Told { rows: RecordBatch, message: String, warnings: Vec<String> },
    /// A write that has happened while it was planned: it has no rows of a query to wait for.
    Wrote(Box<WriteReport>),
    /// A write to the table at a location that found nothing to do, with a message for the prompt.
    Needless(String, Location),
    /// Done, with a message for the prompt.
    Done(Option<String>),
}

/// Runs a statement to its rows or its commit.
pub(crate) async fn execute(
    context: &PartwiseContext,
    statement: Statement,
    sql: &str,
) -> Result<Execution> {
    let started = Instant::now();
    let (mut tries, mut target) = (0, None);
    loop {
        let state = with_turn(state_of(context, sql), &statement, &target, tries).await?;
        let error = match plan_named(context, &state, &statement, sql).await {
            Err(error) => error,
            Ok(Planned::Write(write, then)) => {
                target = Some(write.table.clone());
                match write_now(&state, *write, started).await {
                    Ok(report) => {
                        if let Some(then) = then {
                            then.register(context).await?;
                        }
                        return Ok(Execution::Wrote(Box::new(report)));
                    }
                    Err(error) => error,
                }
            }
            Ok(Planned::Needless(message, location)) => {
                token::count_needless(&state, &location.display())?;
                return Ok(Execution::Done(Some(message)));
            }
            Ok(other) => match rows_of(context, other, again(context, &statement, sql)).await {
                Err(error) => error,
                done => return done,
            },
        };
        let made =
            creates_if_missing(&statement) && is_made(context, &state, &statement, sql).await?;
        if !made && (error.kind() != ErrorKind::Conflict || tries == CONFLICT_RETRIES) {
            return Err(error);
        }
        tries += 1;
    }
}

fn again(context: &PartwiseContext, statement: &Statement, sql: &str) -> Again {
    Again { context: context.clone(), statement: statement.clone(), sql: sql.to_owned() }
}

/// The state of a statement's next attempt. In the last one no other writer commits to its target:
/// a statement that takes longer than the pauses between small writes gets through as well.
async fn with_turn(
    state: SessionState,
    statement: &Statement,
    target: &Option<Table>,
    tries: usize,
) -> Result<SessionState> {
    if tries < CONFLICT_RETRIES {
        return Ok(state);
    }
    let target = match (target, statement) {
        (Some(target), _) => Some(target.clone()),
        // They read the table while they are planned.
        (None, Statement::Rewrite(rewrite)) => plan::rewrite::target(&state, rewrite).await.ok(),
        (None, _) => None,
    };
    let Some(target) = target else { return Ok(state) };
    let timeout = PartwiseConfig::of(state.config_options()).lock_timeout;
    let turn = target.turn(timeout, &secrets::hidden(&token::text(&state))).await?;
    Ok(with_extension(&state, turn))
}

/// Whether it is fine if somebody else has made the table meanwhile.
fn creates_if_missing(statement: &Statement) -> bool {
    matches!(statement, Statement::CreateTable(create) if create.if_not_exists)
}

/// Whether the table is there by now.
async fn is_made(
    context: &PartwiseContext,
    state: &SessionState,
    statement: &Statement,
    sql: &str,
) -> Result<bool> {
    let planned = plan_statement(context, state, statement, sql).await?;
    Ok(matches!(planned, Planned::Needless(..)))
}

fn state_of(context: &PartwiseContext, sql: &str) -> SessionState {
    let text = without_preview(sql).to_owned();
    with_extension(&context.session().state(), StatementText(text))
}

/// Plans a statement; what fails for a table that isn't there says which there are.
async fn plan_named(
    context: &PartwiseContext,
    state: &SessionState,
    statement: &Statement,
    sql: &str,
) -> Result<Planned> {
    match plan_statement(context, state, statement, sql).await {
        Err(error) => Err(missing::with_names(state, error).await),
        planned => planned,
    }
}

async fn plan_statement(
    context: &PartwiseContext,
    state: &SessionState,
    statement: &Statement,
    sql: &str,
) -> Result<Planned> {
    match statement {
        Statement::Insert(insert) => plan_insert(context, state, insert, sql).await,
        Statement::CreateTable(create) => ddl::create_table(context, state, create, sql).await,
        Statement::CreateExternal(create) => {
            ddl::create_external(context, state, create, sql).await
        }
        Statement::Copy(copy) if plan::copy::is_ours(copy) => {
            Ok(match plan::copy::plan(state, copy).await? {
                Some(write) => Planned::Write(Box::new(write), None),
                None => Planned::Needless(
                    format!("{} has data, left as it is", copy.target),
                    plan::copy::location(state, copy)?,
                ),
            })
        }
        Statement::Copy(copy) => {
            plan::copy::refuse_in_table(copy).await?;
            let copy = plan::copy::with_store(state, copy)?;
            plan_datafusion(context, state, DFStatement::CopyTo(copy)).await
        }
        Statement::DropTable { name, if_exists, purge } => {
            ddl::drop_table(context, &name.to_string(), *if_exists, *purge).await
        }
        Statement::Show(about, name) => {
            let found = lookup::table(state, &lookup::reference(&name.to_string())).await?;
            let table = lookup::ours(name, &found)?;
            Ok(Planned::Batch(functions::show(*about, state, table).await?))
        }
        Statement::ShowCreate(name) => show_create(context, state, name, sql).await,
        Statement::Needless(needless) => {
            lookup::table(state, &lookup::reference(&needless.table.to_string())).await?;
            Ok(Planned::Done(Some(format!("nothing to do: {}", needless.why))))
        }
        Statement::Rewrite(rewrite) => plan_rewrite(state, rewrite).await,
        Statement::Preview(change) => Ok(Planned::Batch(preview::preview(state, change).await?)),
        Statement::Restore(restore) => {
            Ok(Planned::Wrote(Box::new(restore::restore(state, restore, Instant::now()).await?)))
        }
        Statement::Alter(alter) => alter::alter(context, state, alter).await,
        Statement::Optimize(optimize) => plan_optimize(state, optimize).await,
        Statement::Truncate(truncate) => empty::truncate(state, truncate).await,
        Statement::Vacuum(vacuum) => vacuum::vacuum(state, vacuum).await,
        Statement::ShowTables => streams::show_tables(context).await,
        Statement::CreateStream(create) => streams::create(context, state, create, sql).await,
        Statement::DropStream(dropped) => streams::drop_stream(context, dropped).await,
        Statement::ShowStreams => streams::show_streams(context).await,
        Statement::StartQuery(start) => streams::start(context, start, sql).await,
        Statement::Query(order) => streams::order(context, order).await,
        Statement::ShowQueries => streams::show_queries(context),
        Statement::DropCheckpoint(dropped) => streams::drop_checkpoint(dropped).await,
        Statement::Explain(explain) => plan_explain(context, state, explain, sql).await,
        Statement::Reset(name) => ddl::reset(context, name),
        Statement::SetForeign { name, value } => ddl::set_foreign(context, name, value).await,
        Statement::DataFusion(statement) => {
            plan_datafusion(context, state, statement.as_ref().clone()).await
        }
    }
}

async fn plan_insert(
    context: &PartwiseContext,
    state: &SessionState,
    insert: &Insert,
    sql: &str,
) -> Result<Planned> {
    let name = lookup::reference(&insert.table.to_string());
    let provider = lookup::changed(state, &name).await?;
    if let Ok(table) = lookup::ours(&name, &provider) {
        return Ok(match plan::insert::plan(state, insert, &name, table, None).await? {
            Some(write) => Planned::Write(Box::new(write), None),
            None => Planned::Needless(
                "the partition exists, nothing was done".to_owned(),
                table.table().location().clone(),
            ),
        });
    }
    lookup::refuse_stream(&name, provider.as_ref())?;
    let memory = provider.as_ref().is::<datafusion::datasource::MemTable>();
    if insert.overwrite || insert.partition.is_some() || !memory {
        return Err(lookup::not_ours(&insert.table));
    }
    plan_datafusion(context, state, reparse(sql)?).await
}

async fn plan_optimize(state: &SessionState, optimize: &Optimize) -> Result<Planned> {
    let name = lookup::reference(&optimize.table.to_string());
    let provider = lookup::changed(state, &name).await?;
    let table = lookup::ours(&optimize.table, &provider)?;
    Ok(match plan::optimize::plan(state, optimize, &name, table).await? {
        Optimized::Write(write) => Planned::Write(write, None),
        Optimized::Nothing(message) => Planned::Done(Some(message)),
    })
}

/// A statement that changes no row is done: there is nothing to commit, unless it has to be known
/// that a job's run has had it.
async fn plan_rewrite(state: &SessionState, rewrite: &Rewrite) -> Result<Planned> {
    let started = Instant::now();
    let planned = plan::rewrite::plan(state, rewrite, None).await?;
    let write = planned.write;
    if !planned.is_nothing || write.token.is_some() {
        return Ok(Planned::Write(Box::new(write), None));
    }
    let committed = Committed { version: planned.version, ..Committed::default() };
    Ok(Planned::Wrote(Box::new(WriteReport {
        target: write.target,
        committed,
        partition_columns: write.partition_columns,
        token: None,
        restored: None,
        changes: Some(RowChanges::default()),
        elapsed: started.elapsed(),
    })))
}

/// How to make a table of ours; of a view DataFusion knows.
async fn show_create(
    context: &PartwiseContext,
    state: &SessionState,
    name: &ObjectName,
    sql: &str,
) -> Result<Planned> {
    let reference = lookup::reference(&name.to_string());
    let found = lookup::table(state, &reference).await?;
    let Ok(table) = lookup::ours(name, &found) else {
        return plan_datafusion(context, state, reparse(sql)?).await;
    };
    let in_lake = context.is_of_lake_directory(reference.table());
    Ok(Planned::Batch(definition::show(state, &reference, table, in_lake)?))
}

/// A statement as DataFusion's own parser reads it.
fn reparse(sql: &str) -> Result<DFStatement> {
    let mut statements = datafusion::sql::parser::DFParser::parse_sql(sql)?;
    statements.pop_front().ok_or_else(|| Error::invalid("an empty statement"))
}

async fn plan_explain(
    context: &PartwiseContext,
    state: &SessionState,
    explained: &Explain,
    sql: &str,
) -> Result<Planned> {
    explain::check(&explained.statement)?;
    let state = explain::counting(state);
    let inner = match &explained.statement {
        Statement::Rewrite(rewrite) => {
            let planned = plan::rewrite::plan(&state, rewrite, None).await?;
            Planned::Write(Box::new(planned.write), None)
        }
        statement => Box::pin(plan_statement(context, &state, statement, sql)).await?,
    };
    let mut notes = Vec::new();
    let plan = match inner {
        Planned::Write(write, _) => write.plan,
        Planned::Query { plan, .. } => plan,
        Planned::Needless(message, _) | Planned::Done(Some(message)) => {
            return Ok(Planned::Done(Some(message)));
        }
        _ => return Err(explain::no_plan()),
    };
    if explained.analyze && matches!(plan, LogicalPlan::Dml(_)) {
        notes.push("EXPLAIN ANALYZE ran the statement: its rows are written".to_owned());
    }
    let plan = explain::around(&state, explained, plan)?;
    Ok(Planned::Query { plan, state: Box::new(state), explains: true, notes })
}

/// A commit came in between two scans of one statement; it is planned again.
pub(crate) fn torn() -> Error {
    Error::new(
        ErrorKind::Conflict,
        "a commit was published while the statement was planned, each time it was tried: run it \
         again",
    )
}

/// Plans the physical side of a write and runs it.
pub(crate) async fn write_now(
    state: &SessionState,
    write: PlannedWrite,
    started: Instant,
) -> Result<WriteReport> {
    let plan = state.create_physical_plan(&write.plan).await?;
    let committed = run_write(plan, state.task_ctx(), &write).await?;
    Ok(WriteReport {
        changes: write.changes(&committed),
        target: write.target,
        committed,
        partition_columns: write.partition_columns,
        token: write.token,
        restored: None,
        elapsed: started.elapsed(),
    })
}

/// Runs the physical plan of a write, unless its job's run has applied it already.
async fn run_write(
    plan: Arc<dyn ExecutionPlan>,
    task: Arc<TaskContext>,
    write: &PlannedWrite,
) -> Result<Committed> {
    if scans::is_torn(&scans::tables_of(&write.plan)?) {
        return Err(torn());
    }
    if let Some(token) = &write.token
        && let Some(applied) = write.table.applied(token).await?
    {
        write.outcome.set(applied.clone());
        return Ok(applied);
    }
    let running = task.session_config().get_extension::<Running>();
    let _shown = running.map(|running| running.show(&plan));
    collect(plan, task).await.map_err(|error| meant(write, error.into()))?;
    write.outcome.get().ok_or_else(|| {
        Error::new(ErrorKind::Internal, "the write ended without saying what it committed")
    })
}

/// Rows outside of what a statement found to change came in after it had looked: it looks again.
fn meant(write: &PlannedWrite, error: Error) -> Error {
    match write.is_rewrite() && error.kind() == ErrorKind::Refused {
        true => Error::new(
            ErrorKind::Conflict,
            format!(
                "{} changed while the statement ran, each time it was tried: run it again ({error})",
                write.target
            ),
        ),
        false => error,
    }
}
