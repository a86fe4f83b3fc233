-- Append: every rerun of an appending job adds the whole report once more
--
-- Nothing fails and nothing warns: the second run counts every trip twice, the third three times.
-- Notice that the figures are exact multiples; nothing in the table says which rows are too many.
--
--   partwise --set data=DIR -f sql/03_append.sql
--
-- after: 01_report.sql

-- The job runs once more, and appends.
INSERT INTO report SELECT * FROM zone_hours;

-- expect: 2 * report.buckets, 2 * report.trips, 2 * report.revenue
SELECT count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue FROM report;

-- And again.
INSERT INTO report SELECT * FROM zone_hours;

-- expect: 3 * report.buckets, 3 * report.trips, 3 * report.revenue
SELECT count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue FROM report;

-- And again.
INSERT INTO report SELECT * FROM zone_hours;

-- expect: 4 * report.buckets, 4 * report.trips, 4 * report.revenue
SELECT count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue FROM report;

-- No month is spared, and each append left a file of its own.
-- expect: '2024-01', _, 4 * january.buckets, 4, _, _
-- expect: '2024-02', _, 4 * february.buckets, 4, _, _
-- expect: '2024-03', _, 4 * march.buckets, 4, _, _
SHOW PARTITIONS report;
