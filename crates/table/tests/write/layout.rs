//! Which files a write makes, and what is in them.

use std::fs::File;
use std::path::Path;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Int64Type, TimeUnit};
use parquet::basic::Compression;
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::support::{Lake, read};

fn values(rows: &RecordBatch, column: usize) -> Vec<i64> {
    rows.column(column).as_primitive::<Int64Type>().values().to_vec()
}

fn metadata(path: &Path) -> parquet::file::metadata::ParquetMetaData {
    let reader = SerializedFileReader::new(File::open(path).expect("opened")).expect("Parquet");
    reader.metadata().clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tidy_makes_one_file_per_partition_with_exactly_its_rows() {
    for order in ["v % 7", "v / 3000", "(v * v) % 7"] {
        let lake = Lake::new();
        let rows =
            format!("SELECT value AS v, {} AS p FROM range(20000)", order.replace('v', "value"));
        let rows = lake.ctx.sql(&rows).await.expect("query");
        let written = lake.overwrite().run(rows, &["p"]).await.expect("written");
        assert_eq!(written.committed.rows_added, 20_000);
        let mut seen = Vec::new();
        for (dir, files) in lake.data_files() {
            assert_eq!(files.len(), 1, "{dir}");
            let rows = read(&files[0]);
            assert_eq!(rows.num_columns(), 1, "the partition column is in the path only");
            let p: i64 = dir.strip_prefix("p=").and_then(|p| p.parse().ok()).expect("p");
            for v in values(&rows, 0) {
                let expected = match order {
                    "v % 7" => v % 7,
                    "v / 3000" => v / 3000,
                    _ => (v * v) % 7,
                };
                assert_eq!(p, expected);
                seen.push(v);
            }
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..20_000), "{order}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_partition_columns_tidy_makes_one_file() {
    let lake = Lake::new();
    let rows = lake.ctx.sql("SELECT value AS v FROM range(5000)").await.expect("query");
    lake.append(&[]).run(rows, &[]).await.expect("written");
    let files = lake.data_files();
    assert_eq!(files[""].len(), 1);
    assert_eq!(read(&files[""][0]).num_rows(), 5000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_distribution_none_each_task_writes_its_own_files() {
    let lake = Lake::new();
    let rows = "SELECT value AS v, value % 3 AS p FROM range(20000)";
    let rows = lake.ctx.sql(rows).await.expect("query");
    lake.append(&[("distribution", "none")]).run(rows, &["p"]).await.expect("written");
    let files: Vec<usize> = lake.data_files().values().map(Vec::len).collect();
    assert_eq!(files, [2, 2, 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_ends_at_its_target_size() {
    let lake = Lake::new();
    let rows = "SELECT random() AS v, 1 AS p FROM range(200000)";
    let rows = lake.ctx.sql(rows).await.expect("query");
    let options = [("target_file_size", "200 kB"), ("compression", "none")];
    lake.append(&options).run(rows, &["p"]).await.expect("written");
    let files = &lake.data_files()["p=1"];
    let sizes: Vec<u64> = files.iter().map(|file| file.metadata().expect("there").len()).collect();
    let (last_and_smaller, full): (Vec<u64>, Vec<u64>) = sizes.iter().partition(|s| **s < 100_000);
    assert!(full.len() >= 5 && last_and_smaller.len() <= 1, "{sizes:?}");
    assert!(full.iter().all(|size| *size < 400_000), "{sizes:?}");
    assert_eq!(files.iter().map(|file| read(file).num_rows()).sum::<usize>(), 200_000);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_row_groups_hold_at_most_their_rows() {
    let lake = Lake::new();
    let rows = "SELECT value AS v, 1 AS p FROM range(10500)";
    let rows = lake.ctx.sql(rows).await.expect("query");
    let options = [("max_rows_per_file", "2500"), ("row_group_rows", "1000")];
    lake.append(&options).run(rows, &["p"]).await.expect("written");
    let files = &lake.data_files()["p=1"];
    let mut rows: Vec<i64> =
        files.iter().map(|file| metadata(file).file_metadata().num_rows()).collect();
    rows.sort_unstable();
    assert_eq!(rows, [500, 2500, 2500, 2500, 2500]);
    for file in files {
        assert!(metadata(file).row_groups().iter().all(|group| group.num_rows() <= 1000));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn codecs_go_by_column_and_the_name_tells_the_table_s() {
    let lake = Lake::new();
    let rows = "SELECT value AS v, value AS w, 1 AS p FROM range(1000)";
    let rows = lake.ctx.sql(rows).await.expect("query");
    let options = [("compression", "zstd(5)"), ("compression::w", "lz4"), ("bloom_filter", "v")];
    lake.append(&options).run(rows, &["p"]).await.expect("written");
    let file = &lake.data_files()["p=1"][0];
    assert!(file.to_str().expect("text").ends_with(".zstd.parquet"), "{file:?}");
    let metadata = metadata(file);
    let columns = metadata.row_group(0).columns();
    assert!(matches!(columns[0].compression(), Compression::ZSTD(_)));
    assert_eq!(columns[1].compression(), Compression::LZ4_RAW);
    assert!(columns[0].bloom_filter_offset().is_some());
    assert!(columns[1].bloom_filter_offset().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_inside_a_file_come_in_the_declared_order() {
    let lake = Lake::new();
    let rows = "SELECT (value * 7919) % 10007 AS v, value % 3 AS p FROM range(9000)";
    let rows = lake.ctx.sql(rows).await.expect("query");
    lake.append(&[("sort_by", "v DESC")]).run(rows, &["p"]).await.expect("written");
    for files in lake.data_files().into_values() {
        assert_eq!(files.len(), 1);
        let values = values(&read(&files[0]), 0);
        assert!(values.is_sorted_by(|a, b| a >= b));
        let group = metadata(&files[0]).row_group(0).clone();
        assert!(group.sorting_columns().expect("told")[0].descending);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_are_stored_in_the_types_that_other_readers_know() {
    let lake = Lake::new();
    let rows = "SELECT arrow_cast('x', 'Utf8View') AS s, arrow_cast(7, 'UInt32') AS n, \
                arrow_cast('2024-01-15T07:00:00', 'Timestamp(Nanosecond, None)') AS t, \
                named_struct('a', [1, 2]) AS nested, 1 AS p";
    let rows = lake.ctx.sql(rows).await.expect("query");
    lake.append(&[]).run(rows, &["p"]).await.expect("written");
    let rows = read(&lake.data_files()["p=1"][0]);
    let types: Vec<DataType> =
        rows.schema().fields().iter().map(|field| field.data_type().clone()).collect();
    assert_eq!(types[0], DataType::Utf8);
    assert_eq!(types[1], DataType::Int64);
    assert_eq!(types[2], DataType::Timestamp(TimeUnit::Microsecond, None));
    assert_eq!(rows.column(3).as_struct().column(0).as_list::<i32>().value(0).len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn null_and_odd_keys_have_directories_of_their_own() {
    let lake = Lake::new();
    let rows = "SELECT column1 AS v, column2 AS p FROM \
                (VALUES (1, 'a/b'), (2, NULL), (3, 'NULL'), (4, 'a b'))";
    let rows = lake.ctx.sql(rows).await.expect("query");
    lake.append(&[]).run(rows, &["p"]).await.expect("written");
    let dirs: Vec<String> = lake.data_files().into_keys().collect();
    assert_eq!(dirs, ["p=NULL", "p=__HIVE_DEFAULT_PARTITION__", "p=a b", "p=a%2Fb"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn statistics_reach_the_log() {
    let lake = Lake::new();
    let rows = "SELECT value AS v, value % 2 AS p FROM range(1000)";
    let rows = lake.ctx.sql(rows).await.expect("query");
    lake.append(&[]).run(rows, &["p"]).await.expect("written");
    let records = lake.table().records().await.expect("records");
    let stats = &records[0].partitions[0].added[0].stats.columns["v"];
    assert_eq!((stats.min.clone(), stats.max.clone()), (Some(0.into()), Some(998.into())));
    assert_eq!(stats.nulls, Some(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_type_with_a_text_form_can_be_a_partition_column() {
    let lake = Lake::new();
    let rows = "SELECT 1 AS v, true AS b, DATE '2024-01-15' AS d, CAST(1.5 AS DECIMAL(5,2)) AS n, \
                arrow_cast(7, 'Int8') AS i, TIMESTAMP '2024-01-15 07:00:00' AS t, \
                arrow_cast('x', 'Dictionary(Int32, Utf8)') AS s, arrow_cast(9, 'UInt64') AS u";
    let rows = lake.ctx.sql(rows).await.expect("query");
    let columns = ["b", "d", "n", "i", "t", "s", "u"];
    lake.append(&[]).run(rows, &columns).await.expect("written");
    let dirs: Vec<String> = lake.data_files().into_keys().collect();
    assert_eq!(dirs, ["b=true/d=2024-01-15/n=1.50/i=7/t=2024-01-15 07%3A00%3A00/s=x/u=9"]);
}
