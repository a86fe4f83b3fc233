"""Polars from its Python package."""

import datetime
import os
import shutil

from .place import DAY, FEBRUARY, QUARTER, THREADS

os.environ["POLARS_MAX_THREADS"] = str(THREADS)
import polars as pl  # noqa: E402  (it reads the number of threads when it is loaded)

COUNTED = "`sink_parquet` into `PartitionBy` and `scan_parquet`, without the start of Python. \
No sync. `maintain_order=False`"
INSTEAD = {"february": "remove the month's directory, then sink into it: no February in between"}


def start(place):
    return None


def sink(frame, target, key):
    frame.sink_parquet(
        pl.PartitionBy(f"{target}/", key=key, include_key=False),
        mkdir=True, compression="snappy", maintain_order=False,
    )


def trips(place, window):
    first, end = (datetime.datetime.fromisoformat(day) for day in window)
    pickup = pl.col("tpep_pickup_datetime")
    return pl.scan_parquet(place.files()).filter((pickup >= first) & (pickup < end))


def zone_hours(place, window):
    hour = pl.col("tpep_pickup_datetime").dt.truncate("1h").alias("pickup_hour")
    return (
        trips(place, window)
        .group_by(pl.col("PULocationID").alias("zone"), hour)
        .agg(trips=pl.len().cast(pl.Int64), revenue=pl.col("total_amount").sum())
        .with_columns(pickup_month=pl.col("pickup_hour").dt.strftime("%Y-%m"))
    )


def report(_, place):
    sink(zone_hours(place, QUARTER), place.table("report"), "pickup_month")


def february(_, place):
    shutil.rmtree(place.table("report") / f"pickup_month={FEBRUARY[0][:7]}", ignore_errors=True)
    sink(zone_hours(place, FEBRUARY), place.table("report"), "pickup_month")


def by_day(_, place):
    pickup = pl.col("tpep_pickup_datetime")
    rows = trips(place, QUARTER).select(
        pickup.dt.date().alias("pickup_date"), pickup.dt.truncate("1h").alias("pickup_hour"),
        "PULocationID", "total_amount",
    )
    sink(rows, place.table("by_day"), "pickup_date")


def ask(table, key, type_, value, column):
    frame = pl.scan_parquet(f"{table}/", hive_partitioning=True, hive_schema={key: type_})
    frame = frame.filter(pl.col(key) == value).select(pl.len(), pl.col(column).sum())
    return frame.collect().row(0)


def one_day(_, place):
    day = datetime.date.fromisoformat(DAY)
    return ask(place.table("one_day"), "pickup_date", pl.Date, day, "total_amount")


def many(_, place):
    return ask(place.table("many"), "k", pl.Int64, place.key, "v")
