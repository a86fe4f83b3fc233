//! Files of each format, and rows by the clock.

use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use partwise_stream::{MemorySink, OutputMode, StreamDefinition, Trigger};

use crate::kit::{Lab, rows, run};

async fn read(lab: &Lab, definition: StreamDefinition) -> Vec<String> {
    lab.streams.create_stream(&definition).await.unwrap();
    let sink = MemorySink::new("all");
    let writer = lab.query("SELECT n, word FROM s", "q", OutputMode::Append).await;
    run(writer.sink(sink.clone())).await.unwrap();
    rows(sink.rows())
}

fn columns() -> Arc<Schema> {
    Arc::new(Schema::new(vec![
        Field::new("n", DataType::Int64, true),
        Field::new("word", DataType::Utf8, true),
    ]))
}

#[tokio::test(flavor = "multi_thread")]
async fn json_and_csv_are_read_as_declared_or_as_found() {
    let files = [
        ("json", "a.json", "{\"n\": 1, \"word\": \"one\"}\n{\"n\": 2}\n"),
        ("json", "a.jsonl", "{\"n\": 1, \"word\": \"one\"}\n{\"n\": 2}\n"),
        ("json", "a.NDJSON", "{\"n\": 1, \"word\": \"one\"}\n{\"n\": 2}\n"),
        ("csv", "a.csv", "n,word\n1,one\n2,\n"),
    ];
    for (format, name, content) in files {
        for declared in [true, false] {
            let lab = Lab::new();
            let landing = lab.path("in");
            std::fs::create_dir(&landing).unwrap();
            std::fs::write(landing.join(name), content).unwrap();
            for hidden in ["_b", ".c", "_tmp=1", ".x=1"] {
                std::fs::write(landing.join(format!("{hidden}.{format}")), "half").unwrap();
            }
            let mut definition = StreamDefinition::files("s", landing.display().to_string());
            definition = definition.option("format", format);
            if declared {
                definition = definition.columns(columns());
            }
            let found = read(&lab, definition).await;
            assert_eq!(found[0], "1 | one", "{format}");
            assert_eq!(found.len(), 2, "{format}: {found:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn files_in_folders_below_are_read_in_the_order_of_their_times() {
    let lab = Lab::new();
    let landing = lab.path("in");
    std::fs::create_dir_all(landing.join("day=1")).unwrap();
    std::fs::write(landing.join("day=1/b.csv"), "n,word\n1,one\n").unwrap();
    std::fs::write(landing.join("a.csv"), "n,word\n2,two\n").unwrap();
    let first = std::fs::File::options().write(true).open(landing.join("day=1/b.csv")).unwrap();
    first.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
    let definition = StreamDefinition::files("s", landing.display().to_string())
        .option("format", "csv")
        .option("max_files_per_trigger", "1")
        .columns(columns());
    lab.streams.create_stream(&definition).await.unwrap();
    let sink = MemorySink::new("all");
    let writer = lab.query("SELECT n, word FROM s", "q", OutputMode::Append).await;
    let query = run(writer.sink(sink.clone())).await.unwrap();
    assert_eq!(query.history().len(), 2);
    let first = &sink.rows()[0];
    assert_eq!(rows(vec![first.clone()]), ["1 | one"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_over_an_empty_folder_waits_for_its_first_file() {
    let lab = Lab::new();
    let landing = lab.path("in");
    std::fs::create_dir(&landing).unwrap();
    let undeclared = StreamDefinition::files("u", landing.display().to_string());
    let error = lab.streams.create_stream(&undeclared).await.unwrap_err().to_string();
    assert!(error.contains("declare them"), "{error}");
    let definition = undeclared.clone().option("format", "csv").columns(columns());
    let definition = StreamDefinition { name: "s".to_owned(), ..definition };
    assert!(read(&lab, definition).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rate_counts_by_the_clock() {
    let lab = Lab::new();
    let definition = StreamDefinition::new("s", "RATE").option("rows_per_second", "100000");
    lab.streams.create_stream(&definition).await.unwrap();
    let sink = MemorySink::new("all");
    let seen = Arc::new(tokio::sync::Semaphore::new(0));
    let told = Arc::clone(&seen);
    let sql = "SELECT count(*) AS c, max(value) + 1 AS m FROM s";
    let writer = lab.query(sql, "q", OutputMode::Complete).await.sink(sink.clone());
    let query = writer
        .trigger(Trigger::Every(Duration::from_millis(2)))
        .on_progress(move |_| told.add_permits(1))
        .start()
        .await
        .unwrap();
    let batches = tokio::time::timeout(Duration::from_secs(60), seen.acquire_many(3));
    batches.await.unwrap().unwrap().forget();
    query.stop().await.unwrap();
    let line = rows(sink.rows()).remove(0);
    let (count, next) = line.split_once(" | ").unwrap();
    assert_eq!(count, next);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_json_match_without_case_as_all_names_do() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("landing")).unwrap();
    for (file, line) in [
        ("1.json", r#"{"ID": 1, "Page": "a", "more": [1]}"#),
        ("2.json", r#"{"id": 2, "ID": 9, "page": "b"}"#),
        ("3.json", r#"{"page": "c"}"#),
    ] {
        std::fs::write(lab.path("landing").join(file), line).unwrap();
    }
    let columns = Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("page", DataType::Utf8, true),
    ]);
    let definition = StreamDefinition::files("s", lab.path("landing").display().to_string())
        .columns(Arc::new(columns))
        .option("format", "json");
    lab.streams.create_stream(&definition).await.unwrap();
    let sink = MemorySink::new("m");
    let writer = lab.query("SELECT page, id FROM s", "q", OutputMode::Append).await;
    run(writer.sink(sink.clone())).await.unwrap();
    assert_eq!(rows(sink.rows()), ["a | 1", "b | 2", "c | NULL"]);
}
