-- Append: the rerun of an appending job doubles every figure
--
-- Nothing fails and nothing warns: the second run simply counts every trip twice.
--
--   partwise --set data=DIR -f sql/03_append.sql

-- The report's query under a name, to run it several times.
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

CREATE OR REPLACE TABLE report (zone INT, pickup_hour TIMESTAMP, trips BIGINT, revenue DOUBLE, pickup_month STRING)
USING parquet PARTITIONED BY (pickup_month)
AS SELECT * FROM zone_hours;

-- The job runs once more, and appends.
INSERT INTO report SELECT * FROM zone_hours;

-- Everything is there twice.
-- expect: 2 * report.buckets, 2 * report.trips, 2 * report.revenue
SELECT count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue FROM report;
