//! Names that aren't plain, and the statement's options.

use partwise_postgres::PostgresSink;
use partwise_stream::{OutputMode, QueryDefinition, SinkDefinition, Trigger};

use crate::kit::{Lab, run};

#[tokio::test(flavor = "multi_thread")]
async fn reserved_words_and_quotes_are_names_like_others() {
    let Some(lab) = Lab::new("select; \"\"odd\"\" schéma") else { return };
    lab.pairs(&[&[(Some(1), 10), (Some(2), 5)], &[(Some(1), 1)]]);
    let sql = r#"SELECT k AS "order", sum(v) AS "a ""b"" c", count(*) FROM pairs GROUP BY k"#;
    for staging_rows in [0, 100] {
        let name = format!("it's {staging_rows}");
        let table = r#""select; ""odd"" schéma"."Table""#;
        let sink = PostgresSink::new(&lab.server.url(), table).unwrap();
        let sink = sink.staging_rows(staging_rows);
        run(lab.query(sql, &name, OutputMode::Update).await.sink(sink)).await.unwrap();
        let ask = r#"SELECT "order", "a ""b"" c", "count(*)" FROM "Table" ORDER BY 1"#;
        assert_eq!(lab.sql(ask), ["1|11|2", "2|5|1"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_with_the_names_of_the_sinks_own_are_refused() {
    let Some(lab) = Lab::new("own_names") else { return };
    lab.pairs(&[]);
    let sql = "SELECT k AS batch_id, v FROM pairs";
    let writer = lab.query(sql, "q", OutputMode::Append).await.sink(lab.sink("t"));
    let error = writer.start().await.unwrap_err().to_string();
    assert!(error.contains("batch_id") && error.contains("another with AS"), "{error}");
    let sql = format!("SELECT k AS {} FROM pairs", "x".repeat(64));
    let writer = lab.query(&sql, "p", OutputMode::Append).await.sink(lab.sink("t"));
    let error = writer.start().await.unwrap_err().to_string();
    assert!(error.contains("63 bytes"), "{error}");
    assert_eq!(lab.sql("SELECT to_regclass('t')"), ["NULL"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_makes_the_sink_by_its_options() {
    let Some(lab) = Lab::new("options") else { return };
    lab.pairs(&[&[(Some(1), 10), (Some(2), 5)], &[(Some(1), 1)]]);
    let url = lab.server.url();
    let start = async |options: &[(&str, &str)], target: Option<&str>| {
        let options = options.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let definition = QueryDefinition {
            name: "q".to_owned(),
            mode: OutputMode::Append,
            trigger: Trigger::AvailableNow,
            checkpoint: lab.path("ck"),
            sink: SinkDefinition {
                kind: "postgres".to_owned(),
                target: target.map(str::to_owned),
                keys: vec!["k".to_owned()],
                options: options.collect(),
                ..SinkDefinition::default()
            },
        };
        let frame = lab.session.sql("SELECT k, v FROM pairs").await.unwrap();
        lab.streams.start(&definition, frame).await
    };
    let (to, table) = (("url", url.as_str()), ("table", "options.Views"));
    for (options, says) in [
        (vec![to], "needs the option 'table'"),
        (vec![table], "needs the option 'url'"),
        (vec![to, table, ("colour", "red")], "no option 'colour'"),
        (vec![to, table, ("retry_seconds", "soon")], "'retry_seconds' of INTO POSTGRES is 'soon'"),
        (vec![to, table, ("staging_rows", "0")], "is '0': it is a whole number, 1 or more"),
        (vec![to, ("table", "a b")], "schema.name"),
    ] {
        let error = start(&options, None).await.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    let error = start(&[to, table], Some("views")).await.unwrap_err().to_string();
    assert!(error.contains("takes its table as an option"), "{error}");
    let options = [to, table, ("staging_rows", "1"), ("retry_seconds", "5")];
    let query = start(&options, None).await.unwrap();
    query.await_termination().await.unwrap();
    assert_eq!(lab.sql("SELECT k, v FROM views ORDER BY k"), ["1|1", "2|5"]);
}
