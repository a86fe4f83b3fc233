-- The append trap: an appended batch that overlaps the table counts its rows twice
--
-- February is computed again and appended, by somebody who took it for a correction. Two of three
-- months stay right, so a glance at the table doesn't show it. What to do instead: replace the
-- partition; or, where rows are only ever added, give the append a job and a run number.
--
--   partwise --set data=DIR -f sql/10_append_trap.sql
--
-- after: 01_report.sql

INSERT INTO report SELECT * FROM zone_hours WHERE pickup_month = '2024-02';

-- February is there twice.
-- expect: '2024-01', january.buckets, january.trips, january.revenue
-- expect: '2024-02', 2 * february.buckets, 2 * february.trips, 2 * february.revenue
-- expect: '2024-03', march.buckets, march.trips, march.revenue
SELECT pickup_month, count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue
FROM report GROUP BY pickup_month ORDER BY pickup_month;

-- The check that finds it: a zone has one row per hour.
-- expect: february.buckets
SELECT count(*) AS doubled_buckets
FROM (SELECT zone, pickup_hour FROM report GROUP BY zone, pickup_hour HAVING count(*) > 1) AS doubled;

-- Instead, and as the repair: the batch replaces the partition that it is the whole content of.
INSERT OVERWRITE report PARTITION (pickup_month = '2024-02')
SELECT zone, pickup_hour, trips, revenue FROM zone_hours WHERE pickup_month = '2024-02';

-- expect: report.buckets, report.trips, report.revenue
SELECT count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue FROM report;

-- A table that only grows: March arrives, as run 202403 of a job.
DROP TABLE IF EXISTS arrivals PURGE;

CREATE TABLE arrivals USING parquet PARTITIONED BY (pickup_month)
AS SELECT * FROM zone_hours WHERE pickup_month < '2024-03';

SET partwise.job = 'arrivals';

SET partwise.run = 202403;

INSERT INTO arrivals SELECT * FROM zone_hours WHERE pickup_month = '2024-03';

-- The scheduler starts the same run once more.
SET partwise.run = 202403;

-- expect contains: already
INSERT INTO arrivals SELECT * FROM zone_hours WHERE pickup_month = '2024-03';

RESET partwise.run;

RESET partwise.job;

-- March is there once.
-- expect: report.buckets, report.trips, report.revenue
SELECT count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue FROM arrivals;
