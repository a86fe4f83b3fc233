#!/usr/bin/env python3
"""A month's trips in sixty files, one file a batch, counted by hour and zone as they arrive: Partwise's
micro-batches beside Spark Structured Streaming's, the same files, two threads, taking turns.

    cargo build --release
    benches/streams.py                          # a few minutes
    benches/streams.py --scale 0.02 --runs 1    # a try

Append mode: an hour is written once the watermark, ten minutes behind the latest pickup, has passed its
end. Both go through what is there (available now) into Parquet with a checkpoint on the same disk; then
both outputs are counted, summed and compared row by row. The time of a batch is what each system tells
of it: Spark's triggerExecution, Partwise's sum of its steps; the whole is the process from start to end,
Spark's without the start of its JVM. Spark doesn't sync what it writes. Makes what it needs under
target/peers.
"""

import csv
import json
import os
import shutil
import statistics
import sys
import time

sys.dont_write_bytecode = True
from peer import pair, process  # noqa: E402
from peer.place import THREADS  # noqa: E402

PACKAGES = ["pyspark==4.3.0", "pyarrow==26.0.1"]
FILES = 60
MODES = ["append", "update"]

#: The month's trips in the order of their pickups, a sixtieth in each file.
SPLIT = """
import sys
import pyarrow.compute as pc, pyarrow.parquet as pq
source, target, files = sys.argv[1], sys.argv[2], int(sys.argv[3])
trips = pq.read_table(source, columns=["tpep_pickup_datetime", "PULocationID", "total_amount"])
trips = trips.take(pc.sort_indices(trips, [("tpep_pickup_datetime", "ascending")]))
step = -(-trips.num_rows // files)
for n in range(files):
    pq.write_table(trips.slice(n * step, step), f"{target}/{n:02}.parquet")
print(trips.num_rows)
"""

PARTWISE = """
CREATE STREAM trips (tpep_pickup_datetime TIMESTAMP, "PULocationID" BIGINT, total_amount DOUBLE,
    WATERMARK FOR tpep_pickup_datetime AS tpep_pickup_datetime - INTERVAL '10 minutes')
  FROM FILES '{landing}/' OPTIONS ('format' 'parquet', 'max_files_per_trigger' '1');
START QUERY hourly OUTPUT MODE {mode} TRIGGER AVAILABLE NOW CHECKPOINT '{out}/ck/'
  INTO TABLE hourly AS
  SELECT tumble(tpep_pickup_datetime, INTERVAL '1 hour') AS pickup_hour, "PULocationID" AS zone,
    count(*) AS trips, sum(total_amount) AS revenue
  FROM trips GROUP BY 1, 2;
AWAIT QUERY hourly;
SELECT batch, input_rows, total_ms FROM query_history('hourly') ORDER BY batch;
"""

#: Prints JSON: seconds inside, the milliseconds and rows of each batch.
SPARK = """
import json, os, sys, time
os.environ["TZ"] = "UTC"
from pyspark.sql import SparkSession, functions as F
landing, out, mode, threads = sys.argv[1:]
spark = (SparkSession.builder.master(f"local[{threads}]").config("spark.ui.enabled", "false")
    .config("spark.driver.memory", "4g").config("spark.sql.session.timeZone", "UTC")
    .config("spark.sql.shuffle.partitions", threads).config("spark.local.dir", out + "/scratch")
    .config("spark.sql.streaming.numRecentProgressUpdates", 1000).getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
clock = time.perf_counter()
schema = spark.read.parquet(landing).schema
hour = F.window("tpep_pickup_datetime", "1 hour")
trips = (spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(landing)
    .withColumn("tpep_pickup_datetime", F.col("tpep_pickup_datetime").cast("timestamp"))
    .withWatermark("tpep_pickup_datetime", "10 minutes"))
counted = (trips.groupBy(hour, F.col("PULocationID").alias("zone"))
    .agg(F.count("*").alias("trips"), F.sum("total_amount").alias("revenue"))
    .select(F.col("window.start").alias("pickup_hour"), "zone", "trips", "revenue"))
writer = counted.writeStream.trigger(availableNow=True).option("checkpointLocation", out + "/ck")
if mode == "append":
    query = writer.outputMode(mode).format("parquet").option("path", out + "/hourly").start()
else:
    query = writer.outputMode(mode).foreachBatch(lambda rows, n: rows.write.parquet(f"{out}/{n}")).start()
query.awaitTermination()
inside = time.perf_counter() - clock
batches = [[p["numInputRows"], p["durationMs"]["triggerExecution"]] for p in query.recentProgress]
print(json.dumps({"inside": inside, "batches": batches}))
"""

#: Prints what two folders of Parquet hold, as a count and two sums; they must be the same rows.
COMPARE = """
import json, sys
import pyarrow.compute as pc, pyarrow.dataset as ds
tables = []
for path in sys.argv[1:]:
    t = ds.dataset(path, format="parquet").to_table(["pickup_hour", "zone", "trips", "revenue"])
    hours = pc.cast(pc.cast(t["pickup_hour"], "timestamp[us]", safe=False), "int64")
    t = t.set_column(0, "pickup_hour", hours).set_column(1, "zone", pc.cast(t["zone"], "int64"))
    tables.append(t.sort_by([("pickup_hour", "ascending"), ("zone", "ascending")]))
a, b = tables
same = a.num_rows == b.num_rows and all(a[c].equals(b[c]) for c in ("pickup_hour", "zone", "trips"))
near = same and max(abs(x - y) for x, y in zip(a["revenue"].to_pylist(), b["revenue"].to_pylist())) < 0.01
print(json.dumps({"same": bool(near), "rows": [a.num_rows, b.num_rows],
    "trips": [pc.sum(a["trips"]).as_py(), pc.sum(b["trips"]).as_py()]}))
"""


class Streams:
    """The measurements of one run."""

    def __init__(self, chosen):
        self.chosen = chosen
        self.landing = chosen.out.resolve() / "landing"

    def prepare(self):
        shutil.rmtree(self.chosen.out, ignore_errors=True)
        self.landing.mkdir(parents=True)
        january = self.chosen.data / "yellow_tripdata_2024-01.parquet"
        split = [self.chosen.python, "-c", SPLIT, january, self.landing, FILES]
        return int(process.run(list(map(str, split)))["text"])

    def out(self, system, mode):
        out = self.chosen.out.resolve() / f"{system}-{mode}"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        return out

    def run_partwise(self, mode):
        out = self.out("partwise", mode)
        script = out / "hourly.sql"
        script.write_text(PARTWISE.format(landing=self.landing, out=out, mode=mode))
        command = [self.chosen.partwise, "--lake", out, "--threads", THREADS, "-q", "--format", "csv"]
        ran = process.run(list(map(str, [*command, "-f", script])), out)
        lines = ran["text"].strip().splitlines()
        rows = list(csv.DictReader(lines[lines.index("batch,input_rows,total_ms"):]))
        batches = [[int(row["input_rows"]), float(row["total_ms"])] for row in rows]
        return told(ran["wall"], batches, ran["peak_bytes"])

    def run_spark(self, mode):
        out = self.out("spark", mode)
        command = [self.chosen.python, "-c", SPARK, self.landing, out, mode, THREADS]
        environment = os.environ | {"PYTHONWARNINGS": "ignore"}
        ran = process.run(list(map(str, command)), out, environment)
        found = process.last_json(ran["text"])
        return told(found["inside"], found["batches"], None)

    def compare(self):
        folders = [self.chosen.out.resolve() / f"{system}-append/hourly" for system in ("partwise", "spark")]
        ran = process.run(list(map(str, [self.chosen.python, "-c", COMPARE, *folders])))
        return process.last_json(ran["text"])


def told(seconds, batches, peak_bytes):
    full = [ms for rows, ms in batches if rows]
    return {"seconds": seconds, "batches": len(full), "rows": sum(rows for rows, _ in batches),
            "median_ms": statistics.median(full), "longest_ms": max(full), "peak_bytes": peak_bytes}


def main():
    options = pair.parser(__doc__, "streams")
    options.add_argument("--modes", nargs="+", choices=MODES, default=MODES)
    chosen = pair.chosen(options, PACKAGES, "venv-streams")
    streams = Streams(chosen)
    trips = streams.prepare()
    found = {(system, mode): [] for mode in chosen.modes for system in ("partwise", "spark")}
    for _ in range(chosen.runs):
        for system, mode in found:
            run = streams.run_partwise if system == "partwise" else streams.run_spark
            found[system, mode].append(run(mode))
            print(system, mode, json.dumps(found[system, mode][-1]), file=sys.stderr, flush=True)
    if "append" in chosen.modes:
        compared = streams.compare()
        print(json.dumps(compared), file=sys.stderr)
        if not compared["same"]:
            sys.exit(f"the systems don't agree: {compared}")
    print(f"| {trips:,} trips in {FILES} batches | all, s | a batch, ms | longest, ms | rows/s |")
    print("|---|---|---|---|---|")
    for (system, mode), runs in found.items():
        middle = {name: statistics.median(run[name] for run in runs)
                  for name in ("seconds", "median_ms", "longest_ms")}
        print(f"| {system}, {mode} | {middle['seconds']:.2f} | {middle['median_ms']:.0f} |"
              f" {middle['longest_ms']:.0f} | {trips / middle['seconds']:,.0f} |")
    results = {"threads": THREADS, "time": time.strftime("%Y-%m-%d"), "trips": trips,
               "runs": {f"{system}-{mode}": runs for (system, mode), runs in found.items()}}
    (chosen.out / "streams.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
