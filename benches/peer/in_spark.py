"""Spark from its Python package, in local mode."""

import os

from .place import DAY, FEBRUARY, QUARTER, THREADS

os.environ["TZ"] = "UTC"
from pyspark.sql import SparkSession  # noqa: E402
from pyspark.sql import functions as F  # noqa: E402

COUNTED = f"`local[{THREADS}]`, dynamic partition overwrite, 4 shuffle partitions, 4 GB for the \
driver. The task's second run in one session, after a first one to warm the JVM; the whole \
process is JVM start and the first run. No sync. By day repartitions by the day: one file a day"
INSTEAD = {}
#: The time inside the process is that of a second run.
WARM = True


def start(place):
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "4g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
        "spark.sql.parquet.compression.codec": "snappy",
        "spark.local.dir": str(place.work / "scratch"),
        "spark.sql.warehouse.dir": str(place.work / "warehouse"),
    }
    builder = SparkSession.builder.master(f"local[{THREADS}]").appName("peers")
    session = builder.config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def stop(session):
    session.stop()


def write(frame, target, partition):
    frame.write.mode("overwrite").partitionBy(partition).parquet(str(target))


def trips(session, place, window):
    first, end = (F.lit(day).cast("timestamp_ntz") for day in window)
    pickup = F.col("tpep_pickup_datetime")
    return session.read.parquet(*place.files()).where((pickup >= first) & (pickup < end))


def zone_hours(session, place, window):
    hour = F.date_trunc("hour", "tpep_pickup_datetime").alias("pickup_hour")
    return (
        trips(session, place, window)
        .groupBy(F.col("PULocationID").alias("zone"), hour)
        .agg(F.count("*").alias("trips"), F.sum("total_amount").alias("revenue"))
        .withColumn("pickup_month", F.date_format("pickup_hour", "yyyy-MM"))
    )


def report(session, place):
    write(zone_hours(session, place, QUARTER), place.table("report"), "pickup_month")


def february(session, place):
    write(zone_hours(session, place, FEBRUARY), place.table("report"), "pickup_month")


def by_day(session, place):
    rows = trips(session, place, QUARTER).select(
        F.to_date("tpep_pickup_datetime").alias("pickup_date"),
        F.date_trunc("hour", "tpep_pickup_datetime").alias("pickup_hour"),
        "PULocationID", "total_amount",
    )
    write(rows.repartition("pickup_date"), place.table("by_day"), "pickup_date")


def ask(session, table, condition, column):
    frame = session.read.parquet(str(table)).where(condition)
    return list(frame.agg(F.count("*"), F.sum(column)).collect()[0])


def one_day(session, place):
    return ask(session, place.table("one_day"), f"pickup_date = DATE '{DAY}'", "total_amount")


def many(session, place):
    return ask(session, place.table("many"), f"k = {place.key}", "v")
