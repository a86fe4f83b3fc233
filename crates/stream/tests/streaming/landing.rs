//! Folders that files arrive in, and what can be wrong with them and their files.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use partwise_stream::{
    ErrorKind, MemorySink, OutputMode, Result, Step, StreamDefinition, StreamWriter, Trigger,
};

use crate::kit::{Lab, rows, run};

/// The folder `name` with these files.
fn landed(lab: &Lab, name: &str, files: &[(&str, &str)]) -> PathBuf {
    let landing = lab.path(name);
    std::fs::create_dir_all(&landing).unwrap();
    for (file, content) in files {
        std::fs::write(landing.join(file), content).unwrap();
    }
    landing
}

/// Makes the stream `s (n BIGINT, word STRING)` over a folder.
async fn stream(lab: &Lab, folder: &str, format: &str) -> Result<()> {
    let columns = Schema::new(vec![
        Field::new("n", DataType::Int64, true),
        Field::new("word", DataType::Utf8, true),
    ]);
    let definition = StreamDefinition::files("s", folder).option("format", format);
    lab.streams.create_stream(&definition.columns(Arc::new(columns))).await
}

async fn all(lab: &Lab, sink: &MemorySink) -> StreamWriter {
    let writer = lab.query("SELECT n, word FROM s", "q", OutputMode::Append).await;
    writer.sink(sink.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_that_goes_away_stops_the_query_and_is_not_read_twice() {
    let lab = Lab::new();
    let landing = landed(&lab, "in", &[("1.csv", "n,word\n1,one\n")]);
    stream(&lab, landing.to_str().unwrap(), "csv").await.unwrap();
    let (sink, seen) = (MemorySink::new("all"), Arc::new(tokio::sync::Semaphore::new(0)));
    let told = Arc::clone(&seen);
    let every = Trigger::Every(Duration::from_millis(2));
    let writer = all(&lab, &sink).await.trigger(every).on_progress(move |_| told.add_permits(1));
    let query = writer.start().await.unwrap();
    let limit = Duration::from_secs(60);
    tokio::time::timeout(limit, seen.acquire()).await.unwrap().unwrap().forget();
    std::fs::rename(&landing, lab.path("away")).unwrap();
    let error = tokio::time::timeout(limit, query.await_termination()).await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let said = error.to_string();
    assert!(said.contains(&format!("the folder {}/ isn't there", landing.display())), "{said}");
    std::fs::rename(lab.path("away"), &landing).unwrap();
    run(all(&lab, &sink).await).await.unwrap();
    assert_eq!(rows(sink.rows()), ["1 | one"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_folder_is_one_that_is_there_and_no_pattern() {
    let lab = Lab::new();
    landed(&lab, "2024-01", &[("1.csv", "n,word\n1,one\n")]);
    landed(&lab, "in[1]", &[("1.csv", "n,word\n2,two\n")]);
    let path = |name: &str| lab.path(name).display().to_string();
    for (folder, words) in [
        (path("nowhere/"), "there is no folder"),
        (path("2024-*"), "is a pattern"),
        (path("2024-01/1.csv"), "is a file"),
        (String::new(), "names no folder"),
    ] {
        let error = stream(&lab, &folder, "csv").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains(words), "{folder}: {error}");
    }
    stream(&lab, &path("in[1]"), "csv").await.unwrap();
    let sink = MemorySink::new("all");
    run(all(&lab, &sink).await).await.unwrap();
    assert_eq!(rows(sink.rows()), ["2 | two"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_all_named_otherwise_are_told() {
    let lab = Lab::new();
    let landing = landed(&lab, "in", &[("1.txt", "{\"n\": 1}"), ("_2.txt", "{}")]);
    stream(&lab, landing.to_str().unwrap(), "json").await.unwrap();
    let sink = MemorySink::new("all");
    let said = run(all(&lab, &sink).await).await.unwrap_err().to_string();
    assert!(said.contains("holds files (1), but none to read"), "{said}");
    assert!(said.contains(".json or .jsonl or .ndjson"), "{said}");
    landed(&lab, "in", &[("1.json", "{\"n\": 1}")]);
    run(all(&lab, &sink).await).await.unwrap();
    std::fs::remove_file(landing.join("1.json")).unwrap();
    run(all(&lab, &sink).await).await.unwrap();
    assert_eq!(rows(sink.rows()), ["1 | NULL"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_whose_rows_do_not_fit_is_named() {
    let cases = [
        ("json", "{\"n\": 1}", "{\"n\": \"one\"}", "one"),
        ("json", "{\"n\": 1}", "{\"n\": 1", "Truncated"),
        ("csv", "n,word\n1,a\n", "n,word\none,a\n", "one"),
        ("csv", "n,word\n1.0,a\n", "n,word\n1.5,a\n", "1.5"),
        ("csv", "n,word\n1,a\n", "n,word\n2,a,b\n", "line 2"),
        ("parquet", "", "no Parquet at all", ""),
    ];
    for (format, good, bad, word) in cases {
        let lab = Lab::new();
        let (name, other) = (format!("b.{format}"), format!("c.{format}"));
        let first = format!("a.{format}");
        let files = [(first.as_str(), good), (&name, bad), (&other, good)];
        let landing = landed(&lab, "in", &files);
        stream(&lab, landing.to_str().unwrap(), format).await.unwrap();
        let sink = MemorySink::new("all");
        let said = run(all(&lab, &sink).await).await.unwrap_err().to_string();
        let named = format!("{} can't be read: ", landing.join(&name).display());
        assert!(said.starts_with(&named) && said.contains(word), "{said}");
        assert!(said.contains("mend the file or move it out of the folder"), "{said}");
        landed(&lab, "in", &[(name.as_str(), good)]);
        run(all(&lab, &sink).await).await.unwrap();
        assert_eq!(rows(sink.rows()).len(), if format == "parquet" { 0 } else { 3 });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_vanishes_before_it_is_read_is_named() {
    for (format, content) in [("csv", "n,word\n1,one\n"), ("json", "{\"n\": 1}")] {
        let lab = Lab::new();
        let name = format!("1.{format}");
        let landing = landed(&lab, "in", &[(&name, content)]);
        stream(&lab, landing.to_str().unwrap(), format).await.unwrap();
        let sink = MemorySink::new("all");
        let gone = landing.join(&name);
        let file = gone.clone();
        let writer = all(&lab, &sink).await.before_each_step(move |step, _| {
            if step == Step::Run {
                std::fs::remove_file(&file).unwrap();
            }
            Ok(())
        });
        let said = run(writer).await.unwrap_err().to_string();
        assert!(said.starts_with(&format!("{} can't be read: ", gone.display())), "{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn line_breaks_within_quotes_are_part_of_a_value() {
    let lab = Lab::new();
    // Each file is large enough to be read by several tasks.
    let small = "SET datafusion.optimizer.repartition_file_min_size = 1";
    lab.session.sql(small).await.unwrap();
    let lines = (0..40).map(|n| format!("{n},\"{n}\n7,seven\n8,eight\"\n"));
    let text = format!("n,word\n{}", lines.collect::<String>());
    let landing = landed(&lab, "in", &[("1.csv", &text)]);
    stream(&lab, landing.to_str().unwrap(), "csv").await.unwrap();
    let sink = MemorySink::new("all");
    run(all(&lab, &sink).await).await.unwrap();
    let mut wanted: Vec<String> = (0..40).map(|n| format!("{n} | {n}\n7,seven\n8,eight")).collect();
    wanted.sort();
    assert_eq!(rows(sink.rows()), wanted);
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_of_json_are_what_they_say_or_an_error() {
    let lab = Lab::new();
    let small = "SET datafusion.optimizer.repartition_file_min_size = 1";
    lab.session.sql(small).await.unwrap();
    let lines: String = (0..50).map(|n| format!("{{\"n\": {n}.0, \"word\": {n}}}\n")).collect();
    let big = "{\"word\": 1.50, \"n\": 9007199254740993}";
    let landing = landed(&lab, "in", &[("1.json", lines.trim()), ("2.json", big)]);
    stream(&lab, landing.to_str().unwrap(), "json").await.unwrap();
    let sink = MemorySink::new("all");
    run(all(&lab, &sink).await).await.unwrap();
    let mut wanted: Vec<String> = (0..50).map(|n| format!("{n} | {n}")).collect();
    wanted.push("9007199254740993 | 1.50".to_owned());
    wanted.sort();
    assert_eq!(rows(sink.rows()), wanted);
    for cut in ["1.9", "9223372036854775808", "true"] {
        landed(&lab, "in", &[("3.json", &format!("{{\"n\": 7}}\n{{\"n\": {cut}}}"))]);
        let said = run(all(&lab, &sink).await).await.unwrap_err().to_string();
        assert!(said.contains("/3.json can't be read: "), "{said}");
        assert!(said.contains(&format!("column n is Int64, which can't hold '{cut}'")), "{said}");
    }
    // What isn't asked for isn't read.
    let writer = lab.query("SELECT count(*) AS c FROM s", "c", OutputMode::Complete).await;
    let counts = MemorySink::new("counts");
    run(writer.sink(counts.clone())).await.unwrap();
    assert_eq!(rows(counts.rows()), ["53"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn decimals_keep_all_their_digits_in_each_format() {
    let columns = Schema::new(vec![
        Field::new("word", DataType::Utf8, true),
        Field::new("d", DataType::Decimal128(10, 2), true),
    ]);
    let cases = [
        ("json", "{\"d\": 1.990}\n{\"d\": null}", "{\"d\": 1.999}"),
        ("csv", "word,d\n,1.990\na,\n", "word,d\n,1.999\n"),
    ];
    for (format, good, bad) in cases {
        let lab = Lab::new();
        let name = format!("1.{format}");
        let landing = landed(&lab, "in", &[(&name, good)]);
        let definition = StreamDefinition::files("s", landing.to_string_lossy());
        let definition = definition.option("format", format).columns(Arc::new(columns.clone()));
        lab.streams.create_stream(&definition).await.unwrap();
        let sink = MemorySink::new("all");
        let all = async || {
            let writer = lab.query("SELECT d FROM s", "q", OutputMode::Append).await;
            writer.sink(sink.clone())
        };
        run(all().await).await.unwrap();
        assert_eq!(rows(sink.rows()), ["1.99", "NULL"]);
        landed(&lab, "in", &[(&format!("2.{format}"), bad)]);
        let said = run(all().await).await.unwrap_err().to_string();
        assert!(said.contains(&format!("/2.{format} can't be read: ")), "{said}");
        assert!(said.contains("column d is Decimal128(10, 2), which can't hold '1.999'"), "{said}");
    }
}
