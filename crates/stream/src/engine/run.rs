//! Batches one after another, by the trigger.

use std::time::Instant;

use tokio::sync::watch;

use super::Engine;
use crate::Result;
use crate::definition::Trigger;
use crate::progress::Progress;

/// Runs batches until the trigger says it is enough, or `stop` does: the running batch is finished
/// then.
pub(crate) async fn run(
    engine: &mut Engine,
    trigger: Trigger,
    mut stop: watch::Receiver<bool>,
    told: &(dyn Fn(Progress) + Send + Sync),
) -> Result<()> {
    if trigger == Trigger::AvailableNow {
        engine.available_now().await?;
    }
    while !*stop.borrow_and_update() {
        let started = Instant::now();
        let progress = engine.step().await?;
        let idle = progress.is_none();
        progress.into_iter().for_each(told);
        match trigger {
            Trigger::Once => return Ok(()),
            Trigger::AvailableNow if idle => return Ok(()),
            Trigger::AvailableNow => {}
            Trigger::Every(every) => {
                let rest = every.saturating_sub(started.elapsed());
                let stopped = stop.wait_for(|stop| *stop);
                // Told to stop, or nobody is left who could tell.
                if tokio::time::timeout(rest, stopped).await.is_ok() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}
