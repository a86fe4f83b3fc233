-- Boroughs: a partition column that comes from another table
--
-- Each trip's zone is looked up in a CSV file, and the trips are laid out by borough. One of the
-- boroughs is called N/A: its directory is borough=N%2FA, as Hive and Spark write it, and reads
-- as N/A again. Notice how uneven the partitions are: most trips are Manhattan's.
--
--   partwise --set data=DIR -f sql/14_boroughs.sql

-- What to expect, from the files themselves.
-- keep: borough.partitions = boroughs
-- keep: borough.manhattan = manhattan
-- keep: borough.nowhere = nowhere
-- expect: _, _, _, kept
SELECT count(DISTINCT "Borough") AS boroughs,
  count(*) FILTER (WHERE "Borough" = 'Manhattan') AS manhattan,
  count(*) FILTER (WHERE "Borough" = 'N/A') AS nowhere,
  count(*) AS trips
FROM '${data}/yellow_tripdata_2024-0*.parquet'
JOIN '${data}/taxi_zone_lookup.csv' ON "PULocationID" = "LocationID"
WHERE tpep_pickup_datetime >= '2024-01-01' AND tpep_pickup_datetime < '2024-04-01';

CREATE OR REPLACE TABLE trips_by_borough USING parquet PARTITIONED BY (borough)
AS SELECT trips.*, zones."Borough" AS borough
FROM '${data}/yellow_tripdata_2024-0*.parquet' AS trips
JOIN '${data}/taxi_zone_lookup.csv' AS zones ON trips."PULocationID" = zones."LocationID"
WHERE tpep_pickup_datetime >= '2024-01-01' AND tpep_pickup_datetime < '2024-04-01';

-- No trip is lost: every zone has a borough.
-- expect: borough.partitions, kept, report.revenue
SELECT count(DISTINCT borough) AS boroughs, count(*) AS trips, round(sum(total_amount), 2) AS revenue
FROM trips_by_borough;

-- The directories.
-- expect contains: borough=N%2FA
-- expect contains: borough=Staten Island
SHOW PARTITIONS trips_by_borough;

-- expect: borough.nowhere
SELECT count(*) AS nowhere FROM trips_by_borough WHERE borough = 'N/A';

-- expect contains: PartitionFilters=[borough = 'N/A']
-- expect contains: files_read=1
-- expect contains: rows_read={borough.nowhere}
EXPLAIN ANALYZE SELECT count(*), sum(total_amount) FROM trips_by_borough WHERE borough = 'N/A';

-- expect contains: partitions=1/{borough.partitions}
EXPLAIN FORMAT INDENT SELECT count(*), sum(total_amount) FROM trips_by_borough WHERE borough = 'Manhattan';

-- One partition, yet most of the table: a partition column of few, uneven values saves little.
-- expect contains: rows_read={borough.manhattan}
EXPLAIN ANALYZE SELECT count(*), sum(total_amount) FROM trips_by_borough WHERE borough = 'Manhattan';
