-- The straggler trap: a file's rows don't all belong to its month
--
-- The February file holds a few trips of January and of March. Re-aggregated alone and
-- written with a dynamic overwrite, those few rows replace two whole months. The guard stops it.
--
--   partwise --set data=DIR -f sql/07_straggler_trap.sql
--
-- after: 01_report.sql

-- The report's query over the February file alone.
CREATE OR REPLACE VIEW february_file AS
SELECT
  "PULocationID" AS zone,
  date_trunc('hour', tpep_pickup_datetime) AS pickup_hour,
  count(*) AS trips,
  sum(total_amount) AS revenue,
  date_format(tpep_pickup_datetime, '%Y-%m') AS pickup_month
FROM '${data}/yellow_tripdata_2024-02.parquet'
WHERE tpep_pickup_datetime >= '2024-01-01' AND tpep_pickup_datetime < '2024-04-01'
GROUP BY ALL;

-- What the February file really holds.
-- expect: '2024-01', february_file.january.buckets, february_file.january.trips
-- expect: '2024-02', february_file.february.buckets, february_file.february.trips
-- expect: '2024-03', february_file.march.buckets, february_file.march.trips
SELECT pickup_month, count(*) AS buckets, sum(trips) AS trips
FROM february_file GROUP BY pickup_month ORDER BY pickup_month;

-- The rerun of the February file is stopped: two months would shrink to almost nothing.
-- expect error: pickup_month=2024-01 ({january.buckets} -> {february_file.january.buckets} rows)
-- expect error: pickup_month=2024-03 ({march.buckets} -> {february_file.march.buckets} rows)
INSERT OVERWRITE report PARTITION (pickup_month) SELECT * FROM february_file;

-- The table is as it was.
-- expect: report.buckets, report.trips, report.revenue
SELECT count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue FROM report;

-- Without the guard it springs: three partitions, two of them ruined.
SET partwise.max_shrink = 1;

INSERT OVERWRITE report PARTITION (pickup_month) SELECT * FROM february_file;

-- expect: '2024-01', february_file.january.buckets, february_file.january.trips
-- expect: '2024-02', february_file.february.buckets, february_file.february.trips
-- expect: '2024-03', february_file.march.buckets, february_file.march.trips
SELECT pickup_month, count(*) AS buckets, sum(trips) AS trips
FROM report GROUP BY pickup_month ORDER BY pickup_month;

RESET partwise.max_shrink;

-- Back to the whole report.
CREATE OR REPLACE TABLE report (zone INT, pickup_hour TIMESTAMP, trips BIGINT, revenue DOUBLE, pickup_month STRING)
USING parquet PARTITIONED BY (pickup_month)
AS SELECT * FROM zone_hours;

-- Repair 1: the rerun reads February from all files, and February only.
INSERT OVERWRITE report PARTITION (pickup_month)
SELECT * FROM zone_hours WHERE pickup_month = '2024-02';

-- expect: report.buckets, report.trips, report.revenue
SELECT count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue FROM report;

-- No repair: the February file filtered to February. The guard lets it pass, and trips of February
-- that are in the other files are lost.
INSERT OVERWRITE report PARTITION (pickup_month)
SELECT * FROM february_file WHERE pickup_month = '2024-02';

-- expect: february_file.february.buckets, february_file.february.trips
-- expect value: trips < february.trips
SELECT count(*) AS buckets, sum(trips) AS trips FROM report WHERE pickup_month = '2024-02';

-- Repair 2: the statement declares the one partition it may replace.
INSERT OVERWRITE report PARTITION (pickup_month = '2024-02')
SELECT zone, pickup_hour, trips, revenue FROM zone_hours WHERE pickup_month = '2024-02';

-- expect: '2024-01', january.buckets, january.trips, january.revenue
-- expect: '2024-02', february.buckets, february.trips, february.revenue
-- expect: '2024-03', march.buckets, march.trips, march.revenue
SELECT pickup_month, count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue
FROM report GROUP BY pickup_month ORDER BY pickup_month;
