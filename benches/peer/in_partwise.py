"""Partwise: its binary, a process for each statement."""

from .place import DAY, FEBRUARY, QUARTER, THREADS

COUNTED = f"the whole process of `partwise --threads {THREADS} -c ...`: start, plan, write, every sync, \
the commit and the removal of what it replaced"
INSTEAD = {}


def between(window):
    return f"tpep_pickup_datetime >= '{window[0]}' AND tpep_pickup_datetime < '{window[1]}'"


def zone_hours(place, window):
    hour = "date_trunc('hour', tpep_pickup_datetime)"
    return (
        f"SELECT PULocationID AS zone, {hour} AS pickup_hour, count(*) AS trips, "
        f"sum(total_amount) AS revenue, to_char({hour}, '%Y-%m') AS pickup_month "
        f"FROM '{place.data}/yellow_tripdata_2024-0*.parquet' WHERE {between(window)} GROUP BY 1, 2"
    )


def report(place):
    return f"CREATE TABLE report USING parquet PARTITIONED BY (pickup_month) AS {zone_hours(place, QUARTER)}"


def february(place):
    return f"INSERT OVERWRITE report PARTITION (pickup_month) {zone_hours(place, FEBRUARY)}"


def by_day(place):
    return (
        "CREATE TABLE trips USING parquet PARTITIONED BY (pickup_date) AS "
        "SELECT CAST(tpep_pickup_datetime AS DATE) AS pickup_date, "
        "date_trunc('hour', tpep_pickup_datetime) AS pickup_hour, PULocationID, total_amount "
        f"FROM '{place.data}/yellow_tripdata_2024-0*.parquet' WHERE {between(QUARTER)}"
    )


def one_day(place):
    return f"SELECT count(*), sum(total_amount) FROM trips WHERE pickup_date = DATE '{DAY}'"


def many(place):
    return f"SELECT count(*), sum(v) FROM many WHERE k = {place.key}"


def make_many(place):
    """The table with many partitions: two rows each, which every system then reads."""
    return (
        "CREATE OR REPLACE TABLE many USING parquet PARTITIONED BY (k) AS "
        f"SELECT value % {place.many} + value / {place.many} AS v, value % {place.many} AS k "
        f"FROM generate_series(0, {2 * place.many - 1})"
    )
