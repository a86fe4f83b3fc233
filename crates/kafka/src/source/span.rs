//! [`SpanReader`]: exactly the messages of one span of a partition.

use std::time::{Duration, Instant};

use partwise_stream::{Error, ErrorKind, Result};
use rdkafka::consumer::Consumer;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::{Offset, TopicPartitionList};

use super::offsets::{Held, Loss, Span};
use super::topic::{Client, Topic, held_by};
use crate::cluster::passes;

/// How long one poll waits.
const POLL: Duration = Duration::from_millis(100);
/// After so long without a message, the broker is asked what the partition holds.
const DOUBT: Duration = Duration::from_secs(5);

/// Reads a span, message by message.
pub(crate) struct SpanReader<'a> {
    pub topic: &'a Topic,
    pub client: &'a Client,
    pub partition: i32,
    pub span: Span,
    /// Input that is gone is an error.
    pub fail_on_data_loss: bool,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    On,
    Stop,
}

/// What a poll came to.
enum Polled {
    Moved,
    Nothing,
    End,
}

impl SpanReader<'_> {
    /// Gives each message to `each`, until the span is read or `each` has enough; `idle` is asked
    /// while there are none.
    ///
    /// # Errors
    /// Input that is gone; brokers that are out of reach for too long; what `each` fails with.
    pub fn read(
        mut self,
        each: &mut dyn FnMut(&BorrowedMessage<'_>) -> Result<Flow>,
        idle: &dyn Fn() -> Flow,
    ) -> Result<()> {
        self.assign()?;
        let (mut moved, mut asked) = (Instant::now(), Instant::now());
        while self.span.offsets() > 0 && idle() == Flow::On {
            match self.poll(each)? {
                Polled::Moved => moved = Instant::now(),
                Polled::End => break,
                Polled::Nothing if moved.elapsed() > self.topic.cluster().patience() => {
                    return Err(self.gave_up());
                }
                Polled::Nothing if moved.elapsed().min(asked.elapsed()) > DOUBT => {
                    self.ask()?;
                    asked = Instant::now();
                }
                Polled::Nothing => {}
            }
        }
        let emptied = self.client.unassign();
        emptied.map_err(|error| self.failed(&error))
    }

    fn assign(&self) -> Result<()> {
        let mut list = TopicPartitionList::with_capacity(1);
        let from = Offset::Offset(self.span.from);
        list.add_partition_offset(self.topic.name(), self.partition, from)
            .and_then(|()| self.client.assign(&list))
            .map_err(|error| self.failed(&error))
    }

    fn poll(
        &mut self,
        each: &mut dyn FnMut(&BorrowedMessage<'_>) -> Result<Flow>,
    ) -> Result<Polled> {
        match self.client.poll(POLL) {
            None => Ok(Polled::Nothing),
            Some(Ok(message)) => self.take(&message, each),
            Some(Err(KafkaError::PartitionEOF(_))) => self.at_end(),
            Some(Err(error)) => match error.rdkafka_error_code() {
                Some(Code::OffsetOutOfRange | Code::AutoOffsetReset) => {
                    self.ask()?;
                    Ok(Polled::Nothing)
                }
                Some(_) if passes(&error) => Ok(Polled::Nothing),
                _ => Err(self.failed(&error)),
            },
        }
    }

    fn take(
        &mut self,
        message: &BorrowedMessage<'_>,
        each: &mut dyn FnMut(&BorrowedMessage<'_>) -> Result<Flow>,
    ) -> Result<Polled> {
        let offset = message.offset();
        if message.partition() != self.partition {
            // On its way since the client read another one.
            return Ok(Polled::Nothing);
        }
        if offset >= self.span.until {
            return Ok(Polled::End);
        }
        if offset >= self.span.from {
            self.span.from = offset + 1;
            if each(message)? == Flow::Stop {
                return Ok(Polled::End);
            }
        }
        Ok(Polled::Moved)
    }

    /// The broker has no more for now. The client's position is behind all it was given, gaps
    /// included: it decides whether the span is read.
    fn at_end(&self) -> Result<Polled> {
        let positions = self.client.position().map_err(|error| self.failed(&error))?;
        let found = positions.find_partition(self.topic.name(), self.partition);
        let position = found.map(|found| found.offset());
        let past = matches!(position, Some(Offset::Offset(at)) if at >= self.span.until);
        Ok(if past { Polled::End } else { Polled::Nothing })
    }

    /// Asks the broker whether it has the rest of the span.
    fn ask(&mut self) -> Result<()> {
        let asked = held_by(self.client, self.topic.name(), self.partition, DOUBT);
        let held = match asked {
            Ok(held) => Some(held),
            Err(error) if error.rdkafka_error_code() == Some(Code::UnknownPartition) => None,
            // The loop's patience says when it is enough.
            Err(_) => return Ok(()),
        };
        let Span { from, until } = self.span;
        if held.is_some_and(|held| held.low <= from && held.high >= until) {
            return self.assign();
        }
        let loss = Loss { partition: self.partition, next: from, held };
        if self.fail_on_data_loss {
            return Err(lost(self.topic, &loss, Some(self.span)));
        }
        self.span = what_is_left(self.span, held);
        self.assign()
    }

    fn failed(&self, error: &KafkaError) -> Error {
        self.topic.cluster().failed(&self.doing(), error, self.client.context())
    }

    fn gave_up(&self) -> Error {
        let timed_out = KafkaError::MessageConsumption(Code::OperationTimedOut);
        self.topic.cluster().gave_up(&self.doing(), &timed_out, self.client.context())
    }

    fn doing(&self) -> String {
        let (topic, Span { from, until }) = (self.topic.name(), self.span);
        format!(
            "read offsets {from} to {until} of the topic '{topic}', partition {}",
            self.partition
        )
    }
}

/// The part of a span that a partition still holds.
fn what_is_left(span: Span, held: Option<Held>) -> Span {
    let empty = Span { from: span.until, ..span };
    let Some(held) = held else { return empty };
    let from = span.from.max(held.low);
    let until = span.until.min(held.high);
    if from < until { Span { from, until } } else { empty }
}

/// Input that is gone.
pub(super) fn lost(topic: &Topic, loss: &Loss, span: Option<Span>) -> Error {
    let Loss { partition, next, held } = loss;
    let name = topic.name();
    let why = match held {
        None => "the partition is gone: the topic was deleted or made anew".to_owned(),
        Some(held) if held.low > *next => {
            format!("it begins at offset {}: retention removed what was not read yet", held.low)
        }
        Some(held) => format!(
            "it ends before offset {}: the topic was made anew, or a broker lost what it had",
            held.high
        ),
    };
    let wanted = match span {
        Some(span) => format!("offsets {next} to {}", span.until),
        None => format!("offset {next}"),
    };
    Error::new(
        ErrorKind::Refused,
        format!(
            "{wanted} of the topic '{name}', partition {partition}, can't be read: {why}. \
             OPTIONS ('fail_on_data_loss' 'false') goes on with what is there; a new CHECKPOINT \
             with a new sink starts over"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_a_span_is_what_is_there() {
        let span = Span { from: 10, until: 20 };
        let left = |low, high| what_is_left(span, Some(Held { low, high }));
        assert_eq!(left(0, 30), span);
        assert_eq!(left(15, 18), Span { from: 15, until: 18 });
        for gone in [left(25, 30), left(0, 5), what_is_left(span, None)] {
            assert_eq!(gone.offsets(), 0);
        }
    }
}
