-- Two levels: January by day and hour, and a question that names both
--
-- Each partition column is a level of directories. Both predicates are partition filters, and one
-- directory of all the hours is read; the day alone reads its 24.
--
--   partwise --set data=DIR -f sql/15_two_levels.sql

CREATE OR REPLACE TABLE january_hours USING parquet PARTITIONED BY (pickup_date, pickup_hour)
AS SELECT *,
  CAST(tpep_pickup_datetime AS DATE) AS pickup_date,
  CAST(date_part('hour', tpep_pickup_datetime) AS INT) AS pickup_hour
FROM '${data}/yellow_tripdata_2024-0*.parquet'
WHERE tpep_pickup_datetime >= '2024-01-01' AND tpep_pickup_datetime < '2024-02-01';

-- keep: level.hours = hours
-- keep: level.hours_of_day = hours_of_day
-- keep: level.morning = morning
-- expect: january.trips, january.revenue, _, _, _
SELECT count(*) AS trips, round(sum(total_amount), 2) AS revenue,
  count(DISTINCT date_trunc('hour', tpep_pickup_datetime)) AS hours,
  count(DISTINCT pickup_hour) FILTER (WHERE pickup_date = DATE '2024-01-15') AS hours_of_day,
  count(*) FILTER (WHERE tpep_pickup_datetime >= '2024-01-15 08:00:00'
    AND tpep_pickup_datetime < '2024-01-15 09:00:00') AS morning
FROM january_hours;

-- Both columns named: one directory.
-- expect contains: PartitionFilters=[pickup_date = 2024-01-15, pickup_hour = 8]
-- expect contains: partitions=1/{level.hours}
-- expect contains: files=1/{level.hours}
EXPLAIN FORMAT INDENT SELECT count(*), sum(total_amount)
FROM january_hours WHERE pickup_date = DATE '2024-01-15' AND pickup_hour = 8;

-- expect contains: files_read=1
-- expect contains: rows_read={level.morning}
EXPLAIN ANALYZE SELECT count(*), sum(total_amount)
FROM january_hours WHERE pickup_date = DATE '2024-01-15' AND pickup_hour = 8;

-- The outer column alone: every hour of the day.
-- expect contains: partitions={level.hours_of_day}/{level.hours}
EXPLAIN FORMAT INDENT SELECT count(*), sum(total_amount)
FROM january_hours WHERE pickup_date = DATE '2024-01-15';

-- expect: day.trips
SELECT count(*) AS trips FROM january_hours WHERE pickup_date = DATE '2024-01-15';

-- The inner column alone: that hour of every day.
-- expect contains: PartitionFilters=[pickup_hour = 8]
EXPLAIN FORMAT INDENT SELECT count(*), sum(total_amount) FROM january_hours WHERE pickup_hour = 8;
