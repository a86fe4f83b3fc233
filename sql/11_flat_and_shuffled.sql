-- Flat and shuffled copies: without partitions the one-day question reads more
--
-- The same trips three times: by day, flat in the order they arrived, flat and shuffled. In a flat
-- table no directory can be left out: PartitionFilters=[], and every file is read. What saves work
-- there are the smallest and largest values that Parquet keeps of each part of a file. They help
-- while rows arrive in order, and not at all once they are shuffled. Compare rows_read; and the
-- bytes of the writes, as neighbours that resemble each other take less room.
--
--   partwise --set data=DIR -f sql/11_flat_and_shuffled.sql
--
-- after: 08_one_day.sql

-- Flat in arrival order: month after month as the files come, by one task that keeps their order, into
-- one file. (In a file for each month, the dates that its commit recorded would tell that two of the
-- three have no row of the day.)
SET datafusion.execution.target_partitions = 1;

CREATE OR REPLACE TABLE trips_flat USING parquet OPTIONS ('target_file_size' '1 GB')
AS SELECT *, CAST(tpep_pickup_datetime AS DATE) AS pickup_date
FROM '${data}/yellow_tripdata_2024-0*.parquet'
WHERE tpep_pickup_datetime >= '2024-01-01' AND tpep_pickup_datetime < '2024-04-01';

RESET datafusion.execution.target_partitions;

-- Flat and shuffled: each trip draws a lot from its second, and the files are in the order of lots.
CREATE OR REPLACE TABLE trips_shuffled USING parquet
OPTIONS ('sort_by' 'lot', 'max_rows_per_file' '2000000')
AS SELECT *, to_unixtime(tpep_pickup_datetime) * 2654435761 % 4294967296 AS lot
FROM trips_flat;

-- The same trips in all three.
-- expect: kept, report.revenue
SELECT count(*) AS trips, round(sum(total_amount), 2) AS revenue FROM trips_flat;

-- expect: kept, report.revenue
SELECT count(*) AS trips, round(sum(total_amount), 2) AS revenue FROM trips_shuffled;

-- Flat: no partition filter, and every file is read.
-- expect contains: PartitionFilters=[]
-- expect contains: partitions=1/1
-- expect contains: files=1/1
EXPLAIN FORMAT INDENT SELECT count(*), sum(total_amount)
FROM trips_flat WHERE pickup_date = DATE '2024-01-15';

-- expect: day.trips, _
SELECT count(*) AS trips, round(sum(total_amount), 2) AS revenue
FROM trips_flat WHERE pickup_date = DATE '2024-01-15';

-- The day's rows and their neighbours.
-- keep: flat.rows_read = rows_read
-- expect value: rows_read > day.trips
-- expect contains: files_read=1
EXPLAIN ANALYZE SELECT count(*), sum(total_amount)
FROM trips_flat WHERE pickup_date = DATE '2024-01-15';

-- Shuffled: the day has rows in every part of every file.
-- keep: shuffled.files = files
-- expect contains: PartitionFilters=[]
-- expect contains: partitions=1/1
-- expect contains: files={shuffled.files}/{shuffled.files}
EXPLAIN FORMAT INDENT SELECT count(*), sum(total_amount)
FROM trips_shuffled WHERE pickup_date = DATE '2024-01-15';

-- expect: day.trips, _
SELECT count(*) AS trips, round(sum(total_amount), 2) AS revenue
FROM trips_shuffled WHERE pickup_date = DATE '2024-01-15';

-- expect value: rows_read > day.trips
-- expect value: rows_read > 2 * flat.rows_read
-- expect contains: files_read={shuffled.files}
EXPLAIN ANALYZE SELECT count(*), sum(total_amount)
FROM trips_shuffled WHERE pickup_date = DATE '2024-01-15';

-- By day: the day's rows and not one more.
-- expect contains: PartitionFilters=[pickup_date = 2024-01-15]
-- expect contains: files_read=1
-- expect contains: rows_read={day.trips}
EXPLAIN ANALYZE SELECT count(*), sum(total_amount)
FROM trips WHERE pickup_date = DATE '2024-01-15';
