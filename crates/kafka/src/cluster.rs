//! How the brokers are reached: servers, settings, patience.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use partwise_stream::{Error, ErrorKind, Options, Result};
use rdkafka::ClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode as Code};

use crate::settings::Settings;

/// The option that names the brokers.
const SERVERS: &str = "bootstrap.servers";
/// How long brokers may be out of reach where nothing is said.
const PATIENCE_SECONDS: u64 = 60;
/// The longest that one request waits; then it is made again.
const ATTEMPT: Duration = Duration::from_secs(5);
/// The pauses between requests that fail grow from the first to the second.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// A cluster, and how long it may be out of reach.
#[derive(Clone)]
pub(crate) struct Cluster {
    servers: String,
    settings: Settings,
    patience: Duration,
}

impl Cluster {
    pub fn new(servers: String, settings: Settings, patience: Duration) -> Self {
        Self { servers, settings, patience }
    }

    /// The cluster that options name.
    ///
    /// # Errors
    /// No servers; a setting that isn't a user's to make.
    pub fn take(options: &mut Options, owned: &[&'static str]) -> Result<Self> {
        let mut settings = Settings::take(options, owned)?;
        let servers = match settings.remove(SERVERS) {
            Some(servers) => options.take(SERVERS).unwrap_or(servers),
            None => options.need(SERVERS, "host:9092")?,
        };
        let patience = options.number("timeout_seconds")?.unwrap_or(PATIENCE_SECONDS);
        Ok(Self::new(servers, settings, Duration::from_secs(patience)))
    }

    /// Where it is: the list of its brokers.
    pub fn servers(&self) -> &str {
        &self.servers
    }

    /// How long it may be out of reach.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// The settings of a client: what is preset, and what was said over it.
    pub fn config(&self, preset: &[(&str, &str)]) -> ClientConfig {
        let mut config = ClientConfig::new();
        config.set("client.id", "partwise");
        config.set("topic.metadata.refresh.interval.ms", "30000");
        for (name, value) in preset.iter().copied().chain(self.settings.iter()) {
            config.set(name, value);
        }
        config.set(SERVERS, &self.servers);
        config
    }

    /// Runs a request until it is answered, again and again while the brokers can't be reached.
    ///
    /// # Errors
    /// What the brokers say; `Unavailable` when the patience is at its end.
    pub async fn ask<T, F>(&self, heard: &Heard, doing: &str, request: F) -> Result<T>
    where
        T: Send + 'static,
        F: Fn(Duration) -> KafkaResult<T> + Send + Sync + 'static,
    {
        let (started, request) = (Instant::now(), Arc::new(request));
        let mut pause = PAUSES.0;
        loop {
            let left = self.patience.saturating_sub(started.elapsed());
            let (once, limit) = (Arc::clone(&request), left.min(ATTEMPT).max(PAUSES.0));
            let answer = blocking(move || once(limit)).await?;
            match answer {
                Ok(answer) => return Ok(answer),
                Err(error) if !passes(&error) => return Err(self.failed(doing, &error, heard)),
                Err(error) if left <= pause => return Err(self.gave_up(doing, &error, heard)),
                Err(_) => tokio::time::sleep(pause).await,
            }
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// The brokers were out of reach for too long.
    pub fn gave_up(&self, doing: &str, error: &KafkaError, heard: &Heard) -> Error {
        let seconds = self.patience.as_secs();
        Error::new(
            ErrorKind::Unavailable,
            format!(
                "can't {doing}: Kafka at {} couldn't be reached for {seconds} s: {}. When it is up \
                 again, a restart goes on from here; 'timeout_seconds' has a query wait longer",
                self.servers,
                heard.or(error)
            ),
        )
    }

    /// The brokers say no.
    pub fn failed(&self, doing: &str, error: &KafkaError, heard: &Heard) -> Error {
        let kind = match error {
            KafkaError::ClientConfig(_, why, name, _) => {
                return Error::invalid(Settings::refused(name, why));
            }
            error if passes(error) => ErrorKind::Unavailable,
            _ => ErrorKind::Invalid,
        };
        Error::new(kind, format!("can't {doing} (Kafka at {}): {}", self.servers, heard.or(error)))
    }
}

/// Without the settings' values, some of which are secrets.
impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster")
            .field("servers", &self.servers)
            .field("settings", &self.settings)
            .field("patience", &self.patience)
            .finish()
    }
}

/// What a client was told of its connections last: why it is that nothing comes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard(Arc<Mutex<Option<String>>>);

impl Heard {
    fn or(&self, error: &KafkaError) -> String {
        let heard = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let code = error.rdkafka_error_code().map(|code| code.to_string());
        let said = code.unwrap_or_else(|| error.to_string());
        match heard.filter(|_| passes(error)) {
            Some(heard) => format!("{said} ({heard})"),
            None => said,
        }
    }
}

impl ClientContext for Heard {
    fn error(&self, _: KafkaError, reason: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
    }
}

impl rdkafka::consumer::ConsumerContext for Heard {}

/// Whether an error may pass by itself: brokers that restart, leaders that move.
pub(crate) fn passes(error: &KafkaError) -> bool {
    let code = match error {
        KafkaError::Transaction(error) if error.is_retriable() => return true,
        error => error.rdkafka_error_code(),
    };
    code.is_some_and(|code| {
        matches!(
            code,
            Code::AllBrokersDown
                | Code::BrokerDestroy
                | Code::BrokerNotAvailable
                | Code::BrokerTransportFailure
                | Code::CoordinatorLoadInProgress
                | Code::CoordinatorNotAvailable
                | Code::LeaderNotAvailable
                | Code::MessageTimedOut
                | Code::NetworkException
                | Code::NotCoordinator
                | Code::NotEnoughReplicas
                | Code::NotLeaderForPartition
                | Code::OffsetNotAvailable
                | Code::OperationTimedOut
                | Code::QueueFull
                | Code::RequestTimedOut
                | Code::Resolve
                | Code::TimedOutQueue
                | Code::WaitingForCoordinator
        )
    })
}

/// Runs what waits for the network on a thread for that.
///
/// # Errors
/// A panic of it.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|cause| Error::internal(format!("a Kafka client's thread: {cause}")))
}
