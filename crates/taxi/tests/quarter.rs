//! A quarter is what its figures say, when it is read back from its files.

use std::fs::File;
use std::path::Path;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::ParquetMetaData;
use partwise_taxi::{
    Error, FILES, Figures, LOOKUP, Origin, Presence, Progress, Quarter, SEED, describe, generate,
    measure, present, schema,
};
use tempfile::TempDir;

const SCALE: f64 = 0.02;

fn made(scale: f64, seed: u64) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    Quarter { scale, seed }.make(dir.path(), Progress::Silent).unwrap();
    dir
}

fn metadata(dir: &Path, name: &str) -> (ParquetMetaData, arrow::datatypes::SchemaRef) {
    let file = File::open(dir.join(name)).unwrap();
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    (builder.metadata().as_ref().clone(), builder.schema().clone())
}

fn names(dir: &Path) -> Vec<String> {
    let entries = dir.read_dir().unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_files_hit_the_figures_of_their_scale() {
    for (scale, seed) in [(SCALE, SEED), (0.001, 7), (0.0045, 8)] {
        let dir = made(scale, seed);
        assert_eq!(measure(dir.path()).unwrap(), Figures::at_scale(scale).unwrap(), "{scale}");
    }
}

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let one = tempfile::tempdir().unwrap();
    let four = tempfile::tempdir().unwrap();
    for (threads, dir) in [(1, &one), (4, &four)] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| generate(dir.path(), 0.005, Progress::Silent)).unwrap();
    }
    for name in FILES.iter().chain([&LOOKUP]) {
        let read = |dir: &TempDir| std::fs::read(dir.path().join(name)).unwrap();
        assert!(read(&one) == read(&four), "{name}");
    }
}

#[test]
fn another_seed_makes_other_trips() {
    let (one, two) = (made(0.001, 1), made(0.001, 2));
    let read = |dir: &TempDir| std::fs::read(dir.path().join(FILES[0])).unwrap();
    assert!(read(&one) != read(&two));
}

#[test]
fn files_have_the_published_schema_and_several_row_groups_without_statistics() {
    let dir = made(SCALE, SEED);
    for name in FILES {
        let (metadata, found) = metadata(dir.path(), name);
        assert_eq!(found.fields(), schema().fields());
        assert!(metadata.num_row_groups() >= 6, "{name}");
        let columns = metadata.row_groups().iter().flat_map(|group| group.columns());
        for column in columns {
            assert!(column.statistics().is_none(), "{name} {}", column.column_path());
        }
        assert!(metadata.column_index().is_none());
    }
}

#[test]
fn schema_is_the_published_one() {
    let columns: Vec<String> =
        schema().fields().iter().map(|f| format!("{} {}", f.name(), f.data_type())).collect();
    let expected = [
        "VendorID Int32",
        "tpep_pickup_datetime Timestamp(µs)",
        "tpep_dropoff_datetime Timestamp(µs)",
        "passenger_count Int64",
        "trip_distance Float64",
        "RatecodeID Int64",
        "store_and_fwd_flag Utf8",
        "PULocationID Int32",
        "DOLocationID Int32",
        "payment_type Int64",
        "fare_amount Float64",
        "extra Float64",
        "mta_tax Float64",
        "tip_amount Float64",
        "tolls_amount Float64",
        "improvement_surcharge Float64",
        "total_amount Float64",
        "congestion_surcharge Float64",
        "Airport_fee Float64",
    ];
    assert_eq!(columns, expected);
    assert!(schema().fields().iter().all(|field| field.is_nullable()));
}

#[test]
fn a_run_leaves_its_four_files_alone() {
    let dir = tempfile::tempdir().unwrap();
    let leftover = dir.path().join(format!(".{}.tmp-killed", FILES[1]));
    std::fs::write(&leftover, "half a file").unwrap();
    generate(dir.path(), 0.001, Progress::Bar).unwrap();
    let mut expected: Vec<&str> = FILES.into_iter().chain([LOOKUP]).collect();
    expected.sort_unstable();
    assert_eq!(names(dir.path()), expected);
}

#[test]
fn presence_tells_missing_synthetic_and_mixed_quarters() {
    let dir = made(0.001, 3);
    let origin = Origin { scale: 0.001, seed: 3 };
    assert_eq!(present(dir.path()), Presence::Synthetic(origin));
    let other = made(0.001, 4);
    std::fs::copy(other.path().join(FILES[2]), dir.path().join(FILES[2])).unwrap();
    assert_eq!(present(dir.path()), Presence::Mixed);
    std::fs::remove_file(dir.path().join(FILES[1])).unwrap();
    assert_eq!(present(dir.path()), Presence::Missing(vec![FILES[1]]));
}

#[test]
fn files_from_elsewhere_are_never_replaced() {
    let dir = made(0.001, 3);
    let foreign = dir.path().join(FILES[1]);
    std::fs::write(&foreign, "a real file, as far as anyone knows").unwrap();
    assert_eq!(present(dir.path()), Presence::Foreign);
    let error = generate(dir.path(), 0.001, Progress::Silent).unwrap_err();
    assert!(matches!(&error, Error::NotOurs { path } if *path == foreign), "{error}");
    assert_eq!(std::fs::read(&foreign).unwrap(), b"a real file, as far as anyone knows");
}

#[test]
fn a_lookup_that_is_there_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(LOOKUP), "another lookup").unwrap();
    let made = generate(dir.path(), 0.001, Progress::Silent).unwrap();
    assert_eq!(made.paths.len(), 4);
    assert_eq!(std::fs::read_to_string(dir.path().join(LOOKUP)).unwrap(), "another lookup");
}

#[test]
fn a_quarter_that_is_not_there_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let message = describe(dir.path()).unwrap_err().to_string();
    assert!(message.contains(FILES[0]), "{message}");
}

#[test]
fn the_description_is_read_from_the_files() {
    let dir = made(SCALE, SEED);
    let text = describe(dir.path()).unwrap();
    for part in ["scale 0.02, seed 2024", "trips per day", "reversals", "zone-hour buckets"] {
        assert!(text.contains(part), "{text}");
    }
}
