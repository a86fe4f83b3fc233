//! The clauses of a MERGE as expressions over pairs of rows, over source rows, and over rows alone.

use std::collections::HashSet;

use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::{Column, TableReference};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, lit, when};
use datafusion::sql::sqlparser::ast::{Expr as SQLExpr, Ident, TableWithJoins, Value, With};

use super::super::helper::planned;
use super::super::is_volatile;
use super::super::reading::Reading;
use super::super::subqueries::asks_rows;
use super::super::tally::RowAction;
use super::super::target::Found;
use super::super::update::value_of;
use super::{Source, refuse_in_join};
use crate::report::counted;
use crate::statement::{Action, Clause, Matching, Merge, Update};
use crate::statement::{Setting, alone};
use crate::{Error, Result};

/// What is done with rows that a condition is true of.
pub struct Rule {
    /// The condition; none: always.
    pub condition: Option<Expr>,
    /// What is done.
    pub action: RowAction,
    /// The row as it is to be, an expression for each column.
    pub row: Vec<Expr>,
}

/// All rules of a statement. Of those for a row, the first whose condition is true is followed.
pub struct Rules {
    /// The rows of the table.
    pub target: LogicalPlan,
    /// Which rows belong together.
    pub on: Expr,
    /// For pairs.
    pub matched: Vec<Rule>,
    /// For rows of the source without one of the table.
    pub unmatched: Vec<Rule>,
    /// For rows of the table without one of the source.
    pub alone: Vec<Rule>,
    /// Whether a rule may bring a row into another partition.
    pub moves: bool,
}

/// A table and its source have names of their own.
fn told_apart(target: &LogicalPlan, source: &LogicalPlan) -> Result<()> {
    let names = |plan: &LogicalPlan| -> HashSet<TableReference> {
        plan.schema().iter().filter_map(|(qualifier, _)| qualifier.cloned()).collect()
    };
    match names(source).intersection(&names(target)).next() {
        None => Ok(()),
        Some(name) => Err(Error::invalid(format!(
            "the source is called {name} as the table is: give it another name, USING .. AS s"
        ))),
    }
}

/// The number of the rule that is followed, counted from 1, and 0 for none.
pub fn followed(rules: &[Rule], before: usize) -> Result<Expr> {
    let mut answer = lit(0_i32);
    for (n, rule) in rules.iter().enumerate().rev() {
        let number = lit((before + n + 1) as i32);
        answer = match &rule.condition {
            None => number,
            Some(condition) => when(condition.clone(), number).otherwise(answer)?,
        };
    }
    Ok(answer)
}

impl Rules {
    /// Those of a MERGE, and its source.
    ///
    /// # Errors
    /// A name that isn't there; a value that the column doesn't take; a condition that can't be
    /// asked of pairs.
    pub async fn of_merge(
        reading: &mut Reading<'_>,
        found: &Found,
        merge: &Merge,
    ) -> Result<(Self, Source)> {
        let mut clauses = Clauses {
            with: merge.with.as_ref(),
            target: merge.target.from(),
            source: vec![alone(merge.source.clone())],
            found,
            moves: false,
        };
        let (mut rules, source) = clauses.begin(reading, &merge.on).await?;
        for clause in &merge.clauses {
            let rule = clauses.rule(reading, &rules.target, &source, clause).await?;
            match clause.of {
                Matching::Matched => rules.matched.push(rule),
                Matching::NotMatched => rules.unmatched.push(rule),
                Matching::NotMatchedBySource => rules.alone.push(rule),
            }
        }
        rules.moves = clauses.moves;
        Ok((rules, source))
    }

    /// That of an UPDATE with a FROM, and its source.
    ///
    /// # Errors
    /// See [`Self::of_merge`].
    pub async fn of_update(
        reading: &mut Reading<'_>,
        found: &Found,
        update: &Update,
    ) -> Result<(Self, Source)> {
        let mut clauses = Clauses {
            with: update.with.as_ref(),
            target: update.target.from(),
            source: update.from.clone(),
            found,
            moves: false,
        };
        let always = SQLExpr::Value(Value::Boolean(true).into());
        let on = update.condition.as_ref().unwrap_or(&always);
        let (mut rules, source) = clauses.begin(reading, on).await?;
        let action = Action::Update(update.settings.clone());
        let clause = Clause { of: Matching::Matched, condition: None, action };
        rules.matched.push(clauses.rule(reading, &rules.target, &source, &clause).await?);
        rules.moves = clauses.moves;
        Ok((rules, source))
    }

    /// The rule of a number.
    pub fn numbered(&self) -> impl Iterator<Item = (i32, &Rule)> + Clone {
        (1..).zip(self.matched.iter().chain(&self.alone))
    }
}

/// What clauses are planned with.
struct Clauses<'a> {
    with: Option<&'a With>,
    target: TableWithJoins,
    source: Vec<TableWithJoins>,
    found: &'a Found,
    moves: bool,
}

impl Clauses<'_> {
    /// The condition and the source, without rules.
    async fn begin(&self, reading: &mut Reading<'_>, on: &SQLExpr) -> Result<(Rules, Source)> {
        let state = reading.state();
        let target = planned(state, self.with, &[], vec![self.target.clone()]).await?.from;
        self.found.check(&target)?;
        let source = planned(state, self.with, &[], self.source.clone()).await?.from;
        told_apart(&target, &source)?;
        let both = self.tables(Matching::Matched);
        let on = planned(state, self.with, std::slice::from_ref(on), both).await?.exprs.remove(0);
        refuse_in_join("the condition that joins the source", &on)?;
        let source = Source::collect(reading, source).await?;
        let (matched, unmatched, alone) = (vec![], vec![], vec![]);
        Ok((Rules { target, on, matched, unmatched, alone, moves: false }, source))
    }

    /// The tables that a clause can ask.
    fn tables(&self, of: Matching) -> Vec<TableWithJoins> {
        let target = std::slice::from_ref(&self.target);
        match of {
            Matching::Matched => [target, &self.source].concat(),
            Matching::NotMatched => self.source.clone(),
            Matching::NotMatchedBySource => target.to_vec(),
        }
    }

    async fn rule(
        &mut self,
        reading: &Reading<'_>,
        target: &LogicalPlan,
        source: &Source,
        clause: &Clause,
    ) -> Result<Rule> {
        let from = match clause.of {
            Matching::Matched => {
                LogicalPlanBuilder::from(target.clone()).cross_join(source.rows()?)?.build()?
            }
            Matching::NotMatched => source.rows()?,
            Matching::NotMatchedBySource => target.clone(),
        };
        let condition = match &clause.condition {
            None => None,
            Some(condition) => {
                let mut planned = self.exprs(reading, clause, vec![condition.clone()]).await?;
                let condition = planned.remove(0);
                refuse_in_join("a condition behind WHEN", &condition)?;
                Some(condition)
            }
        };
        let before = match clause.of {
            Matching::NotMatched => self.found.nulls(),
            _ => self.found.as_it_is(target)?,
        };
        let (action, set, values) = self.values(reading, clause, &from).await?;
        let row = self.found.with_values(reading.state(), &from, before, &set, values)?;
        self.check(clause, &set, &row)?;
        Ok(Rule { condition, action, row })
    }

    async fn exprs(
        &self,
        reading: &Reading<'_>,
        clause: &Clause,
        exprs: Vec<SQLExpr>,
    ) -> Result<Vec<Expr>> {
        let tables = self.tables(clause.of);
        Ok(planned(reading.state(), self.with, &exprs, tables).await?.exprs)
    }

    /// What a clause does, the columns it sets, and to what.
    async fn values(
        &self,
        reading: &Reading<'_>,
        clause: &Clause,
        from: &LogicalPlan,
    ) -> Result<(RowAction, Vec<usize>, Vec<(Expr, String)>)> {
        Ok(match &clause.action {
            Action::Nothing => (RowAction::Keep, vec![], vec![]),
            Action::Delete => (RowAction::Delete, vec![], vec![]),
            Action::UpdateAll => (RowAction::Update, self.all(), self.of_source(from, clause.of)?),
            Action::InsertAll => (RowAction::Insert, self.all(), self.of_source(from, clause.of)?),
            Action::Update(settings) => {
                let set = self.found.columns_set(settings)?;
                let values = settings.iter().map(value_of).collect();
                (RowAction::Update, set, self.texts(reading, clause, values).await?)
            }
            Action::Insert(columns, values) => {
                let set = self.columns(columns)?;
                check_count(&set, values.len())?;
                let values = columns_to_settings(columns, values);
                let values = values.iter().map(value_of).collect();
                (RowAction::Insert, set, self.texts(reading, clause, values).await?)
            }
        })
    }

    async fn texts(
        &self,
        reading: &Reading<'_>,
        clause: &Clause,
        values: Vec<SQLExpr>,
    ) -> Result<Vec<(Expr, String)>> {
        let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
        Ok(self.exprs(reading, clause, values).await?.into_iter().zip(texts).collect())
    }

    fn all(&self) -> Vec<usize> {
        (0..self.found.fields().len()).collect()
    }

    /// The columns of an INSERT; a list has to have the partition columns.
    fn columns(&self, list: &[Ident]) -> Result<Vec<usize>> {
        if list.is_empty() {
            return Ok(self.all());
        }
        let settings: Vec<Setting> = columns_to_settings(list, &[]);
        let set = self.found.columns_set(&settings)?;
        let schema = self.found.table.table_schema();
        match schema.partition_indices().iter().find(|index| !set.contains(index)) {
            None => Ok(set),
            Some(missing) => Err(Error::invalid(format!(
                "INSERT gives no value for the partition column {}: name it, and NULL if it is to \
                 be that",
                self.found.fields()[*missing].name()
            ))),
        }
    }

    /// For each column of the table the source's of that name.
    fn of_source(&self, from: &LogicalPlan, of: Matching) -> Result<Vec<(Expr, String)>> {
        // Of a pair, the table's own columns come first.
        let own = if of == Matching::Matched { self.found.fields().len() } else { 0 };
        let given: Vec<_> = from.schema().iter().skip(own).collect();
        self.found.fields().iter().map(|field| one_of(&given, field.name())).collect()
    }

    /// Refuses values that can't be evaluated twice, or not beside a join.
    fn check(&mut self, clause: &Clause, set: &[usize], row: &[Expr]) -> Result<()> {
        if let Some(wrong) = row.iter().find(|value| asks_rows(value)) {
            return Err(Error::unsupported(format!(
                "IN and EXISTS in a value ({}): make it a column of the source",
                wrong.human_display()
            )));
        }
        if self.found.keys_of(row).iter().any(is_volatile) {
            return Err(Error::unsupported(
                "a partition column can't be given what differs each time it is asked: make it a \
                 column of the source",
            ));
        }
        self.moves |= clause.of != Matching::NotMatched && self.found.moves_rows(set);
        Ok(())
    }
}

fn columns_to_settings(columns: &[Ident], values: &[Option<SQLExpr>]) -> Vec<Setting> {
    let count = columns.len().max(values.len());
    let name = |n: usize| columns.get(n).cloned().unwrap_or_else(|| Ident::new(""));
    let value = |n: usize| values.get(n).cloned().flatten();
    (0..count).map(|n| Setting { column: name(n), value: value(n) }).collect()
}

fn check_count(set: &[usize], values: usize) -> Result<()> {
    match set.len() == values {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "INSERT gives {} for {}",
            counted(values as u64, "value"),
            counted(set.len() as u64, "column")
        ))),
    }
}

type Given<'a> = (Option<&'a TableReference>, &'a FieldRef);

/// The only column of the source that has a name, without case.
fn one_of(given: &[Given<'_>], name: &str) -> Result<(Expr, String)> {
    let named = given.iter().filter(|(_, f)| f.name().eq_ignore_ascii_case(name));
    match named.collect::<Vec<_>>().as_slice() {
        [(qualifier, field)] => {
            let column = Column::new((*qualifier).cloned(), field.name());
            Ok((Expr::Column(column), name.to_owned()))
        }
        [] => Err(Error::invalid(format!(
            "* takes each column from the source's of that name, and the source has no {name}: list \
             the columns"
        ))),
        _ => {
            Err(Error::invalid(format!("the source has several columns {name}: list the columns")))
        }
    }
}
