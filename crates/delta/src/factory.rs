//! From `INTO DELTA OPTIONS (..) PARTITIONED BY (..) KEYS (..)` to a sink.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::execution::context::SessionContext;
use partwise_commit::is_store_option;
use partwise_stream::sink::{Sink, SinkFactory};
use partwise_stream::{Error, Options, Result, SinkDefinition};

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
        let mut options = Options::new("INTO DELTA", &definition.options);
        let location = options.need("location", "<path or address>")?;
        let stores = "those of an object store, such as aws.endpoint";
        let settings = options.take_all(stores, is_store_option);
        options.end()?;
        let sink = DeltaSink::new(&location, &settings)?
            .partition_by(&definition.partitioned_by)
            .with_keys(&definition.keys);
        Ok(Arc::new(sink))
    }
}
