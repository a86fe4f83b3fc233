-- Static overwrite: a statement that brings February alone leaves February alone
--
-- In static mode an overwrite that names no partition replaces the whole table, as Spark does
-- by default. January and March are gone, without an error.
--
--   partwise --set data=DIR -f sql/05_static_overwrite.sql
--
-- after: 01_report.sql

SET partwise.partition_overwrite_mode = 'static';

INSERT OVERWRITE report SELECT * FROM zone_hours WHERE pickup_month = '2024-02';

-- One partition is left.
-- expect: '2024-02', february.buckets, february.trips, february.revenue
SELECT pickup_month, count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue
FROM report GROUP BY pickup_month ORDER BY pickup_month;

RESET partwise.partition_overwrite_mode;
