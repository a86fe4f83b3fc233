//! Statements that DataFusion plans.

use datafusion::execution::context::SessionState;
use datafusion::logical_expr::{DdlStatement, LogicalPlan, Statement as PlanStatement};
use datafusion::sql::parser::Statement as DFStatement;
use datafusion::sql::sqlparser::ast::Statement as SQLStatement;

use super::{Planned, prepared};
use crate::{Error, PartwiseContext, Result, explain, listing, lookup, names};

/// A statement of DataFusion's: planned with names matched without case; what gives no rows is
/// run by DataFusion.
pub(super) async fn plan_datafusion(
    context: &PartwiseContext,
    state: &SessionState,
    statement: DFStatement,
) -> Result<Planned> {
    let lists = lists_tables(&statement);
    if lists {
        context.table_names().await?;
        open_named(state, &statement).await?;
    }
    let explains = matches!(&statement, DFStatement::Explain(_))
        || matches!(&statement, DFStatement::Statement(s) if matches!(s.as_ref(), SQLStatement::Explain { .. }));
    let state = if explains { explain::counting(state) } else { state.clone() };
    let state = if lists { listing::lenient(&state) } else { state };
    let makes = makes_by_the_way(&statement);
    let plan = prepared::filled_in(context, names::plan(&state, statement).await?).await?;
    refuse_what_does_nothing(&plan, makes)?;
    if sets_token(&plan) {
        context.steps().restart();
    }
    if matches!(plan, LogicalPlan::Ddl(_) | LogicalPlan::Statement(_)) {
        context.session().execute_logical_plan(plan).await?;
        return Ok(Planned::Done(None));
    }
    // DESCRIBE of a query is parsed as an EXPLAIN, and gives its columns.
    let explains = explains && !matches!(plan, LogicalPlan::DescribeTable(_));
    Ok(Planned::Query { plan, state: Box::new(state), explains, notes: vec![] })
}

/// Whether a statement that makes a table isn't a CREATE: SELECT .. INTO, EXECUTE.
fn makes_by_the_way(statement: &DFStatement) -> bool {
    matches!(statement, DFStatement::Statement(statement)
        if matches!(statement.as_ref(), SQLStatement::Query(_) | SQLStatement::Execute { .. }))
}

/// What DataFusion takes without doing it, or does in memory where a table is meant.
fn refuse_what_does_nothing(plan: &LogicalPlan, makes_by_the_way: bool) -> Result<()> {
    let (what, instead) = match plan {
        LogicalPlan::Statement(
            PlanStatement::TransactionStart(_) | PlanStatement::TransactionEnd(_),
        ) => ("transactions", "each statement is one of its own, RESTORE takes it back"),
        LogicalPlan::Ddl(DdlStatement::CreateIndex(_)) => {
            ("indexes", "partitions, sort_by and bloom filters have queries read less")
        }
        LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(_)) if makes_by_the_way => {
            ("tables made by SELECT .. INTO or EXECUTE", "CREATE TABLE t AS SELECT ..")
        }
        _ => return Ok(()),
    };
    Err(Error::unsupported(format!("{what} are not there: {instead}")))
}

/// Whether a statement names the job or its run: the job's writes are counted from the start.
fn sets_token(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Statement(PlanStatement::SetVariable(set)) => {
            ["partwise.job", "partwise.run"].contains(&set.variable.to_ascii_lowercase().as_str())
        }
        _ => false,
    }
}

/// Whether a statement looks at the list of tables.
fn lists_tables(statement: &DFStatement) -> bool {
    statement.to_string().to_ascii_lowercase().contains("information_schema")
        || matches!(statement, DFStatement::Statement(s) if s.to_string().starts_with("SHOW"))
}

/// A table whose columns are asked for by its name has to be one that can be opened.
async fn open_named(state: &SessionState, statement: &DFStatement) -> Result<()> {
    let DFStatement::Statement(statement) = statement else { return Ok(()) };
    if let SQLStatement::ShowColumns { show_options, .. } = statement.as_ref()
        && let Some(name) = show_options.show_in.as_ref().and_then(|from| from.parent_name.as_ref())
    {
        lookup::find(state, &lookup::reference(&name.to_string())).await?;
    }
    Ok(())
}
