//! Which columns tell a query's rows apart.

use std::collections::BTreeSet;

use crate::definition::OutputMode;
use crate::plan::{ColumnRole, StreamPlan};
use crate::{Error, Result};

/// The keys of a query's rows and what follows from them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Keys {
    /// The columns that tell rows apart.
    pub keys: Vec<String>,
    /// The columns that follow from the keys, the keys among them.
    pub fixed: Vec<String>,
    /// A group column that the named keys leave out: they don't tell all groups apart.
    pub left_out: Option<String>,
    /// A key that may change while its group stays: the group's older row would stay too.
    pub changing: Option<String>,
}

impl Keys {
    /// Checks that an update by these keys replaces a group's own row.
    ///
    /// # Errors
    /// Keys that several groups may share.
    pub fn check(&self, mode: OutputMode) -> Result<()> {
        if let Some(key) = self.changing.as_ref().filter(|_| mode == OutputMode::Update) {
            return Err(Error::refused(format!(
                "KEYS ({}): {key} changes with each batch, and the row with its older value would \
                 stay beside the new one: name columns of the GROUP BY alone, or leave KEYS out",
                self.keys.join(", ")
            )));
        }
        match &self.left_out {
            Some(column) if mode == OutputMode::Update => Err(Error::refused(format!(
                "KEYS ({}) may be the same for several groups, so that one would replace the other: \
                 name {column} among them as well, or leave KEYS out",
                self.keys.join(", ")
            ))),
            _ => Ok(()),
        }
    }
}

/// The keys that are named, or the group columns.
///
/// # Errors
/// A key that is no column of the result; in update mode, a group column that the result lacks.
pub(super) fn keys_of(plan: &StreamPlan, named: &[String]) -> Result<Keys> {
    let name = |at: usize| plan.schema.field(at).name().clone();
    let groups = plan.groups().map_or(0, |groups| groups.group_text.len());
    let is_group = |at: &usize| matches!(plan.columns[*at], ColumnRole::Group(_));
    let places: Vec<usize> = match named {
        [] => (0..plan.columns.len()).filter(is_group).collect(),
        named => named.iter().map(|key| place(plan, key)).collect::<Result<_>>()?,
    };
    let of = |at: &usize| match &plan.columns[*at] {
        ColumnRole::Group(group) => Some(*group),
        _ => None,
    };
    let told: BTreeSet<usize> = places.iter().filter_map(of).collect();
    let missing = (0..groups).find(|group| !told.contains(group));
    if let (OutputMode::Update, [], Some(missing), Some(groups)) =
        (plan.mode, named, missing, plan.groups())
    {
        return Err(Error::invalid(format!(
            "OUTPUT MODE update gives out groups that changed, and without the group column {} in \
             the SELECT list they can't be told apart: select it, or name KEYS (..)",
            groups.group_text[missing]
        )));
    }
    let is_value = |at: &&usize| plan.columns[**at] == ColumnRole::Value;
    let changing = places.iter().find(is_value).filter(|_| plan.groups().is_some());
    let changing = changing.map(|at| name(*at));
    let follows = |at: &usize| match &plan.columns[*at] {
        _ if places.contains(at) => true,
        ColumnRole::Group(group) => told.contains(group),
        ColumnRole::OfGroups(of) => of.is_subset(&told),
        ColumnRole::Value => false,
    };
    Ok(Keys {
        changing,
        fixed: (0..plan.columns.len()).filter(follows).map(name).collect(),
        keys: places.into_iter().map(name).collect(),
        left_out: missing
            .filter(|_| !named.is_empty())
            .and_then(|missing| plan.groups().map(|groups| groups.group_text[missing].clone())),
    })
}

fn place(plan: &StreamPlan, key: &str) -> Result<usize> {
    let fields = plan.schema.fields();
    fields.iter().position(|field| field.name().eq_ignore_ascii_case(key)).ok_or_else(|| {
        let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        Error::invalid(format!(
            "KEYS ({key}): the query has no such column; it has {}",
            names.join(", ")
        ))
    })
}
