//! What is refused, and that secrets stay where they are.

use partwise_kafka::{KafkaSink, KafkaSource};
use partwise_stream::sink::Sink;
use partwise_stream::source::StreamSource;
use partwise_stream::{ErrorKind, MemorySink, OutputMode, SinkDefinition, StreamDefinition};

use crate::kit::{Lab, clicks_of, mock, put, run, schema, sink, sink_definition};
use datafusion::arrow::datatypes::DataType;

fn stream(options: &[(&str, &str)]) -> StreamDefinition {
    let columns = schema(&[("n", DataType::Int64)]);
    let definition = StreamDefinition::new("s", "KAFKA").columns(columns);
    options.iter().fold(definition, |definition, (name, value)| definition.option(*name, *value))
}

const GOOD: [(&str, &str); 2] = [("bootstrap.servers", "127.0.0.1:1"), ("topic", "t")];

fn source_error(more: &[(&str, &str)]) -> String {
    let options: Vec<_> = GOOD.iter().chain(more).copied().collect();
    KafkaSource::new(&stream(&options)).map(|source| source.describe()).unwrap_err().to_string()
}

fn sink_error(definition: &SinkDefinition) -> String {
    KafkaSink::new(definition).map(|sink| sink.describe()).unwrap_err().to_string()
}

#[test]
fn options_of_a_source_are_checked() {
    for (options, said) in
        [(&[][..], "needs the option 'bootstrap.servers'"), (&[GOOD[0]][..], "needs a topic")]
    {
        let error = KafkaSource::new(&stream(options)).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
    for (option, said) in [
        (("offsets", "x"), "no option 'offsets'; it has bootstrap.servers"),
        (("format", "avro"), "json, csv or raw"),
        (("starting_offsets", "soon"), "earliest, latest or an offset for each partition"),
        (("max_offsets_per_trigger", "0"), "1 or more"),
        (("on_bad_record", "drop"), "fail, null or skip"),
        (("fail_on_data_loss", "maybe"), "true or false"),
        (("kafka.auto.offset.reset", "latest"), "set by the connector"),
        (("kafka.client.rack", "a"), "set by the connector"),
        (("kafka.no.such.setting", "1"), "kafka.no.such.setting"),
    ] {
        let error = source_error(&[option]);
        assert!(error.contains(said), "{option:?}: {error}");
    }
    let columns = schema(&[("_offset", DataType::Boolean), ("n", DataType::Int64)]);
    let bad = stream(&GOOD).columns(schema(&[("_headers", DataType::Binary)]));
    assert!(KafkaSource::new(&bad).is_ok());
    let two = stream(&GOOD).option("format", "raw").columns(columns);
    assert!(KafkaSource::new(&two).is_err());
    let mut none = stream(&GOOD);
    none.columns = None;
    let error = KafkaSource::new(&none).unwrap_err().to_string();
    assert!(error.contains("declare them"), "{error}");
}

#[test]
fn options_of_a_sink_are_checked() {
    for (option, said) in [
        (("format", "csv"), "json, or as raw"),
        (("ledger", "l"), "goes with 'transactional'"),
        (("kafka.acks", "1"), "set by the connector"),
        (("kafka.isolation.level", "read_uncommitted"), "set by the connector"),
        (("kafka.enable.partition.eof", "false"), "set by the connector"),
        (("kafka.auto.offset.reset", "latest"), "set by the connector"),
        (("mode", "x"), "no option 'mode'"),
    ] {
        let error = sink_error(&sink_definition("127.0.0.1:1", "t", &[option]));
        assert!(error.contains(said), "{option:?}: {error}");
    }
    let mut parted = sink_definition("127.0.0.1:1", "t", &[]);
    parted.partitioned_by = vec!["day".to_owned()];
    assert!(sink_error(&parted).contains("key chooses its partition"));
}

#[test]
fn tls_needs_its_feature_and_secrets_stay_where_they_are() {
    let secrets = [
        ("kafka.security.protocol", "sasl_plaintext"),
        ("kafka.sasl.mechanism", "PLAIN"),
        ("kafka.sasl.username", "me"),
        ("kafka.sasl.password", "hunter2"),
    ];
    let options: Vec<_> = GOOD.iter().chain(&secrets).copied().collect();
    let definition = stream(&options);
    let source = KafkaSource::new(&definition).unwrap();
    let into = sink_definition("127.0.0.1:1", "t", &secrets);
    let sink = KafkaSink::new(&into).unwrap();
    let shown = [
        format!("{source:?} {}", source.describe()),
        format!("{sink:?} {}", sink.describe()),
        format!("{definition:?} {into:?}"),
    ];
    assert!(shown.iter().all(|shown| !shown.contains("hunter2")), "{shown:?}");
    assert_eq!(source.describe(), "KAFKA 't' at 127.0.0.1:1 (json)");
    // A value that librdkafka doesn't take isn't repeated.
    let error = source_error(&[("kafka.ssl.key.password", "hunter2"), ("kafka.ssl.key.pem", "x")]);
    assert!(!error.contains("hunter2"), "{error}");
    if !cfg!(feature = "ssl") {
        let error = source_error(&[("kafka.security.protocol", "SASL_SSL")]);
        assert!(error.contains("feature `ssl`"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_isnt_there_is_named() {
    let (_mock, servers) = mock("else", 1);
    let lab = Lab::new();
    lab.clicks(&servers, &[]).await.unwrap();
    let sql = "SELECT n FROM clicks";
    let writer = lab.query(sql, "q", OutputMode::Append).await.sink(MemorySink::new("m"));
    let error = run(writer).await.unwrap_err();
    assert!(error.to_string().contains("no topic 'clicks'"), "{error}");
    let writer = lab.query(sql, "r", OutputMode::Append).await;
    let error = writer.sink(sink(&servers, "nowhere", &[])).start().await.unwrap_err();
    assert!(error.to_string().contains("no topic 'nowhere'"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_belongs_to_a_topic_whatever_the_limits() {
    let (mock, servers) = mock("clicks", 1);
    mock.create_topic("a", 1, 1).unwrap();
    mock.create_topic("b", 1, 1).unwrap();
    let lab = Lab::new();
    lab.clicks(&servers, &[]).await.unwrap();
    let writer = async |topic| {
        let writer = lab.query("SELECT n FROM clicks", "q", OutputMode::Append).await;
        writer.sink(sink(&servers, topic, &[]))
    };
    put(&servers, "clicks", 0, &clicks_of(0..3));
    run(writer("a").await).await.unwrap();
    lab.clicks_again(&servers, &[("max_offsets_per_trigger", "3"), ("timeout_seconds", "9")]).await;
    run(writer("a").await).await.unwrap();
    let error = writer("b").await.start().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    // The same cluster by another name.
    let (_, port) = servers.rsplit_once(':').unwrap();
    let renamed = format!("localhost:{port}");
    lab.clicks_again(&renamed, &[]).await;
    let writer_of = lab.query("SELECT n FROM clicks", "q", OutputMode::Append).await;
    run(writer_of.sink(sink(&renamed, "a", &[]))).await.unwrap();
    lab.clicks_again(&servers, &[("format", "csv")]).await;
    let error = writer("a").await.start().await.unwrap_err();
    assert!(error.to_string().contains("its source"), "{error}");
}
