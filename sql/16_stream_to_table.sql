-- A stream: the report kept up to date, file by file
--
-- A query over a stream runs as batches. Each file of the folder is read once, and the buckets that
-- a batch changes are put in the place of their old rows: one commit a batch. How far the query has
-- come stands in its checkpoint, so that it goes on where it was, also after a crash. Notice that
-- three batches give the same report as one job over everything.
--
--   partwise --set data=DIR -f sql/16_stream_to_table.sql

-- From the beginning: without its table and its checkpoint a query knows nothing.
DROP TABLE IF EXISTS report_stream PURGE;
DROP CHECKPOINT IF EXISTS 'checkpoints/report_stream/';

CREATE STREAM trip_files FROM FILES '${data}/' OPTIONS ('max_files_per_trigger' '1');

-- A stream has no end: it isn't asked, a query runs over it.
-- expect error: trip_files is a stream
SELECT count(*) FROM trip_files;

START QUERY report_stream OUTPUT MODE update TRIGGER AVAILABLE NOW
CHECKPOINT 'checkpoints/report_stream/'
INTO TABLE report_stream PARTITIONED BY (pickup_month)
AS SELECT
  "PULocationID" AS zone,
  tumble(tpep_pickup_datetime, INTERVAL '1 hour') AS pickup_hour,
  count(*) AS trips,
  sum(total_amount) AS revenue,
  date_format(tumble(tpep_pickup_datetime, INTERVAL '1 hour'), '%Y-%m') AS pickup_month
FROM trip_files
WHERE tpep_pickup_datetime >= '2024-01-01' AND tpep_pickup_datetime < '2024-04-01'
GROUP BY ALL;

AWAIT QUERY report_stream;

-- expect: 3, files, 0
SELECT count(*) AS batches, sum(input_rows) AS input_rows, sum(late_rows) AS late_rows
FROM query_history('report_stream');

-- The whole report.
-- expect: report.buckets, report.trips, report.revenue
SELECT count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue FROM report_stream;

-- The same by month.
-- expect: '2024-01', january.buckets, january.trips, january.revenue
-- expect: '2024-02', february.buckets, february.trips, february.revenue
-- expect: '2024-03', march.buckets, march.trips, march.revenue
SELECT pickup_month, count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue
FROM report_stream GROUP BY pickup_month ORDER BY pickup_month;

-- Each batch is a commit that says which one it is.
-- expect: 3, 0, 2
SELECT count(*) AS commits, min(run) AS first_batch, max(run) AS last_batch
FROM history('report_stream') WHERE job IS NOT NULL;

-- Started again, it finds nothing new.
START QUERY report_stream OUTPUT MODE update TRIGGER AVAILABLE NOW
CHECKPOINT 'checkpoints/report_stream/'
INTO TABLE report_stream PARTITIONED BY (pickup_month)
AS SELECT
  "PULocationID" AS zone,
  tumble(tpep_pickup_datetime, INTERVAL '1 hour') AS pickup_hour,
  count(*) AS trips,
  sum(total_amount) AS revenue,
  date_format(tumble(tpep_pickup_datetime, INTERVAL '1 hour'), '%Y-%m') AS pickup_month
FROM trip_files
WHERE tpep_pickup_datetime >= '2024-01-01' AND tpep_pickup_datetime < '2024-04-01'
GROUP BY ALL;

-- expect contains: no new batches
AWAIT QUERY report_stream;

-- expect: report.buckets, report.trips, report.revenue
SELECT count(*) AS buckets, sum(trips) AS trips, round(sum(revenue), 2) AS revenue FROM report_stream;
