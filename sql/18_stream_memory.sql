-- Trying a query out: rows in memory and on the screen
--
-- INTO MEMORY makes a table of the session out of a query's rows, INTO CONSOLE shows each batch.
-- Both are gone with the process: for development. TRIGGER ONCE runs one batch.
--
--   partwise --set data=DIR -f sql/18_stream_memory.sql

DROP CHECKPOINT IF EXISTS 'checkpoints/months/';
DROP CHECKPOINT IF EXISTS 'checkpoints/payments/';
DROP CHECKPOINT IF EXISTS 'checkpoints/first/';

CREATE STREAM trip_files FROM FILES '${data}/' OPTIONS ('max_files_per_trigger' '1');

START QUERY months OUTPUT MODE update TRIGGER AVAILABLE NOW CHECKPOINT 'checkpoints/months/'
INTO MEMORY months
AS SELECT date_format(tpep_pickup_datetime, '%Y-%m') AS pickup_month, count(*) AS trips, sum(total_amount) AS revenue
FROM trip_files
WHERE tpep_pickup_datetime >= '2024-01-01' AND tpep_pickup_datetime < '2024-04-01'
GROUP BY 1;

AWAIT QUERY months;

-- expect: '2024-01', january.trips, january.revenue
-- expect: '2024-02', february.trips, february.revenue
-- expect: '2024-03', march.trips, march.revenue
SELECT pickup_month, trips, round(revenue, 2) AS revenue FROM months ORDER BY pickup_month;

-- The whole result of one batch: the file that came first.
START QUERY first OUTPUT MODE complete TRIGGER ONCE CHECKPOINT 'checkpoints/first/'
INTO CONSOLE AS SELECT count(*) AS rows FROM trip_files;

AWAIT QUERY first;

-- expect: 1
SELECT count(*) AS batches FROM query_history('first');

-- Every row of every file.
START QUERY payments OUTPUT MODE complete TRIGGER AVAILABLE NOW CHECKPOINT 'checkpoints/payments/'
INTO MEMORY payments AS SELECT payment_type, count(*) AS trips FROM trip_files GROUP BY 1;

AWAIT QUERY payments;

-- expect: files
SELECT sum(trips) AS trips FROM payments;

-- expect contains: ended
SHOW QUERIES;
