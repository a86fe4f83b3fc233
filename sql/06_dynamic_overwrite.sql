-- Dynamic overwrite: only the partitions that receive rows are replaced
--
-- The default here. A corrected February goes in as often as one likes; the files of January
-- and March keep their names and bytes.
--
--   partwise --set data=DIR -f sql/06_dynamic_overwrite.sql
--
-- after: 01_report.sql

INSERT OVERWRITE report PARTITION (pickup_month)
SELECT * FROM zone_hours WHERE pickup_month = '2024-02';

-- Three partitions, and the total.
-- expect: '2024-01', january.buckets, january.trips, january.revenue
-- expect: '2024-02', february.buckets, february.trips, february.revenue
-- expect: '2024-03', march.buckets, march.trips, march.revenue
SELECT pickup_month, count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue
FROM report GROUP BY pickup_month ORDER BY pickup_month;

-- The rerun.
INSERT OVERWRITE report PARTITION (pickup_month)
SELECT * FROM zone_hours WHERE pickup_month = '2024-02';

-- Nothing has changed.
-- expect: report.buckets, report.trips, report.revenue
SELECT count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue FROM report;
