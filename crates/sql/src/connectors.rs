//! The connectors that this build has; of the others, how to get them.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::execution::context::{SessionContext, SessionState};
use partwise_stream::sink::{Sink, SinkFactory};
use partwise_stream::source::{SourceFactory, StreamSource};
use partwise_stream::{Error, Result, SinkDefinition, StreamContext, StreamDefinition};

/// A connector: its kind in SQL, its name, its cargo feature.
const CONNECTORS: [[&str; 3]; 3] = [
    ["KAFKA", "Kafka", "kafka"],
    ["POSTGRES", "PostgreSQL", "postgres"],
    ["DELTA", "Delta Lake", "delta"],
];

/// Makes the connectors known to a session.
pub(crate) fn register(streams: &StreamContext) {
    for [kind, name, feature] in CONNECTORS {
        let missing = Arc::new(NotBuiltIn { name, feature });
        streams.register_source(kind, Arc::clone(&missing) as _);
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
