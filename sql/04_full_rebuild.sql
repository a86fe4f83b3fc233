-- Full rebuild: run it twice and the table is the same
--
-- Replacing the whole table is the simplest idempotent write. Its price is that every run
-- reads and writes the whole quarter.
--
--   partwise --set data=DIR -f sql/04_full_rebuild.sql
--
-- after: 01_report.sql

-- The rerun.
CREATE OR REPLACE TABLE report (zone INT, pickup_hour TIMESTAMP, trips BIGINT, revenue DOUBLE, pickup_month STRING)
USING parquet PARTITIONED BY (pickup_month)
AS SELECT * FROM zone_hours;

-- One report, not two.
-- expect: report.buckets, report.trips, report.revenue
SELECT count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue FROM report;

-- expect: '2024-01', january.buckets, january.trips, january.revenue
-- expect: '2024-02', february.buckets, february.trips, february.revenue
-- expect: '2024-03', march.buckets, march.trips, march.revenue
SELECT pickup_month, count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue
FROM report GROUP BY pickup_month ORDER BY pickup_month;
