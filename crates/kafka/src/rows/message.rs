//! [`Message`]: what is kept of a message until its row is made.

use rdkafka::message::{BorrowedMessage, Headers, Message as _};

/// Which parts of messages are needed besides their values.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub key: bool,
    pub headers: bool,
}

/// A message out of the client's hands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Message {
    pub offset: i64,
    /// Milliseconds since 1970, UTC.
    pub timestamp: Option<i64>,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    /// A JSON object.
    pub headers: Option<String>,
}

impl Message {
    pub fn of(message: &BorrowedMessage<'_>, wanted: Wanted) -> Self {
        Self {
            offset: message.offset(),
            timestamp: message.timestamp().to_millis(),
            key: message.key().filter(|_| wanted.key).map(<[u8]>::to_vec),
            value: message.payload().map(<[u8]>::to_vec),
            headers: message.headers().filter(|_| wanted.headers).map(as_json),
        }
    }

    /// The memory that it takes, roughly.
    pub fn bytes(&self) -> usize {
        let parts = [&self.key, &self.value].map(|part| part.as_ref().map_or(0, Vec::len));
        parts[0] + parts[1] + self.headers.as_ref().map_or(0, String::len) + size_of::<Self>()
    }
}

/// The last of a name counts, as it does for Kafka's own clients; bytes that are no text are
/// replaced.
fn as_json(headers: &impl Headers) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let named = headers.iter().map(|header| (header.key.to_owned(), header.value.map(text).into()));
    serde_json::Value::Object(named.collect()).to_string()
}
