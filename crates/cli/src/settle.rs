//! The wait for tasks that outlive their statement: a cancelled write sweeps its staging in one.

use std::time::Duration;

use tokio::runtime::Handle;

/// How often to look whether they have ended.
const STEP: Duration = Duration::from_millis(2);

/// Waits until every task of the runtime has ended, at most so long; what takes longer is left to
/// the next writer's sweep.
pub async fn settle(patience: Duration) {
    let tasks = Handle::current().metrics();
    let all_ended = async {
        while tasks.num_alive_tasks() > 0 {
            tokio::time::sleep(STEP).await;
        }
    };
    let _ = tokio::time::timeout(patience, all_ended).await;
}
