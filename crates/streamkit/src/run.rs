//! Queries to their end, and stopped on the way.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use partwise_stream::{Error, Result, Step, StreamQuery, StreamWriter};

/// Starts that [`until_done`] gives a query.
const MAX_STARTS: usize = 500;

/// Runs a query to its end.
///
/// # Errors
/// Those of the start, or what the query failed with.
pub async fn run(writer: StreamWriter) -> Result<StreamQuery> {
    let query = writer.start().await?;
    query.await_termination().await?;
    Ok(query)
}

/// Starts a query until nothing stops it any more: it is stopped once before each step of each
/// batch. How often it was.
pub async fn until_done(mut writer: impl AsyncFnMut() -> StreamWriter) -> usize {
    let had: Arc<Mutex<HashSet<(u8, u64)>>> = Arc::default();
    for stops in 0..MAX_STARTS {
        let had = Arc::clone(&had);
        let stopping = writer().await.before_each_step(move |step: Step, batch| {
            match had.lock().expect("no panic").insert((step as u8, batch)) {
                true => Err(Error::internal(format!("stopped before {step:?} of {batch}"))),
                false => Ok(()),
            }
        });
        match run(stopping).await {
            Ok(_) => return stops,
            Err(error) => assert!(error.to_string().contains("stopped before"), "{error}"),
        }
    }
    panic!("the query never ends");
}
