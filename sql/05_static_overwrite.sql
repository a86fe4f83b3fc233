-- Static overwrite: a statement that brings February alone leaves February alone
--
-- In static mode an overwrite that names no partition replaces the whole table, as Spark does
-- by default. January and March are gone, without an error.
--
--   partwise --set data=DIR -f sql/05_static_overwrite.sql

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

SET partwise.partition_overwrite_mode = 'static';

INSERT OVERWRITE report SELECT * FROM zone_hours WHERE pickup_month = '2024-02';

-- One partition is left.
-- expect: '2024-02', february.buckets, february.trips, february.revenue
SELECT pickup_month, count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue
FROM report GROUP BY pickup_month ORDER BY pickup_month;

RESET partwise.partition_overwrite_mode;
