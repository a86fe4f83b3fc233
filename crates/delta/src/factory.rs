//! From `INTO DELTA OPTIONS (..) PARTITIONED BY (..) KEYS (..)` to a sink.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::execution::context::SessionContext;
use partwise_commit::is_store_option;
use partwise_stream::sink::{Sink, SinkFactory};
use partwise_stream::{Error, Result, SinkDefinition};

use crate::DeltaSink;

/// Makes the sinks of `INTO DELTA`.
#[derive(Clone, Copy, Debug, Default)]
pub struct DeltaFactory;

#[async_trait]
impl SinkFactory for DeltaFactory {
    async fn sink(&self, _: &SessionContext, definition: &SinkDefinition) -> Result<Arc<dyn Sink>> {
        if definition.target.is_some() {
            return Err(Error::invalid(
                "INTO DELTA takes its table as an option: OPTIONS ('location' '<path or address>')",
            ));
        }
        let mut settings = definition.options.clone();
        let Some(location) = settings.remove("location") else {
            return Err(Error::invalid(
                "INTO DELTA needs OPTIONS ('location' '<path or address>')",
            ));
        };
        if let Some(name) = settings.keys().find(|name| !is_store_option(name)) {
            return Err(Error::invalid(format!(
                "INTO DELTA has no option {name}: there are location, and those of an object store \
                 such as aws.endpoint"
            )));
        }
        let sink = DeltaSink::new(&location, &settings)?
            .partition_by(&definition.partitioned_by)
            .with_keys(&definition.keys);
        Ok(Arc::new(sink))
    }
}
