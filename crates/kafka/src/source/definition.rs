//! `FROM KAFKA OPTIONS ('bootstrap.servers' 'host:9092', 'topic' 'clicks', 'format' 'json')`.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::execution::context::SessionState;
use partwise_stream::source::{SourceFactory, StreamSource};
use partwise_stream::{Error, Options, Result, StreamDefinition};

use super::KafkaSource;
use super::start::Start;
use super::topic::{OWNED, Topic};
use crate::cluster::Cluster;
use crate::rows::{Format, META, OnBadRecord, RowColumns};

/// Makes sources of topics.
#[derive(Clone, Copy, Debug, Default)]
pub struct KafkaSourceFactory;

#[async_trait]
impl SourceFactory for KafkaSourceFactory {
    async fn source(
        &self,
        _state: &SessionState,
        definition: &StreamDefinition,
    ) -> Result<Arc<dyn StreamSource>> {
        Ok(Arc::new(KafkaSource::new(definition)?))
    }
}

impl KafkaSource {
    /// The source that a definition says. The brokers aren't asked before a query starts.
    ///
    /// # Errors
    /// An option that is missing, isn't known or says what can't be; columns that messages can't
    /// give.
    pub fn new(definition: &StreamDefinition) -> Result<Self> {
        let mut options = Options::new("FROM KAFKA", &definition.options);
        let cluster = Cluster::take(&mut options, &OWNED)?;
        let named = (definition.path.clone(), options.take("topic"));
        let topic = match named {
            (Some(topic), None) | (None, Some(topic)) => topic,
            (None, None) => return Err(no_topic("needs a topic")),
            (Some(_), Some(_)) => return Err(no_topic("has two topics")),
        };
        let format = options.take("format").unwrap_or_default();
        let format = if format.is_empty() { Format::default() } else { format.parse()? };
        let start = options.take("starting_offsets").map(|said| Start::of(&said)).transpose()?;
        let on_bad = options.take("on_bad_record").map(|said| said.parse()).transpose()?;
        let source = Self {
            columns: RowColumns::new(format, columns(definition, format)?)?,
            format,
            start: start.unwrap_or_default(),
            max_offsets: options.number("max_offsets_per_trigger")?,
            fail_on_data_loss: options.flag("fail_on_data_loss", true)?,
            on_bad: on_bad.unwrap_or(OnBadRecord::Fail),
            topic: Topic::new(cluster, topic),
        };
        options.end()?;
        // Settings that librdkafka doesn't take are told here, not when the query starts.
        source.topic.client()?;
        Ok(source)
    }
}

fn no_topic(why: &str) -> Error {
    Error::invalid(format!(
        "FROM KAFKA {why}: OPTIONS ('bootstrap.servers' 'host:9092', 'topic' 'clicks')"
    ))
}

fn columns(definition: &StreamDefinition, format: Format) -> Result<SchemaRef> {
    match (&definition.columns, format) {
        (Some(columns), _) => Ok(Arc::clone(columns)),
        (None, Format::Raw) => {
            let value = Field::new("value", DataType::Binary, true);
            let of_message = META.map(|meta| Field::new(meta.name(), meta.data_type(), true));
            let fields: Vec<Field> = std::iter::once(value).chain(of_message).collect();
            Ok(Arc::new(Schema::new(fields)))
        }
        (None, _) => Err(Error::invalid(format!(
            "messages don't tell their columns: declare them, CREATE STREAM {} (a BIGINT, ..) FROM \
             KAFKA ..; only format 'raw' has columns of its own",
            definition.name
        ))),
    }
}
