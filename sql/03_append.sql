-- Append: the rerun of an appending job doubles every figure
--
-- Nothing fails and nothing warns: the second run simply counts every trip twice.
--
--   partwise --set data=DIR -f sql/03_append.sql
--
-- after: 01_report.sql

-- The job runs once more, and appends.
INSERT INTO report SELECT * FROM zone_hours;

-- Everything is there twice.
-- expect: 2 * report.buckets, 2 * report.trips, 2 * report.revenue
SELECT count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue FROM report;
