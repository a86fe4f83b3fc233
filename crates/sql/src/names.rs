//! Column names match without case: `PULocationID` finds the column of that name, unquoted.
//!
//! DataFusion folds unquoted names to lower case and then looks for them as they are. Where such
//! a name isn't found but exactly one column differs from it in case alone, the statement is
//! planned again with that column's name. A path as Spark writes it is read as the path, and
//! `IS DISTINCT FROM` as SQL has it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::common::{DataFusionError, SchemaError};
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement as DFStatement;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, VisitMut, VisitorMut,
};

use crate::{Result, distinct};

/// Names that one statement may have mended; each round mends at least one.
const MAX_ROUNDS: usize = 64;

/// Plans a statement of DataFusion's, names matched without case.
///
/// # Errors
/// Those of DataFusion's planner.
pub async fn plan(state: &SessionState, statement: DFStatement) -> Result<LogicalPlan> {
    let mut statement = statement;
    read_paths(&mut statement);
    for _ in 0..MAX_ROUNDS {
        let error = match state.statement_to_plan(statement.clone()).await {
            Ok(plan) => return Ok(plan),
            Err(error) => error,
        };
        let mended =
            spelling_of(&error).is_some_and(|(wrong, right)| mend(&mut statement, &wrong, &right));
        if !mended {
            return Err(error.into());
        }
    }
    Ok(state.statement_to_plan(statement).await?)
}

/// The name that wasn't found, and the only column spelled like it but for case.
fn spelling_of(error: &DataFusionError) -> Option<(String, String)> {
    let DataFusionError::SchemaError(schema_error, _) = error.find_root() else {
        return None;
    };
    let SchemaError::FieldNotFound { field, valid_fields } = schema_error.as_ref() else {
        return None;
    };
    let spellings: BTreeSet<&str> = valid_fields
        .iter()
        .map(|valid| valid.name())
        .filter(|valid| valid.eq_ignore_ascii_case(&field.name) && *valid != field.name)
        .collect();
    match spellings.len() {
        1 => spellings.first().map(|right| (field.name.clone(), (*right).to_owned())),
        _ => None,
    }
}

/// Spark's ``parquet.`dir/` `` is the path alone.
fn read_paths(statement: &mut DFStatement) {
    match statement {
        DFStatement::Statement(statement) => {
            let _ = statement.visit(&mut Paths);
            distinct::as_written(statement);
        }
        DFStatement::Explain(explain) => read_paths(&mut explain.statement),
        _ => {}
    }
}

struct Paths;

impl VisitorMut for Paths {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<()> {
        if let [ObjectNamePart::Identifier(format), ObjectNamePart::Identifier(path)] =
            relation.0.as_slice()
            && format.value.eq_ignore_ascii_case("parquet")
            && path.quote_style == Some('`')
        {
            *relation = ObjectName::from(vec![Ident::with_quote('"', path.value.as_str())]);
        }
        ControlFlow::Continue(())
    }
}

fn mend(statement: &mut DFStatement, wrong: &str, right: &str) -> bool {
    let mut mender = Mender { wrong, right, changed: false };
    match statement {
        DFStatement::Statement(statement) => {
            let _ = statement.visit(&mut mender);
        }
        DFStatement::Explain(explain) => {
            return mend(&mut explain.statement, wrong, right);
        }
        _ => {}
    }
    mender.changed
}

struct Mender<'a> {
    wrong: &'a str,
    right: &'a str,
    changed: bool,
}

impl Mender<'_> {
    fn mend(&mut self, name: &mut Ident) {
        if name.quote_style.is_none() && name.value.eq_ignore_ascii_case(self.wrong) {
            *name = Ident::with_quote('"', self.right);
            self.changed = true;
        }
    }
}

impl VisitorMut for Mender<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) => self.mend(name),
            Expr::CompoundIdentifier(names) => {
                if let Some(name) = names.last_mut() {
                    self.mend(name);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
