//! `INTO KAFKA OPTIONS ('bootstrap.servers' 'host:9092', 'topic' 'views', 'format' 'json')`.

use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::execution::context::SessionContext;
use partwise_stream::sink::{Sink, SinkFactory};
use partwise_stream::{Error, Options, Result, SinkDefinition};

use super::KafkaSink;
use super::producer;
use crate::cluster::Cluster;
use crate::source;

/// The topic of the ledger where nothing else is said.
const LEDGER: &str = "partwise_ledger";

/// Makes sinks of topics.
#[derive(Clone, Copy, Debug, Default)]
pub struct KafkaSinkFactory;

#[async_trait]
impl SinkFactory for KafkaSinkFactory {
    async fn sink(&self, _: &SessionContext, definition: &SinkDefinition) -> Result<Arc<dyn Sink>> {
        Ok(Arc::new(KafkaSink::new(definition)?))
    }
}

/// What messages are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum OutFormat {
    /// The value is the row as a JSON object, the key the key columns.
    #[default]
    Json,
    /// The query's columns `key`, `value`, `headers` and `topic` are what they say.
    Raw,
}

impl OutFormat {
    pub fn name(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Raw => "raw",
        }
    }
}

impl FromStr for OutFormat {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.to_ascii_lowercase().as_str() {
            "json" => Ok(Self::Json),
            "raw" => Ok(Self::Raw),
            _ => Err(Error::invalid(format!(
                "format '{text}': rows become messages as json, or as raw where the query gives \
                 columns key, value, headers and topic"
            ))),
        }
    }
}

impl KafkaSink {
    /// The sink that a definition says. The brokers aren't asked before a query starts.
    ///
    /// # Errors
    /// An option that is missing, isn't known or says what can't be.
    pub fn new(definition: &SinkDefinition) -> Result<Self> {
        if !definition.partitioned_by.is_empty() {
            return Err(Error::invalid(
                "INTO KAFKA has no PARTITIONED BY: a message's key chooses its partition",
            ));
        }
        let mut options = Options::new("INTO KAFKA", &definition.options);
        // The ledger's reader has the same settings.
        let owned = [&producer::OWNED[..], &source::OWNED, &[source::ISOLATION]].concat();
        let cluster = Cluster::take(&mut options, &owned)?;
        let format = options.take("format").map(|said| said.parse()).transpose()?;
        let format: OutFormat = format.unwrap_or_default();
        let topic = match (definition.target.clone(), options.take("topic")) {
            (Some(_), Some(_)) => return Err(Error::invalid("INTO KAFKA has two topics")),
            (target, topic) => target.or(topic),
        };
        if topic.is_none() && format == OutFormat::Json {
            return Err(Error::invalid("INTO KAFKA needs a topic: OPTIONS ('topic' 'views')"));
        }
        let keys = keys(definition, options.take("key"))?;
        if format == OutFormat::Raw && !keys.is_empty() {
            return Err(Error::invalid(
                "format 'raw' takes the key from the query's column `key`: leave KEYS out",
            ));
        }
        let transactional = options.flag("transactional", false)?;
        let ledger = options.take("ledger");
        if ledger.is_some() && !transactional {
            return Err(Error::invalid("'ledger' goes with 'transactional' 'true'"));
        }
        options.end()?;
        let ledger = transactional.then(|| ledger.unwrap_or_else(|| LEDGER.to_owned()));
        Ok(Self::of(cluster, topic, format, keys, ledger))
    }
}

/// The columns of the message's key: `KEYS (..)`, or the option `key`.
fn keys(definition: &SinkDefinition, option: Option<String>) -> Result<Vec<String>> {
    match (definition.keys.as_slice(), option) {
        (keys, None) => Ok(keys.to_vec()),
        ([], Some(list)) => {
            let names = list.split(',').map(|name| name.trim().to_owned());
            Ok(names.filter(|name| !name.is_empty()).collect())
        }
        (_, Some(_)) => Err(Error::invalid("INTO KAFKA has both KEYS and the option 'key'")),
    }
}
