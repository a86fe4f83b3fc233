"""What the answers have to be, and what lies in a directory, both by pyarrow."""

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from .place import DAY, QUARTER


def in_cents(amounts):
    """Doubles of two decimals as whole cents, to be added up exactly."""
    return pc.cast(pc.round(pc.multiply(amounts, 100.0)), pa.int64())


def raw_trips(place):
    """Zone, hour, day and cents of the quarter's trips."""
    pickup = pc.field("tpep_pickup_datetime")
    first, end = (pa.scalar(day).cast(pa.timestamp("us")) for day in QUARTER)
    columns = ["tpep_pickup_datetime", "PULocationID", "total_amount"]
    trips = ds.dataset(place.files()).to_table(
        columns=columns, filter=(pickup >= first) & (pickup < end)
    )
    at = trips["tpep_pickup_datetime"]
    return pa.table({
        "zone": trips["PULocationID"],
        "hour": pc.floor_temporal(at, unit="hour"),
        "day": pc.floor_temporal(at, unit="day"),
        "cents": in_cents(trips["total_amount"]),
    })


def expected(place):
    """Per task: the rows and cents of each partition, or the answer of the question."""
    trips = raw_trips(place)
    buckets = summed(trips, ["zone", "hour"])
    buckets = buckets.append_column("month", pc.strftime(buckets["hour"], "%Y-%m"))
    months = {
        month: [rows, total, count]
        for month, rows, total, count in totals(buckets, "month", ["cents", "trips"])
    }
    by_day = summed(trips, ["day"])
    names = pc.strftime(by_day["day"], "%Y-%m-%d").to_pylist()
    days = dict(zip(names, zip(by_day["trips"].to_pylist(), by_day["cents"].to_pylist())))
    rows, total = days[DAY]
    return {
        "report": months,
        "february": months,
        "by_day": days,
        "one_day": [rows, total / 100],
        "many": [2, 2 * place.key + 1],
    }


def summed(table, keys):
    grouped = table.group_by(keys).aggregate([("cents", "sum"), ([], "count_all")])
    return grouped.rename_columns({"cents_sum": "cents", "count_all": "trips"})


def totals(table, key, columns):
    grouped = table.group_by(key).aggregate(
        [([], "count_all")] + [(column, "sum") for column in columns]
    )
    names = [key, "count_all"] + [f"{column}_sum" for column in columns]
    return zip(*(grouped[name].to_pylist() for name in names))


def written(directory):
    """Per partition: rows, revenue in cents, and trips if it counts them; and the data files."""
    files = sorted(Path(directory).glob("*=*/*.parquet"))
    by_partition = {}
    for file in files:
        by_partition.setdefault(file.parent.name.split("=", 1)[1], []).append(str(file))
    found = {name: read(ds.dataset(paths).to_table()) for name, paths in by_partition.items()}
    return {"partitions": found, "files": len(files)}


def read(table):
    if "revenue" in table.column_names:
        return [len(table), round(100 * pc.sum(table["revenue"]).as_py()), pc.sum(table["trips"]).as_py()]
    return [len(table), pc.sum(in_cents(table["total_amount"])).as_py()]
