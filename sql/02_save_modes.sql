-- The four save modes: what a write does when the path has data already
--
-- overwrite replaces, append adds, error (the default) refuses, ignore does nothing.
--
--   partwise -f sql/02_save_modes.sql

-- Five rows, on a path of their own.
DROP TABLE IF EXISTS modes PURGE;

CREATE TABLE modes (n BIGINT, part STRING) USING parquet PARTITIONED BY (part)
AS SELECT n, CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END AS part
FROM (VALUES (1), (2), (3), (4), (5)) AS five (n);

-- overwrite: the same five rows again are five rows.
CREATE OR REPLACE TABLE modes (n BIGINT, part STRING) USING parquet PARTITIONED BY (part)
AS SELECT n, CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END AS part
FROM (VALUES (1), (2), (3), (4), (5)) AS five (n);

-- expect: 5
SELECT count(*) AS after_overwrite FROM modes;

-- append: five more.
INSERT INTO modes
SELECT n, CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END AS part
FROM (VALUES (1), (2), (3), (4), (5)) AS five (n);

-- expect: 10
SELECT count(*) AS after_append FROM modes;

-- ignore: nothing happens, the query isn't even run.
CREATE TABLE IF NOT EXISTS modes (n BIGINT, part STRING) USING parquet PARTITIONED BY (part)
AS SELECT 1 / 0 AS n, 'even' AS part;

-- expect: 10
SELECT count(*) AS after_ignore FROM modes;

-- error: the statement fails and names the path.
-- expect error: /modes has data already
CREATE TABLE modes (n BIGINT, part STRING) USING parquet PARTITIONED BY (part)
AS SELECT 6 AS n, 'even' AS part;

-- And overwrite brings it back to five.
INSERT OVERWRITE modes
SELECT n, CASE WHEN n % 2 = 0 THEN 'even' ELSE 'odd' END AS part
FROM (VALUES (1), (2), (3), (4), (5)) AS five (n);

-- expect: 5
SELECT count(*) AS after_the_last_overwrite FROM modes;
