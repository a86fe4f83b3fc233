"""DuckDB from its Python package."""

import duckdb

from .place import DAY, FEBRUARY, QUARTER, THREADS

COUNTED = "`COPY` and queries on an open connection, without the start of Python. No sync. \
`preserve_insertion_order = false`, as its guide for large writes says"
INSTEAD = {
    "february": "`OVERWRITE_OR_IGNORE`: replaces files of equal names, and would leave a fourth \
file of an earlier run beside three new ones"
}


def start(place):
    connection = duckdb.connect()
    connection.execute(f"SET threads = {THREADS}; SET preserve_insertion_order = false")
    return connection


def copy(connection, query, target, partition):
    connection.execute(
        f"COPY ({query}) TO '{target}' "
        f"(FORMAT parquet, COMPRESSION snappy, PARTITION_BY ({partition}), OVERWRITE_OR_IGNORE)"
    )


def zone_hours(place, window):
    hour = "date_trunc('hour', tpep_pickup_datetime)"
    return (
        f"SELECT PULocationID AS zone, {hour} AS pickup_hour, count(*) AS trips, "
        f"sum(total_amount) AS revenue, strftime({hour}, '%Y-%m') AS pickup_month "
        f"FROM read_parquet({place.files()}) WHERE tpep_pickup_datetime >= '{window[0]}' "
        f"AND tpep_pickup_datetime < '{window[1]}' GROUP BY ALL"
    )


def report(connection, place):
    copy(connection, zone_hours(place, QUARTER), place.table("report"), "pickup_month")


def february(connection, place):
    copy(connection, zone_hours(place, FEBRUARY), place.table("report"), "pickup_month")


def by_day(connection, place):
    query = (
        "SELECT tpep_pickup_datetime::DATE AS pickup_date, "
        "date_trunc('hour', tpep_pickup_datetime) AS pickup_hour, PULocationID, total_amount "
        f"FROM read_parquet({place.files()}) WHERE tpep_pickup_datetime >= '{QUARTER[0]}' "
        f"AND tpep_pickup_datetime < '{QUARTER[1]}'"
    )
    copy(connection, query, place.table("by_day"), "pickup_date")


def ask(connection, table, types, query):
    source = f"read_parquet('{table}/**/*.parquet', hive_partitioning = true, hive_types = {types})"
    return connection.execute(query.format(source=source)).fetchone()


def one_day(connection, place):
    return ask(
        connection, place.table("one_day"), "{'pickup_date': DATE}",
        f"SELECT count(*), sum(total_amount) FROM {{source}} WHERE pickup_date = DATE '{DAY}'",
    )


def many(connection, place):
    return ask(
        connection, place.table("many"), "{'k': BIGINT}",
        f"SELECT count(*), sum(v) FROM {{source}} WHERE k = {place.key}",
    )
