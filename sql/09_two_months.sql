-- Two months at once: February and March together, dynamic and static
--
-- One statement may bring several partitions; they are replaced together or not at all. Dynamic
-- leaves January alone, static takes it away.
--
--   partwise --set data=DIR -f sql/09_two_months.sql
--
-- after: 01_report.sql

-- Dynamic, the default: two partitions replaced, one untouched.
-- expect contains: replaced 2 partitions
-- expect contains: 1 untouched
INSERT OVERWRITE report PARTITION (pickup_month)
SELECT * FROM zone_hours WHERE pickup_month IN ('2024-02', '2024-03');

-- expect: '2024-01', january.buckets, january.trips, january.revenue
-- expect: '2024-02', february.buckets, february.trips, february.revenue
-- expect: '2024-03', march.buckets, march.trips, march.revenue
SELECT pickup_month, count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue
FROM report GROUP BY pickup_month ORDER BY pickup_month;

-- expect: report.buckets, report.trips, report.revenue
SELECT count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue FROM report;

-- Static: the same statement replaces the table.
SET partwise.partition_overwrite_mode = 'static';

INSERT OVERWRITE report PARTITION (pickup_month)
SELECT * FROM zone_hours WHERE pickup_month IN ('2024-02', '2024-03');

RESET partwise.partition_overwrite_mode;

-- Two partitions are left.
-- expect: '2024-02', february.buckets, february.trips, february.revenue
-- expect: '2024-03', march.buckets, march.trips, march.revenue
SELECT pickup_month, count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue
FROM report GROUP BY pickup_month ORDER BY pickup_month;
