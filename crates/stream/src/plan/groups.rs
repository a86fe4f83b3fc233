//! The aggregate of a query, taken apart: what runs over new rows, over states, over final values.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::catalog::memory::MemorySourceConfig;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Result as DFResult, ScalarValue};
use datafusion::datasource::{TableType, provider_as_source, source_as_provider};
use datafusion::execution::TaskContext;
use datafusion::execution::context::SessionState;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion::physical_expr::aggregate::{AggregateFunctionExpr, LoweredAggregateBuilder};
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, collect, collect_partitioned};

use super::rows::PlanTable;
use super::{StreamScan, clock, filters, refused};
use crate::window::{WindowKey, window_key};
use crate::{Error, Result};

/// An aggregating query's parts.
#[derive(Debug)]
pub(crate) struct Groups {
    /// The plan below the aggregate.
    pub input: LogicalPlan,
    /// The aggregate itself.
    pub aggregation: Aggregation,
    /// The group columns as text, in order.
    pub group_text: Vec<String>,
    /// The group column that is a window over event time.
    pub window: Option<WindowKey>,
    /// Whether a condition on the groups' values leaves some out.
    pub filters_values: bool,
    /// The plan above the aggregate, over a scan of the groups' final values.
    output: LogicalPlan,
}

impl Groups {
    pub fn new(
        state: &SessionState,
        plan: &LogicalPlan,
        aggregate: &Aggregate,
        scan: &StreamScan,
    ) -> Result<Self> {
        if aggregate.group_expr.iter().any(|expr| matches!(expr, Expr::GroupingSet(_))) {
            return Err(refused("GROUPING SETS, CUBE and ROLLUP", "run a query for each set"));
        }
        let text = |exprs: &[Expr]| exprs.iter().map(ToString::to_string).collect();
        let output = above(plan, aggregate)?;
        clock::check_groups(&[&aggregate.group_expr, &aggregate.aggr_expr], &output)?;
        Ok(Self {
            input: aggregate.input.as_ref().clone(),
            aggregation: Aggregation::new(state, aggregate)?,
            group_text: text(&aggregate.group_expr),
            window: window_key(aggregate, scan),
            filters_values: filters::values(plan, aggregate),
            output,
        })
    }

    /// The plan above the aggregate over these final values.
    pub fn output(&self, values: Vec<RecordBatch>) -> Result<LogicalPlan> {
        let schema = final_schema(&self.output)?;
        let named = values.into_iter().map(|batch| self.named(&batch, &schema));
        let named = named.collect::<Result<Vec<_>>>()?;
        let rows = MemorySourceConfig::try_new_exec(&[named], Arc::clone(&schema), None)?;
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        let rows: Arc<dyn TableProvider> = Arc::new(PlanTable::new(schema, all, rows));
        let plan = self.output.clone().transform_down(|node| match node {
            LogicalPlan::TableScan(mut scan) if is_final(&scan.source) => {
                scan.source = provider_as_source(Arc::clone(&rows));
                Ok(Transformed::yes(LogicalPlan::TableScan(scan)))
            }
            node => Ok(Transformed::no(node)),
        })?;
        Ok(plan.data)
    }

    fn named(&self, batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
        let first = self.aggregation.hidden_columns();
        let columns = batch.columns()[first..].to_vec();
        let options = datafusion::arrow::array::RecordBatchOptions::new()
            .with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
    }
}

/// Final values of the groups: where a batch's go.
#[derive(Debug)]
struct FinalValues(SchemaRef);

#[async_trait]
impl TableProvider for FinalValues {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        _projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> DFResult<Arc<dyn ExecutionPlan>> {
        datafusion::common::internal_err!("final values without a batch")
    }
}

fn is_final(source: &Arc<dyn datafusion::logical_expr::TableSource>) -> bool {
    source_as_provider(source).is_ok_and(|provider| provider.as_ref().is::<FinalValues>())
}

fn final_schema(plan: &LogicalPlan) -> Result<SchemaRef> {
    let mut found = None;
    plan.apply(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && is_final(&scan.source)
        {
            found = Some(scan.source.schema());
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    found.ok_or_else(|| Error::internal("a query without its groups"))
}

/// The plan with the aggregate replaced by a scan of its final values, under the same names.
fn above(plan: &LogicalPlan, aggregate: &Aggregate) -> Result<LogicalPlan> {
    let fields = aggregate.schema.fields().iter().enumerate();
    let fields: Vec<Field> =
        fields.map(|(i, field)| field.as_ref().clone().with_name(format!("c{i}"))).collect();
    let schema = Arc::new(Schema::new(fields));
    let names = aggregate.schema.iter().enumerate().map(|(i, (qualifier, field))| {
        let value = Expr::Column(Column::new(Some("groups"), format!("c{i}")));
        value.alias_qualified(qualifier.cloned(), field.name())
    });
    let source = provider_as_source(Arc::new(FinalValues(schema)));
    let scan = LogicalPlanBuilder::scan("groups", source, None)?.project(names)?.build()?;
    let replaced = plan.clone().transform_down(|node| match node {
        LogicalPlan::Aggregate(found) if found == *aggregate => {
            Ok(Transformed::new(scan.clone(), true, TreeNodeRecursion::Jump))
        }
        node => Ok(Transformed::no(node)),
    })?;
    Ok(replaced.data)
}

/// An aggregate as DataFusion runs it, in each of its modes.
#[derive(Clone, Debug)]
pub(crate) struct Aggregation {
    group_by: PhysicalGroupBy,
    aggregates: Vec<Arc<AggregateFunctionExpr>>,
    filters: Vec<Option<Arc<dyn PhysicalExpr>>>,
    input_schema: SchemaRef,
    state_schema: SchemaRef,
    /// There are no group columns: one constant stands for them.
    whole: bool,
}

impl Aggregation {
    fn new(state: &SessionState, aggregate: &Aggregate) -> Result<Self> {
        let below: &DFSchema = aggregate.input.schema();
        let input_schema: SchemaRef = Arc::new(below.as_arrow().clone());
        let (props, planning) = (state.execution_props(), PhysicalPlanningContext::default());
        let mut group_by = Vec::new();
        for expr in &aggregate.group_expr {
            let physical = state.create_physical_expr(expr.clone(), below)?;
            group_by.push((physical, expr.schema_name().to_string()));
        }
        let whole = group_by.is_empty();
        if whole {
            let all = Arc::new(Literal::new(ScalarValue::Int32(Some(0))));
            group_by.push((all as Arc<dyn PhysicalExpr>, "all".to_owned()));
        }
        let (mut aggregates, mut filters) = (Vec::new(), Vec::new());
        for expr in &aggregate.aggr_expr {
            let lowered =
                LoweredAggregateBuilder::new(expr, below, &input_schema, props, &planning)
                    .build()?;
            aggregates.push(lowered.aggregate);
            filters.push(lowered.filter);
        }
        let group_by = PhysicalGroupBy::new_single(group_by);
        let state_schema = Arc::new(Schema::empty());
        let made = Self { group_by, aggregates, filters, input_schema, state_schema, whole };
        let empty = Arc::new(EmptyExec::new(Arc::clone(&made.input_schema)));
        Ok(Self { state_schema: made.partial(empty)?.schema(), ..made })
    }

    /// The columns of a state: the group columns, then the aggregates' partial values.
    pub fn state_schema(&self) -> &SchemaRef {
        &self.state_schema
    }

    /// The group columns of a state.
    pub fn group_columns(&self) -> usize {
        self.group_by.expr().len()
    }

    /// The group columns that the query doesn't have.
    fn hidden_columns(&self) -> usize {
        usize::from(self.whole)
    }

    fn exec(
        &self,
        mode: AggregateMode,
        input: Arc<dyn ExecutionPlan>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let partial = mode == AggregateMode::Partial;
        let group_by = if partial { self.group_by.clone() } else { self.group_by.as_final() };
        let filters = if partial { self.filters.clone() } else { vec![None; self.filters.len()] };
        let input_schema = Arc::clone(&self.input_schema);
        let aggregates = self.aggregates.clone();
        let exec =
            AggregateExec::try_new(mode, group_by, aggregates, filters, input, input_schema)?;
        Ok(Arc::new(exec))
    }

    /// New rows to states, by each task for itself: a group may come several times. Aggregates that
    /// only work on rows in some order, as `nth_value` does, get them in it.
    pub fn partial(&self, rows: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
        let exec = self.exec(AggregateMode::Partial, Arc::clone(&rows))?;
        let wants = exec.required_input_ordering().into_iter().next().flatten();
        let Some(wants) = wants.filter(|_| self.needs_order()) else { return Ok(exec) };
        let order = LexOrdering::from(wants.into_single());
        let sorted = SortExec::new(order, rows).with_preserve_partitioning(true);
        self.exec(AggregateMode::Partial, Arc::new(sorted))
    }

    fn needs_order(&self) -> bool {
        let needs = |aggregate: &Arc<AggregateFunctionExpr>| {
            aggregate.order_sensitivity().hard_requires() && !aggregate.order_bys().is_empty()
        };
        self.aggregates.iter().any(needs)
    }

    /// States to one state for each group.
    pub async fn reduce(
        &self,
        states: Vec<RecordBatch>,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<RecordBatch>> {
        self.over(AggregateMode::PartialReduce, states, context).await
    }

    /// States, one for each group, to the groups' final values.
    pub async fn finish(
        &self,
        states: Vec<RecordBatch>,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<RecordBatch>> {
        self.over(AggregateMode::Final, states, context).await
    }

    async fn over(
        &self,
        mode: AggregateMode,
        states: Vec<RecordBatch>,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<RecordBatch>> {
        if states.iter().all(|batch| batch.num_rows() == 0) {
            return Ok(vec![]);
        }
        let schema = Arc::clone(&self.state_schema);
        let input = MemorySourceConfig::try_new_exec(&[states], schema, None)?;
        Ok(collect(self.exec(mode, input)?, Arc::clone(context)).await?)
    }

    /// Runs a plan of new rows to states, in the order of its tasks: a batch that is repeated adds
    /// up floating-point numbers in the same order.
    pub async fn states_of(
        &self,
        rows: Arc<dyn ExecutionPlan>,
        context: &Arc<TaskContext>,
    ) -> Result<Vec<RecordBatch>> {
        let states = collect_partitioned(self.partial(rows)?, Arc::clone(context)).await?;
        Ok(states.into_iter().flatten().collect())
    }
}
