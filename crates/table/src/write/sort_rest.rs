//! Sorts what is left of a task's input by partition key, with spilling.

use std::sync::{Arc, Mutex, PoisonError};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryLimit};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::stream::EmptyRecordBatchStream;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};

/// The least memory that a sort gets along with.
const MIN_SORT_BYTES: usize = 32 << 20;

/// The rows of `input` in the order of `columns`. In a session without a memory limit the sort
/// keeps `memory_bytes` in memory and spills the rest.
///
/// # Errors
/// A plan or a memory pool that can't be made.
pub(super) fn sort_by_key(
    input: SendableRecordBatchStream,
    columns: &[usize],
    memory_bytes: usize,
    context: &Arc<TaskContext>,
) -> Result<SendableRecordBatchStream> {
    let schema = input.schema();
    let keys = columns.iter().map(|&index| {
        let column = Column::new(schema.field(index).name(), index);
        PhysicalSortExpr::new_default(Arc::new(column))
    });
    let Some(ordering) = LexOrdering::new(keys) else { return Ok(input) };
    let rest = Rest { schema: Arc::clone(&schema), stream: Mutex::new(Some(input)) };
    let source =
        StreamingTableExec::try_new(schema, vec![Arc::new(rest)], None, None, false, None)?;
    let sort = SortExec::new(ordering, Arc::new(source));
    sort.execute(0, bounded(context, memory_bytes)?)
}

/// The context with a memory limit, if the session has none.
fn bounded(context: &Arc<TaskContext>, memory_bytes: usize) -> Result<Arc<TaskContext>> {
    if !matches!(context.memory_pool().memory_limit(), MemoryLimit::Infinite) {
        return Ok(Arc::clone(context));
    }
    let pool = Arc::new(GreedyMemoryPool::new(memory_bytes.max(MIN_SORT_BYTES)));
    let runtime = RuntimeEnvBuilder::from_runtime_env(&context.runtime_env());
    let runtime = runtime.with_memory_pool(pool).build_arc()?;
    let context = TaskContext::default().with_session_config(context.session_config().clone());
    Ok(Arc::new(context.with_runtime(runtime)))
}

/// A stream as a plan that can run once.
struct Rest {
    schema: SchemaRef,
    stream: Mutex<Option<SendableRecordBatchStream>>,
}

impl std::fmt::Debug for Rest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rest")
    }
}

impl PartitionStream for Rest {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        stream.unwrap_or_else(|| Box::pin(EmptyRecordBatchStream::new(Arc::clone(&self.schema))))
    }
}
