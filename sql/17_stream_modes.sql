-- Output modes: rows that stay, rows that change, the whole result
--
-- append gives rows that will never change: each trip, or a window that is closed. update gives the
-- groups that a batch has changed. complete gives the whole result each time, which may be sorted
-- and cut. What a mode can't promise is refused, with the reason.
--
--   partwise --set data=DIR -f sql/17_stream_modes.sql

DROP TABLE IF EXISTS trips_stream PURGE;
DROP TABLE IF EXISTS top_zones PURGE;
DROP CHECKPOINT IF EXISTS 'checkpoints/trips_stream/';
DROP CHECKPOINT IF EXISTS 'checkpoints/top_zones/';

CREATE STREAM trip_files FROM FILES '${data}/' OPTIONS ('max_files_per_trigger' '1');

-- append: the trips themselves, by day.
START QUERY trips_stream OUTPUT MODE append TRIGGER AVAILABLE NOW CHECKPOINT 'checkpoints/trips_stream/'
INTO TABLE trips_stream PARTITIONED BY (pickup_date)
AS SELECT *, CAST(tpep_pickup_datetime AS DATE) AS pickup_date FROM trip_files
WHERE tpep_pickup_datetime >= '2024-01-01' AND tpep_pickup_datetime < '2024-04-01';

AWAIT QUERY trips_stream;

-- expect: kept, days
SELECT count(*) AS trips, count(DISTINCT pickup_date) AS days FROM trips_stream;

-- A batch job writes the same table.
INSERT OVERWRITE trips_stream PARTITION (pickup_date = DATE '2024-01-15')
SELECT * EXCEPT (pickup_date) FROM trips_stream WHERE pickup_date = DATE '2024-01-15';

-- expect: day.trips
SELECT count(*) AS trips FROM trips_stream WHERE pickup_date = DATE '2024-01-15';

-- A count goes on changing: nobody can say when a row of it will stay.
-- expect error: append
START QUERY counts OUTPUT MODE append TRIGGER AVAILABLE NOW CHECKPOINT 'checkpoints/counts/'
INTO TABLE counts AS SELECT "PULocationID" AS zone, count(*) AS trips FROM trip_files GROUP BY 1;

-- complete: the ten zones with the most trips, anew with each batch.
START QUERY top_zones OUTPUT MODE complete TRIGGER AVAILABLE NOW CHECKPOINT 'checkpoints/top_zones/'
INTO TABLE top_zones
AS SELECT "PULocationID" AS zone, count(*) AS trips FROM trip_files
WHERE tpep_pickup_datetime >= '2024-01-01' AND tpep_pickup_datetime < '2024-04-01'
GROUP BY 1 ORDER BY trips DESC, zone LIMIT 10;

AWAIT QUERY top_zones;

-- keep: top.trips = trips
-- expect: 10, _
SELECT count(*) AS zones, sum(trips) AS trips FROM top_zones;

-- The same from the trips.
-- expect: top.trips
SELECT sum(trips) AS trips FROM (
  SELECT "PULocationID" AS zone, count(*) AS trips FROM trips_stream
  GROUP BY 1 ORDER BY trips DESC, zone LIMIT 10
);
