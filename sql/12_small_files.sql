-- Small files: one file per partition, and what happens without care
--
-- A query that groups spreads its rows over tasks. With distribution none each task writes its own
-- file into every partition it has a row of, as Spark does by default: tasks times partitions.
-- The tidy layout, our default, routes a partition's rows to one task. Notice how many files hold
-- the same rows, how many bytes that takes, and how many files a question has to open.
--
--   partwise --set data=DIR -f sql/12_small_files.sql
--
-- after: 01_report.sql

-- Eight tasks, each for itself: eight files a day.
SET datafusion.execution.target_partitions = 8;

CREATE OR REPLACE TABLE hours_small USING parquet PARTITIONED BY (pickup_date)
OPTIONS ('distribution' 'none')
AS SELECT zone, pickup_hour, trips, revenue, CAST(pickup_hour AS DATE) AS pickup_date FROM zone_hours;

-- Eight tasks, tidy: one file a day.
CREATE OR REPLACE TABLE hours_tidy USING parquet PARTITIONED BY (pickup_date)
AS SELECT zone, pickup_hour, trips, revenue, CAST(pickup_hour AS DATE) AS pickup_date FROM zone_hours;

-- All of it in one file, without partitions.
CREATE OR REPLACE TABLE hours_one USING parquet
AS SELECT zone, pickup_hour, trips, revenue, CAST(pickup_hour AS DATE) AS pickup_date FROM zone_hours;

RESET datafusion.execution.target_partitions;

-- The same rows.
-- expect: report.buckets, report.trips, report.buckets, report.trips, report.buckets, report.trips
SELECT
  (SELECT count(*) FROM hours_small) AS small_buckets, (SELECT sum(trips) FROM hours_small) AS small_trips,
  (SELECT count(*) FROM hours_tidy) AS tidy_buckets, (SELECT sum(trips) FROM hours_tidy) AS tidy_trips,
  (SELECT count(*) FROM hours_one) AS one_buckets, (SELECT sum(trips) FROM hours_one) AS one_trips;

-- The first days of each.
-- expect value: files > 1
SHOW PARTITIONS hours_small;

-- expect value: files < 2
SHOW PARTITIONS hours_tidy;

-- Files and bytes, from the footers.
-- keep: tidy.bytes = bytes
-- expect: days, _
SELECT count(DISTINCT filename) AS files, sum(total_compressed_size) AS bytes
FROM parquet_metadata('hours_tidy');

-- expect: 8 * days, _
-- expect value: bytes > tidy.bytes
SELECT count(DISTINCT filename) AS files, sum(total_compressed_size) AS bytes
FROM parquet_metadata('hours_small');

-- expect: 1, _
-- expect value: bytes < tidy.bytes
SELECT count(DISTINCT filename) AS files, sum(total_compressed_size) AS bytes
FROM parquet_metadata('hours_one');

-- What a question about everything opens.
-- expect contains: files_read={8 * days}
EXPLAIN ANALYZE SELECT sum(trips) FROM hours_small;

-- expect contains: files_read={days}
EXPLAIN ANALYZE SELECT sum(trips) FROM hours_tidy;

-- expect contains: files_read=1
EXPLAIN ANALYZE SELECT sum(trips) FROM hours_one;

-- One file is the fewest; a question about one day says what partitions are for.
-- expect contains: partitions=1/{days}, files=1/{days}
EXPLAIN FORMAT INDENT SELECT sum(trips) FROM hours_tidy WHERE pickup_date = DATE '2024-01-15';
