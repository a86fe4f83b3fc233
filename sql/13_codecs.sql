-- Codecs: snappy, gzip and zstd on the same trips
--
-- The codec is an option of the table; the name of each file tells it, and so does the footer.
-- Snappy is the quickest and the default, gzip and zstd take less room. Compare the bytes, and the
-- times of the three writes.
--
--   partwise --set data=DIR -f sql/13_codecs.sql

CREATE OR REPLACE TABLE january_snappy USING parquet OPTIONS ('compression' 'snappy')
AS SELECT * FROM '${data}/yellow_tripdata_2024-01.parquet';

CREATE OR REPLACE TABLE january_gzip USING parquet OPTIONS ('compression' 'gzip')
AS SELECT * FROM '${data}/yellow_tripdata_2024-01.parquet';

CREATE OR REPLACE TABLE january_zstd USING parquet OPTIONS ('compression' 'zstd(3)')
AS SELECT * FROM '${data}/yellow_tripdata_2024-01.parquet';

-- The trip files as they came: any path will do.
-- expect: 3, _
SELECT count(DISTINCT filename) AS files, sum(total_compressed_size) AS bytes
FROM parquet_metadata('${data}/yellow_tripdata_2024-0*.parquet');

-- expect value: bytes > 0
SELECT compression, sum(total_compressed_size) AS bytes
FROM parquet_metadata('${data}/yellow_tripdata_2024-01.parquet') GROUP BY compression;

-- The codec as the footers have it, and the bytes.
-- keep: snappy.bytes = bytes
-- expect: 'SNAPPY', _
SELECT compression, sum(total_compressed_size) AS bytes
FROM parquet_metadata('january_snappy') GROUP BY compression;

-- expect: 'GZIP', _
-- expect value: bytes < snappy.bytes
SELECT compression, sum(total_compressed_size) AS bytes
FROM parquet_metadata('january_gzip') GROUP BY compression;

-- expect: 'ZSTD', _
-- expect value: bytes < snappy.bytes
SELECT compression, sum(total_compressed_size) AS bytes
FROM parquet_metadata('january_zstd') GROUP BY compression;

-- The names of the files say it too.
-- expect: 'gz.parquet'
-- expect: 'snappy.parquet'
-- expect: 'zstd.parquet'
SELECT DISTINCT regexp_replace(filename, '^.*-[0-9]+[.]', '') AS ending
FROM (
  SELECT filename FROM parquet_metadata('january_snappy')
  UNION ALL SELECT filename FROM parquet_metadata('january_gzip')
  UNION ALL SELECT filename FROM parquet_metadata('january_zstd')
) AS files ORDER BY ending;

-- The rows are the same, whatever they are packed in.
-- keep: all.january = snappy_amount
-- expect: file.january, file.january, file.january, _
SELECT
  (SELECT count(*) FROM january_snappy) AS snappy_trips,
  (SELECT count(*) FROM january_gzip) AS gzip_trips,
  (SELECT count(*) FROM january_zstd) AS zstd_trips,
  (SELECT round(sum(total_amount), 2) FROM january_snappy) AS snappy_amount;

-- expect: all.january, all.january
SELECT
  (SELECT round(sum(total_amount), 2) FROM january_gzip) AS gzip_amount,
  (SELECT round(sum(total_amount), 2) FROM january_zstd) AS zstd_amount;
