//! Kafka topics as sources and sinks of streaming queries.
//!
//! ```text
//!   CREATE STREAM .. FROM KAFKA                      START QUERY .. INTO KAFKA
//!
//!   topic    what each partition holds now            rows of batch n
//!      |  offsets   from/until of each: exact            |  encode    key, value, headers
//!      v                                                 v
//!   checkpoint: offsets/<n>                           producer   idempotent, acks=all
//!      |  scan      partitions dealt out to tasks        |  at least once: all acknowledged
//!      |  span      messages from .. until               |  transactional: + the ledger's entry,
//!      |  rows      json, csv, raw -> Arrow               |     committed together
//!      v                                                 v
//!   the query                                         topic
//! ```
//!
//! [`register`] gives a session both. TLS is behind the crate's feature `ssl`.
//!
//! # The source
//!
//! ```sql
//! CREATE STREAM clicks (user_id BIGINT, page STRING, ts TIMESTAMP, _offset BIGINT,
//!                       WATERMARK FOR ts AS ts - INTERVAL '10 minutes')
//!   FROM KAFKA OPTIONS ('bootstrap.servers' 'host:9092', 'topic' 'clicks', 'format' 'json');
//! ```
//! Columns of these names are of the message, all others of its value: `_key` (STRING or BYTEA),
//! `_topic`, `_partition`, `_offset`, `_timestamp` and `_headers` (STRING: a JSON object, the last
//! of a name counts). A message without a value is a row whose other columns are NULL. A number that
//! its column can't hold as it is, 1.9 for a BIGINT, makes the message a bad record; a FLOAT or DOUBLE
//! takes the texts `NaN`, `Infinity` and `-Infinity` too.
//!
//! | option | what it says |
//! |---|---|
//! | `format` | `json`, one object (if nothing is said); `csv`, one record; `raw`, one column of text or bytes |
//! | `starting_offsets` | `earliest` (if nothing is said), `latest`, or by partition `{"0": 17, "1": -2}` |
//! | `max_offsets_per_trigger` | the most offsets of a batch, shared by what each partition has |
//! | `on_bad_record` | a message that is no row: `fail` (if nothing is said), `null` (NULL for its value, or for what else of it doesn't fit), `skip`; counted in a batch's progress |
//! | `fail_on_data_loss` | `false` goes on where input is gone before it was read: where a partition begins after the position, from there; where it ends before it, **from its first offset again**, as a topic that was made anew looks the same as one that lost its end |
//! | `timeout_seconds` | how long brokers may be out of reach: 60 |
//! | `kafka.<setting>` | librdkafka's settings; transactions are read when committed unless `kafka.isolation.level` says otherwise |
//!
//! # The sink
//!
//! ```sql
//! START QUERY views OUTPUT MODE update TRIGGER EVERY '5 seconds' CHECKPOINT 'ck/views/'
//!   INTO KAFKA OPTIONS ('bootstrap.servers' 'host:9092', 'topic' 'views', 'transactional' 'true')
//!   AS SELECT page, count(*) AS views FROM clicks GROUP BY page;
//! ```
//! A row's value is the row as a JSON object, in which NaN and the infinities are the texts `"NaN"`,
//! `"Infinity"` and `"-Infinity"`; its key are the group columns, or what `KEYS (..)` or
//! the option `key` names: one column of text as it is, others as a JSON object. A key of one text
//! that is NULL is no key. With format `raw`, the query's columns `key`, `value`, `headers` (a JSON
//! object) and `topic` are what they say; a `value` that is NULL deletes what has the key.
//!
//! | mode | messages of a batch |
//! |---|---|
//! | append | its rows |
//! | update | the groups that changed: for a topic that is compacted, the last of a key is its value |
//! | complete | all groups |
//!
//! # Guarantees
//!
//! - The source reads exactly the offsets of a batch, however they were produced: gaps of compaction
//!   and of transactions end nothing early, and what arrives later isn't read. What is gone is an
//!   error that names it.
//! - The sink's messages are acknowledged by all replicas before a batch counts as written.
//! - At least once: a batch that is run again sends its messages again. Each carries the headers
//!   `partwise.query`, `partwise.batch` and `partwise.row`, the same each time, by which a consumer
//!   can leave repeats out.
//! - `transactional`: a batch is one transaction, with an entry in the ledger, a compacted topic
//!   (`ledger`, else `partwise_ledger`), in its partition 0. A batch that the ledger has isn't sent
//!   again, and an instance that was replaced can't commit. A start waits for transactions that other
//!   queries have open in the same ledger. Consumers have to read with `read_committed`.
//! - A checkpoint is tied to the topic and the format, not to the servers' addresses.
//! - Secrets among the settings are in no error, description or debug output.
//!
//! # Known limits
//!
//! - A topic that is deleted and made anew with as many messages isn't noticed.
//! - Exactly once is as good as the broker's transactions: it has to hide what was aborted.
//! - A batch has to be run within `kafka.transaction.timeout.ms`, ten minutes if nothing is said.
//! - Without `transactional`, a topic doesn't know whose messages it has: a query that is started with
//!   a new checkpoint sends them all again.
//! - Messages are read from partition leaders. No consumer group is joined; `kafka.group.id` is what
//!   brokers with access lists know the reader by, `partwise` if nothing is said.
#![deny(missing_docs)]

mod cluster;
mod rows;
mod settings;
pub mod sink;
pub mod source;

use std::sync::Arc;

use partwise_stream::StreamContext;

pub use sink::{KafkaSink, KafkaSinkFactory};
pub use source::{KafkaSource, KafkaSourceFactory};

/// Has a session know `FROM KAFKA` and `INTO KAFKA`.
pub fn register(streams: &StreamContext) {
    streams.register_source("KAFKA", Arc::new(KafkaSourceFactory));
    streams.register_sink("KAFKA", Arc::new(KafkaSinkFactory));
}
