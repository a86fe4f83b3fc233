//! A stream drawn on the worker threads, so that who waits for its items can stop waiting at any moment.

use futures::{Stream, StreamExt};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::interrupt::{Interrupts, stopped_by_bug};
use crate::status::Result;
use crate::workers::Workers;

/// Items drawn ahead of whoever takes them.
const AHEAD: usize = 2;

/// The items of a stream; dropping it cancels the stream.
pub struct Pump<T> {
    items: mpsc::Receiver<T>,
    task: JoinHandle<()>,
}

impl<T: Send + 'static> Pump<T> {
    /// Starts to draw, on the workers.
    pub fn start(
        workers: &Workers,
        mut stream: impl Stream<Item = T> + Unpin + Send + 'static,
    ) -> Self {
        let (sender, items) = mpsc::channel(AHEAD);
        let task = workers.spawn(async move {
            while let Some(item) = stream.next().await {
                if sender.send(item).await.is_err() {
                    break;
                }
            }
        });
        Self { items, task }
    }

    /// The next item; none at the end.
    ///
    /// # Errors
    /// A Ctrl-C came first, or the stream panicked.
    pub async fn next(&mut self, interrupts: &Interrupts) -> Result<Option<T>> {
        match interrupts.or_cancelled(self.items.recv()).await? {
            Some(item) => Ok(Some(item)),
            None => self.end().await.map(|()| None),
        }
    }

    /// An end of items is the end of the stream only if its task ended well.
    async fn end(&mut self) -> Result<()> {
        (&mut self.task).await.map_err(|_| stopped_by_bug())
    }
}

impl<T> Drop for Pump<T> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;
    use crate::status::Status;

    #[tokio::test]
    async fn every_item_comes_through_in_order() {
        let (interrupts, workers) = (Interrupts::deaf(), Workers::start(Some(1)).unwrap());
        let mut pump = Pump::start(&workers, stream::iter(0..10));
        let mut found = Vec::new();
        while let Some(item) = pump.next(&interrupts).await.unwrap() {
            found.push(item);
        }
        assert_eq!(found, (0..10).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_press_ends_the_wait_for_a_stream_that_gives_nothing() {
        let (interrupts, workers) = (Interrupts::deaf(), Workers::start(Some(1)).unwrap());
        interrupts.press();
        let mut pump = Pump::start(&workers, stream::pending::<()>());
        assert_eq!(pump.next(&interrupts).await.unwrap_err().status, Status::Interrupted);
    }

    #[tokio::test]
    async fn a_stream_that_breaks_is_not_taken_for_its_end() {
        let broken = stream::iter(0..3).map(|n| if n == 2 { panic!("broken") } else { n });
        let (interrupts, workers) = (Interrupts::deaf(), Workers::start(Some(1)).unwrap());
        let mut pump = Pump::start(&workers, broken);
        let mut last = pump.next(&interrupts).await;
        while let Ok(Some(_)) = last {
            last = pump.next(&interrupts).await;
        }
        assert_eq!(last.unwrap_err().status, Status::Failed);
    }
}
