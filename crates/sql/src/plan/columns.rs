//! The query's columns in the table's declared order, constants filled in.

use std::collections::HashMap;

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, LogicalPlan, lit};
use datafusion::sql::sqlparser::ast::Ident;
use partwise_commit::TableSchema;

use super::assign::{assign, cast};
use super::order::{self, Ordered, ordered};
use super::spec::PartitionSpec;
use crate::report::counted;
use crate::{Error, Result};

/// How the query's columns find theirs.
pub enum Order<'a> {
    /// By position, in declared order without the constants.
    Position,
    /// By a column list.
    List(&'a [Ident]),
    /// By the query's own column names.
    Name,
}

/// Projects `plan` onto the table: one expression per table column, and behind them what the order
/// of the query's rows needs.
///
/// # Errors
/// A count or a name that doesn't fit (both lists are shown), a conversion that needs a CAST.
pub fn project(
    plan: LogicalPlan,
    schema: &TableSchema,
    spec: &PartitionSpec,
    order: Order<'_>,
) -> Result<Ordered> {
    let constants: HashMap<usize, &ScalarValue> =
        spec.constants.iter().map(|(i, v)| (schema.partition_indices()[*i], v)).collect();
    let sources = match &order {
        Order::Position => by_position(&plan, schema, &constants)?,
        Order::List(list) => {
            let names: Vec<&str> = list.iter().map(|ident| ident.value.as_str()).collect();
            check_count(&plan, &names)?;
            by_name(&names, schema, &constants)?
        }
        Order::Name => {
            let fields = plan.schema().fields();
            let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
            by_name(&names, schema, &constants)?
        }
    };
    let mut exprs: Vec<Expr> = Vec::with_capacity(schema.arrow().fields().len());
    for (index, field) in schema.arrow().fields().iter().enumerate() {
        exprs.push(match (constants.get(&index), sources.get(&index)) {
            (Some(value), _) => lit((*value).clone()).alias(field.name()),
            (None, Some(source)) => assign(&plan, *source, field)
                .map_err(|error| saying_which(error, &order, schema, sources.len()))?,
            (None, None) => cast(lit(ScalarValue::Null), field.data_type()).alias(field.name()),
        });
    }
    order::project(ordered(plan)?, exprs)
}

/// A value that doesn't fit may be one of another column: says how columns find theirs.
fn saying_which(error: Error, order: &Order<'_>, schema: &TableSchema, count: usize) -> Error {
    if !matches!(order, Order::Position) || count < 2 {
        return error;
    }
    let names: Vec<&str> = schema.arrow().fields().iter().map(|f| f.name().as_str()).collect();
    let words = format!(
        "{error}; columns go by position, in the declared order ({}): INSERT .. BY NAME matches \
         their names",
        names.join(", ")
    );
    error.saying(words)
}

fn by_position(
    plan: &LogicalPlan,
    schema: &TableSchema,
    constants: &HashMap<usize, &ScalarValue>,
) -> Result<HashMap<usize, usize>> {
    let fields = schema.arrow().fields();
    let open: Vec<usize> = (0..fields.len()).filter(|i| !constants.contains_key(i)).collect();
    let names: Vec<&str> = open.iter().map(|i| fields[*i].name().as_str()).collect();
    check_count(plan, &names)?;
    Ok(open.into_iter().enumerate().map(|(source, target)| (target, source)).collect())
}

fn check_count(plan: &LogicalPlan, expected: &[&str]) -> Result<()> {
    let given: Vec<&str> = plan.schema().fields().iter().map(|f| f.name().as_str()).collect();
    if given.len() == expected.len() {
        return Ok(());
    }
    let hint = match given.len() < expected.len() {
        true => "; INSERT INTO t (a, b) SELECT .. writes some columns and leaves the others NULL",
        false => "",
    };
    Err(Error::invalid(format!(
        "the query gives {} ({}), but {} written: {}{hint}",
        counted(given.len() as u64, "column"),
        given.join(", "),
        match expected.len() {
            1 => "1 is".to_owned(),
            n => format!("{n} are"),
        },
        expected.join(", ")
    )))
}

fn by_name(
    names: &[&str],
    schema: &TableSchema,
    constants: &HashMap<usize, &ScalarValue>,
) -> Result<HashMap<usize, usize>> {
    let fields = schema.arrow().fields();
    let mut sources = HashMap::new();
    for (source, name) in names.iter().enumerate() {
        let target = fields.iter().position(|f| f.name().eq_ignore_ascii_case(name));
        let target = target.ok_or_else(|| {
            let known: Vec<&str> = fields.iter().map(|f| f.name().as_str()).collect();
            Error::invalid(format!("the table has no column {name}; it has {}", known.join(", ")))
        })?;
        if constants.contains_key(&target) {
            return Err(Error::invalid(format!(
                "{name} is a constant in PARTITION and comes from the query too: drop one"
            )));
        }
        if sources.insert(target, source).is_some() {
            return Err(Error::invalid(format!("column {name} is written twice")));
        }
    }
    let partitions = schema.partition_indices();
    if let Some(missing) =
        partitions.iter().find(|i| !sources.contains_key(i) && !constants.contains_key(i))
    {
        return Err(Error::invalid(format!(
            "the partition column {} is given neither by the query nor in PARTITION",
            fields[*missing].name()
        )));
    }
    Ok(sources)
}
