//! The connectors that this build has; of the others, how to get them.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::execution::context::{SessionContext, SessionState};
use partwise_stream::sink::{Sink, SinkFactory};
use partwise_stream::source::{SourceFactory, StreamSource};
use partwise_stream::{Error, Result, SinkDefinition, StreamContext, StreamDefinition};

/// A connector, built in or not.
struct Connector {
    /// Its kind in SQL.
    kind: &'static str,
    name: &'static str,
    /// The cargo feature that builds it in.
    feature: &'static str,
    /// Whether there is a FROM of its kind, beside the INTO.
    is_source: bool,
    /// Makes it known; none: it isn't built in.
    register: Option<fn(&StreamContext)>,
}

const CONNECTORS: [Connector; 3] = [
    Connector {
        kind: "KAFKA",
        name: "Kafka",
        feature: "kafka",
        is_source: true,
        #[cfg(feature = "kafka")]
        register: Some(partwise_kafka::register),
        #[cfg(not(feature = "kafka"))]
        register: None,
    },
    Connector {
        kind: "POSTGRES",
        name: "PostgreSQL",
        feature: "postgres",
        is_source: false,
        #[cfg(feature = "postgres")]
        register: Some(partwise_postgres::register),
        #[cfg(not(feature = "postgres"))]
        register: None,
    },
    Connector {
        kind: "DELTA",
        name: "Delta Lake",
        feature: "delta",
        is_source: false,
        #[cfg(feature = "delta")]
        register: Some(partwise_delta::register),
        #[cfg(not(feature = "delta"))]
        register: None,
    },
];

/// Makes the connectors known to a session.
pub(crate) fn register(streams: &StreamContext) {
    for Connector { kind, name, feature, is_source, register } in CONNECTORS {
        if let Some(register) = register {
            register(streams);
            continue;
        }
        let missing = Arc::new(NotBuiltIn { name, feature });
        if is_source {
            streams.register_source(kind, Arc::clone(&missing) as _);
        }
        streams.register_sink(kind, missing);
    }
}

/// Stands in the place of a connector.
#[derive(Debug)]
struct NotBuiltIn {
    name: &'static str,
    feature: &'static str,
}

impl NotBuiltIn {
    fn error(&self, clause: &str, kind: &str) -> Error {
        let Self { name, feature } = self;
        Error::unsupported(format!(
            "{clause} {kind}: this build has no {name}: build with --features {feature} (or full)"
        ))
    }
}

#[async_trait]
impl SourceFactory for NotBuiltIn {
    async fn source(
        &self,
        _: &SessionState,
        definition: &StreamDefinition,
    ) -> Result<Arc<dyn StreamSource>> {
        Err(self.error("FROM", &definition.kind))
    }
}

#[async_trait]
impl SinkFactory for NotBuiltIn {
    async fn sink(&self, _: &SessionContext, definition: &SinkDefinition) -> Result<Arc<dyn Sink>> {
        Err(self.error("INTO", &definition.kind))
    }
}
