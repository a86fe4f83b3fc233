//! Joins that can be cancelled.
//!
//! Cancelling reaches a task where it waits. A join whose keys match many rows gives batch after
//! batch without waiting for anything, for minutes; wrapped, it pauses after each few of them.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::SessionContext;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;

/// What the names of DataFusion's joins end with.
const JOIN: &str = "JoinExec";

/// Has the joins of a session's plans pause now and then.
pub fn joins_of(session: &SessionContext) {
    let state = session.state_ref();
    let mut state = state.write();
    *state = SessionStateBuilder::new_from_existing(state.clone())
        .with_physical_optimizer_rule(Arc::new(PausingJoins))
        .build();
}

/// The rule that wraps them.
#[derive(Debug)]
struct PausingJoins;

impl PhysicalOptimizerRule for PausingJoins {
    fn name(&self) -> &str {
        "PausingJoins"
    }

    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            Ok(match node.name().ends_with(JOIN) {
                true => Transformed::yes(Arc::new(CooperativeExec::new(node)) as _),
                false => Transformed::no(node),
            })
        })
        .data()
    }

    fn schema_check(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use datafusion::physical_plan::displayable;
    use partwise_sql::{Execution, Lake, PartwiseContext};

    use super::*;
    use crate::workers::Workers;

    /// Every row matches every row: 2,500,000,000 of them out of one batch of the one side.
    const JOIN_OF_MANY: &str = "SELECT count(*) FROM \
        (SELECT value % 1 AS k, value AS v FROM generate_series(1, 50000)) a JOIN \
        (SELECT value % 1 AS k, value AS v FROM generate_series(1, 50000)) b \
        ON a.k = b.k AND a.v < b.v + 60000";

    #[tokio::test]
    async fn a_join_with_many_matches_can_be_cancelled() {
        let context = PartwiseContext::open(Lake::None).await.unwrap();
        joins_of(context.session());
        let frame = context.session().sql(JOIN_OF_MANY).await.unwrap();
        let plan = frame.clone().create_physical_plan().await.unwrap();
        let shown = displayable(plan.as_ref()).indent(false).to_string();
        assert!(shown.contains("CooperativeExec\n"), "{shown}");
        let workers = Workers::start(Some(2)).unwrap();
        let started = Instant::now();
        let join = workers.spawn(async move { frame.collect().await.map(drop) });
        while started.elapsed() < Duration::from_millis(300) && !join.is_finished() {
            tokio::task::yield_now().await;
        }
        join.abort();
        // Far less than the join would take; the test is about ending at all.
        assert!(workers.settle(Duration::from_secs(30)).await);
    }

    #[tokio::test]
    async fn the_statements_of_a_session_go_on_as_before() {
        let context = PartwiseContext::open(Lake::None).await.unwrap();
        joins_of(context.session());
        let sql = "SELECT 1 AS a UNION ALL SELECT 2";
        assert!(matches!(context.execute(sql).await.unwrap(), Execution::Rows(_)));
    }
}
