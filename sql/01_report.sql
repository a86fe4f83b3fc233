-- The report: trips and revenue by zone and hour, one partition per month
--
-- Three monthly files hold a quarter of taxi trips, and a few rows of other times: meters with
-- a wrong clock, trips across midnight. The window keeps the quarter; the rest is counted as
-- strays. Reversals (negative amounts) stay in, they belong to the revenue.
--
--   partwise --set data=DIR -f sql/01_report.sql

-- What is in the files.
-- expect: file.january, file.february, file.march
SELECT
  (SELECT count(*) FROM '${data}/yellow_tripdata_2024-01.parquet') AS january_file,
  (SELECT count(*) FROM '${data}/yellow_tripdata_2024-02.parquet') AS february_file,
  (SELECT count(*) FROM '${data}/yellow_tripdata_2024-03.parquet') AS march_file;

-- What the window keeps of them.
-- expect: files, kept, strays
SELECT count(*) AS rows, count(*) FILTER (WHERE inside) AS kept, count(*) FILTER (WHERE NOT inside) AS strays
FROM (
  SELECT tpep_pickup_datetime >= '2024-01-01' AND tpep_pickup_datetime < '2024-04-01' AS inside
  FROM '${data}/yellow_tripdata_2024-0*.parquet'
);

-- The zones that the trips refer to.
-- expect: 265
SELECT count(*) AS zones FROM '${data}/taxi_zone_lookup.csv';

-- The report's query under a name. Other lessons begin after this one and use it again.
CREATE OR REPLACE VIEW zone_hours AS
SELECT
  "PULocationID" AS zone,
  date_trunc('hour', tpep_pickup_datetime) AS pickup_hour,
  count(*) AS trips,
  sum(total_amount) AS revenue,
  date_format(tpep_pickup_datetime, '%Y-%m') AS pickup_month
FROM '${data}/yellow_tripdata_2024-0*.parquet'
WHERE tpep_pickup_datetime >= '2024-01-01' AND tpep_pickup_datetime < '2024-04-01'
GROUP BY ALL;

-- The job itself: one statement, all or nothing.
CREATE OR REPLACE TABLE report (zone INT, pickup_hour TIMESTAMP, trips BIGINT, revenue DOUBLE, pickup_month STRING)
USING parquet PARTITIONED BY (pickup_month)
AS SELECT * FROM zone_hours;

-- The whole report.
-- expect: report.buckets, report.trips, report.revenue
SELECT count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue FROM report;

-- The same by month.
-- expect: '2024-01', january.buckets, january.trips, january.revenue
-- expect: '2024-02', february.buckets, february.trips, february.revenue
-- expect: '2024-03', march.buckets, march.trips, march.revenue
SELECT pickup_month, count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue
FROM report GROUP BY pickup_month ORDER BY pickup_month;
