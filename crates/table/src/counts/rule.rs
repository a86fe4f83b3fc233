//! The optimizer rule: aggregates that ask for nothing but partitions read partitions.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::common::tree_node::Transformed;
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::error::Result;
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::functions_aggregate::sum::sum_udaf;
use datafusion::logical_expr::expr::{AggregateFunction, AggregateFunctionParams};
use datafusion::logical_expr::{
    Aggregate, Expr, Filter, LogicalPlan, Projection, SubqueryAlias, TableScan, TableScanBuilder,
    lit, when,
};
use datafusion::optimizer::{ApplyOrder, OptimizerConfig, OptimizerRule};

use super::{ROWS, counts_schema};
use crate::config::PartwiseConfig;
use crate::provider::PartwiseTable;
use crate::scan::{FilterUse, classify};

/// Puts a scan of partitions and their rows under `count`, `min`, `max` and DISTINCT over partition
/// columns; added to a session as its last optimizer rule.
#[derive(Debug, Default)]
pub struct CountPartitions;

impl OptimizerRule for CountPartitions {
    fn name(&self) -> &str {
        "partwise_count_partitions"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Aggregate(aggregate) = &plan else { return Ok(Transformed::no(plan)) };
        if !PartwiseConfig::of(&config.options()).prune {
            return Ok(Transformed::no(plan));
        }
        match rewritten(aggregate)? {
            Some(counted) => Ok(Transformed::yes(counted)),
            None => Ok(Transformed::no(plan)),
        }
    }
}

/// The aggregate over partitions; none where it asks for more.
fn rewritten(aggregate: &Aggregate) -> Result<Option<LogicalPlan>> {
    let groups = &aggregate.group_expr;
    if groups.iter().any(|group| matches!(group, Expr::GroupingSet(_)) || group.is_volatile()) {
        return Ok(None);
    }
    let asked: Option<Vec<Asked>> = aggregate.aggr_expr.iter().map(Asked::by).collect();
    let Some(asked) = asked else { return Ok(None) };
    let Some(input) = counted(&aggregate.input)? else { return Ok(None) };
    let rows = Expr::Column(last_column(&input));
    let exprs = asked.into_iter().enumerate().map(|(n, asked)| asked.over(n, &rows));
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    let counts: Vec<bool> = exprs.iter().map(|(_, is_count)| *is_count).collect();
    let exprs = exprs.into_iter().map(|(expr, _)| expr).collect();
    let over = Aggregate::try_new(Arc::new(input), groups.clone(), exprs)?;
    let is_count = groups.iter().map(|_| false).chain(counts);
    named_as_before(aggregate, over, is_count).map(Some)
}

/// The new aggregate's columns under the names of the old one's.
fn named_as_before(
    before: &Aggregate,
    over: Aggregate,
    is_count: impl Iterator<Item = bool>,
) -> Result<LogicalPlan> {
    let columns = over.schema.iter().zip(before.schema.iter()).zip(is_count);
    let exprs = columns.map(|((found, (qualifier, field)), is_count)| {
        let column = Expr::Column(Column::from(found));
        let value = if is_count { coalesce(vec![column, lit(0_i64)]) } else { column };
        value.alias_qualified(qualifier.cloned(), field.name())
    });
    let exprs = exprs.collect();
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(LogicalPlan::Aggregate(over)))?))
}

/// What one aggregate expression asks of partitions.
enum Asked<'a> {
    /// The same answer whether a value comes once or a thousand times.
    Values(&'a Expr),
    /// How many rows have a value of this.
    Rows(&'a AggregateFunction),
}

impl<'a> Asked<'a> {
    fn by(expr: &'a Expr) -> Option<Self> {
        let Expr::AggregateFunction(call) = unaliased(expr) else { return None };
        let AggregateFunctionParams { args, distinct, filter, order_by, null_treatment } =
            &call.params;
        let all = args.iter().chain(filter.as_deref());
        if !order_by.is_empty() || null_treatment.is_some() || all.clone().any(Expr::is_volatile) {
            return None;
        }
        match (call.func.name(), distinct) {
            ("min" | "max", _) | ("count", true) => Some(Self::Values(expr)),
            ("count", false) if args.len() == 1 => Some(Self::Rows(call)),
            _ => None,
        }
    }

    /// The `n`th expression over partitions, and whether it is a count, whose sum over nothing is 0.
    fn over(self, n: usize, rows: &Expr) -> Result<(Expr, bool)> {
        let call = match self {
            Self::Values(expr) => return Ok((expr.clone(), false)),
            Self::Rows(call) => call,
        };
        let counted = match &call.params.args[0] {
            Expr::Literal(value, _) if !value.is_null() => rows.clone(),
            value => when(value.clone().is_not_null(), rows.clone()).otherwise(lit(0_i64))?,
        };
        let filter = call.params.filter.clone();
        let sum =
            AggregateFunction::new_udf(sum_udaf(), vec![counted], false, filter, vec![], None);
        Ok((Expr::AggregateFunction(sum).alias(format!("#{n}")), true))
    }
}

fn unaliased(mut expr: &Expr) -> &Expr {
    while let Expr::Alias(alias) = expr {
        expr = &alias.expr;
    }
    expr
}

/// The same rows once per partition, with the number of its rows as the last column; none where
/// they need more than partition columns.
fn counted(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    Ok(match plan {
        LogicalPlan::TableScan(scan) => counted_scan(scan)?,
        LogicalPlan::SubqueryAlias(alias) => match counted(&alias.input)? {
            Some(input) => {
                let alias = SubqueryAlias::try_new(Arc::new(input), alias.alias.clone())?;
                Some(LogicalPlan::SubqueryAlias(alias))
            }
            None => None,
        },
        LogicalPlan::Filter(filter) if !filter.predicate.is_volatile() => {
            match counted(&filter.input)? {
                Some(input) => {
                    let filter = Filter::try_new(filter.predicate.clone(), Arc::new(input))?;
                    Some(LogicalPlan::Filter(filter))
                }
                None => None,
            }
        }
        LogicalPlan::Projection(projection) => counted_projection(projection)?,
        _ => None,
    })
}

fn counted_projection(projection: &Projection) -> Result<Option<LogicalPlan>> {
    if projection.expr.iter().any(Expr::is_volatile) {
        return Ok(None);
    }
    let Some(input) = counted(&projection.input)? else { return Ok(None) };
    let mut exprs = projection.expr.clone();
    exprs.push(Expr::Column(last_column(&input)));
    Ok(Some(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(input))?)))
}

fn counted_scan(scan: &TableScan) -> Result<Option<LogicalPlan>> {
    let provider = source_as_provider(&scan.source)?;
    let Some(table) = provider.as_ref().downcast_ref::<PartwiseTable>() else { return Ok(None) };
    let columns = table.table_schema().partition_columns();
    let level = |name: &str| columns.iter().position(|column| column.name == name);
    let asked = scan.projected_schema.fields().iter().map(|field| level(field.name()));
    let Some(mut projection) = asked.collect::<Option<Vec<usize>>>() else { return Ok(None) };
    if table.is_by_partition() || scan.fetch.is_some() || level(ROWS).is_some() {
        return Ok(None);
    }
    for filter in &scan.filters {
        if classify(filter, &|name| level(name).is_some())? != FilterUse::Partition {
            return Ok(None);
        }
    }
    projection.push(counts_schema(columns).fields().len() - 1);
    let source = provider_as_source(Arc::new(table.by_partition()));
    let name = scan.table_name.clone();
    let scan = TableScanBuilder::new(name, source)
        .with_projection(Some(projection))
        .with_filters(scan.filters.clone());
    Ok(Some(LogicalPlan::TableScan(scan.build()?)))
}

fn last_column(plan: &LogicalPlan) -> Column {
    let schema = plan.schema();
    Column::from(schema.qualified_field(schema.fields().len() - 1))
}
