"""DataFusion's own COPY, from its Python package."""

import shutil

from datafusion import SessionConfig, SessionContext

from .place import DAY, FEBRUARY, QUARTER, THREADS

COUNTED = "`COPY` on a session that has the raw files registered, queries with their \
`CREATE EXTERNAL TABLE` (columns declared), without the start of Python. No sync"
INSTEAD = {
    "february": "`COPY` adds files: remove the month's directory, then `COPY`: no February in between"
}


def start(place):
    session = SessionContext(SessionConfig().with_target_partitions(THREADS))
    session.sql(
        "CREATE EXTERNAL TABLE raw STORED AS PARQUET "
        f"LOCATION '{place.data}/yellow_tripdata_2024-0*.parquet'"
    ).collect()
    return session


def copy(session, query, target, partition):
    session.sql(
        f"COPY ({query}) TO '{target}/' STORED AS PARQUET PARTITIONED BY ({partition}) "
        "OPTIONS ('format.compression' 'snappy')"
    ).collect()


def between(window):
    return (
        f"tpep_pickup_datetime >= TIMESTAMP '{window[0]}' "
        f"AND tpep_pickup_datetime < TIMESTAMP '{window[1]}'"
    )


def zone_hours(window):
    hour = "date_trunc('hour', tpep_pickup_datetime)"
    return (
        f'SELECT "PULocationID" AS zone, {hour} AS pickup_hour, count(*) AS trips, '
        f"sum(total_amount) AS revenue, to_char({hour}, '%Y-%m') AS pickup_month "
        f"FROM raw WHERE {between(window)} GROUP BY 1, 2"
    )


def report(session, place):
    copy(session, zone_hours(QUARTER), place.table("report"), "pickup_month")


def february(session, place):
    shutil.rmtree(place.table("report") / f"pickup_month={FEBRUARY[0][:7]}", ignore_errors=True)
    copy(session, zone_hours(FEBRUARY), place.table("report"), "pickup_month")


def by_day(session, place):
    query = (
        "SELECT CAST(tpep_pickup_datetime AS DATE) AS pickup_date, "
        "date_trunc('hour', tpep_pickup_datetime) AS pickup_hour, "
        f'"PULocationID", total_amount FROM raw WHERE {between(QUARTER)}'
    )
    copy(session, query, place.table("by_day"), "pickup_date")


def ask(session, table, columns, partition, query):
    session.sql(
        f"CREATE EXTERNAL TABLE asked ({columns}) STORED AS PARQUET "
        f"PARTITIONED BY ({partition}) LOCATION '{table}/'"
    ).collect()
    batch = session.sql(query).collect()[0]
    session.deregister_table("asked")
    return [column[0].as_py() for column in batch.columns]


def one_day(session, place):
    return ask(
        session, place.table("one_day"),
        'pickup_hour TIMESTAMP, "PULocationID" INT, total_amount DOUBLE, pickup_date DATE', "pickup_date",
        f"SELECT count(*), sum(total_amount) FROM asked WHERE pickup_date = DATE '{DAY}'",
    )


def many(session, place):
    return ask(
        session, place.table("many"), "v BIGINT, k BIGINT", "k",
        f"SELECT count(*), sum(v) FROM asked WHERE k = {place.key}",
    )
