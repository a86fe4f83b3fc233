//! [`Transaction`]: one that is open, until it is committed or given up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use partwise_stream::{Error, ErrorKind, Result};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::producer::Producer as _;

use super::producer::{FENCED, Producer, TIMEOUT, Tally, fenced, is_fenced};
use crate::cluster::passes;

/// Between two attempts to give a transaction up.
const PAUSE: Duration = Duration::from_millis(50);

/// An open transaction. Dropped in the middle, as when the query is stopped, it is given up: who
/// reads what is committed would wait for its end.
pub(super) struct Transaction {
    producer: Arc<Producer>,
    since: Instant,
    ended: bool,
}

impl Transaction {
    /// Begins one.
    ///
    /// # Errors
    /// Another instance has taken the id.
    pub fn begin(producer: &Arc<Producer>) -> Result<Self> {
        let (producer, since) = (Arc::clone(producer), Instant::now());
        let begun = producer.client.begin_transaction();
        begun.map_err(|error| match is_fenced(&error) {
            true => fenced(),
            false => failed(&producer, "begin", &error),
        })?;
        Ok(Self { producer, since, ended: false })
    }

    /// Commits it.
    ///
    /// # Errors
    /// The batch isn't in, or it isn't known whether it is: the ledger says it at the next start.
    pub async fn commit(mut self) -> Result<()> {
        let producer = Arc::clone(&self.producer);
        let commit = move |limit| match producer.client.commit_transaction(limit) {
            // Told apart from brokers that are down before the loop judges it.
            Err(error) if is_fenced(&error) => Ok(Err(error)),
            other => other.map(Ok),
        };
        let Producer { cluster, .. } = self.producer.as_ref();
        let answer = cluster.ask(self.producer.heard(), "commit a transaction", commit).await?;
        self.ended = true;
        answer.map_err(|_| self.lost())
    }

    /// Gives it up for a batch that failed for this reason; where that fails, the next that takes
    /// the id does it. The reason, or that Kafka took the transaction away.
    pub async fn abort(mut self, tally: &Tally, reason: Error) -> Error {
        let producer = Arc::clone(&self.producer);
        let abort = move |limit| match producer.client.abort_transaction(limit) {
            Err(error) if is_fenced(&error) => Ok(true),
            other => other.map(|()| false),
        };
        let Producer { cluster, client, .. } = self.producer.as_ref();
        let aborted = cluster.ask(self.producer.heard(), "give a transaction up", abort).await;
        let told = tally.failed().is_some_and(|error| is_fenced(&error));
        let fatal = client.client().fatal_error().is_some_and(|(code, _)| FENCED.contains(&code));
        self.ended = true;
        if told || fatal || aborted.is_ok_and(|fenced| fenced) { self.lost() } else { reason }
    }

    /// Kafka takes no more for it.
    fn lost(&self) -> Error {
        lost(self.since.elapsed(), self.producer.limit)
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        let producer = Arc::clone(&self.producer);
        let abort = move || give_up(&producer);
        // Where that fails, the next that takes the id does it.
        let _ = std::thread::Builder::new().name("partwise-kafka-abort".to_owned()).spawn(abort);
    }
}

/// Tries again while brokers can't be reached, or another call on the producer isn't over yet.
fn give_up(producer: &Producer) {
    let (started, patience) = (Instant::now(), producer.cluster.patience());
    while let Err(error) = producer.client.abort_transaction(patience) {
        let busy =
            matches!(error.rdkafka_error_code(), Some(Code::Conflict | Code::PreviousInProgress));
        if !(busy || passes(&error)) || started.elapsed() > patience {
            break;
        }
        std::thread::sleep(PAUSE);
    }
}

/// A transaction's id has another owner, or its time was over: brokers say the same of both.
fn lost(open: Duration, limit: Duration) -> Error {
    if open < limit {
        return fenced();
    }
    Error::new(
        ErrorKind::Unavailable,
        format!(
            "a batch's transaction was open for {} s, and Kafka gives one up after {} s: nothing of \
             the batch is in, and a restart runs it again. 'kafka.{TIMEOUT}' gives it longer, up to \
             the broker's transaction.max.timeout.ms; a limit at the source makes batches smaller",
            open.as_secs(),
            limit.as_secs()
        ),
    )
}

fn failed(producer: &Producer, what: &str, error: &KafkaError) -> Error {
    producer.cluster.failed(&format!("{what} a transaction"), error, producer.heard())
}

#[cfg(test)]
mod tests {
    use rdkafka::mocking::MockCluster;

    use super::*;
    use crate::cluster::Cluster;
    use crate::settings::Settings;

    #[test]
    fn a_transaction_that_took_too_long_is_told_from_one_that_was_taken_over() {
        let lost = |seconds| lost(Duration::from_secs(seconds), Duration::from_secs(600));
        assert_eq!(lost(599).kind(), ErrorKind::Conflict);
        let late = lost(601).to_string();
        assert!(late.contains("'kafka.transaction.timeout.ms'"), "{late}");
        assert!(late.contains("open for 601 s") && !late.contains("another instance"), "{late}");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_transaction_that_is_dropped_is_given_up() {
        let mock = MockCluster::new(1).expect("a cluster");
        let patience = Duration::from_secs(30);
        let cluster = Cluster::new(mock.bootstrap_servers(), Settings::default(), patience);
        let producer = Arc::new(Producer::new(&cluster, Some("id")).expect("a producer"));
        producer.take_over().await.expect("the id");
        let open = Transaction::begin(&producer).expect("begun");
        assert!(Transaction::begin(&producer).is_err());
        drop(open);
        let started = Instant::now();
        while Transaction::begin(&producer).is_err() {
            assert!(started.elapsed() < patience, "still open");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
