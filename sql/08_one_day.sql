-- One day of ninety-one: the question that should read one directory
--
-- The trips by day of pickup. EXPLAIN says beforehand which partitions a query reads, and
-- EXPLAIN ANALYZE afterwards how many files and rows it was.
--
--   partwise --set data=DIR -f sql/08_one_day.sql

-- Every trip of the quarter, in a directory per day.
CREATE OR REPLACE TABLE trips USING parquet PARTITIONED BY (pickup_date)
AS SELECT *, CAST(tpep_pickup_datetime AS DATE) AS pickup_date
FROM '${data}/yellow_tripdata_2024-0*.parquet'
WHERE tpep_pickup_datetime >= '2024-01-01' AND tpep_pickup_datetime < '2024-04-01';

-- expect: days, kept, report.revenue
SELECT count(DISTINCT pickup_date) AS days, count(*) AS trips, round(sum(total_amount), 2) AS revenue FROM trips;

-- The question.
-- expect: day.trips, _
SELECT count(*) AS trips, round(sum(total_amount), 2) AS revenue
FROM trips WHERE pickup_date = DATE '2024-01-15';

-- What it would read: one partition of ninety-one, one file of ninety-one.
-- expect contains: PartitionFilters=[pickup_date = 2024-01-15]
-- expect contains: partitions=1/{days}
-- expect contains: files=1/{days}
EXPLAIN FORMAT INDENT SELECT count(*), sum(total_amount)
FROM trips WHERE pickup_date = DATE '2024-01-15';

-- What it did read: the day's rows and not one more.
-- expect contains: files_read=1
-- expect contains: rows_read={day.trips}
EXPLAIN ANALYZE SELECT count(*), sum(total_amount)
FROM trips WHERE pickup_date = DATE '2024-01-15';
