#!/usr/bin/env python3
"""One percent of a month's rows merged in by key, new values and new rows: Partwise's MERGE beside
delta-rs's, the same rows, the same codec (Snappy), two threads, the systems taking turns.

    cargo build --release
    benches/merge.py                          # a few minutes
    benches/merge.py --scale 0.02 --runs 1    # a try

Both tables are partitioned by month of pickup. Each run merges into a table made anew. Partwise is a
whole process, every sync and the commit included; delta-rs is measured inside of a Python process that
has started. Afterwards both are counted and summed, and the files are looked at: what was written, and
whether another month changed. Makes what it needs under target/peers.
"""

import json
import os
import shutil
import statistics
import sys
import time

sys.dont_write_bytecode = True
from peer import pair, process  # noqa: E402
from peer.place import QUARTER, THREADS  # noqa: E402

PACKAGES = ["deltalake==1.6.6", "pyarrow==26.0.1"]
SYSTEMS = ["partwise", "delta-rs"]
MONTH = "2024-02"

TRIPS = """
CREATE TABLE trips USING parquet PARTITIONED BY (month) AS
SELECT row_number() OVER (ORDER BY tpep_pickup_datetime, tpep_dropoff_datetime) AS id,
  tpep_pickup_datetime AS picked_up, tpep_dropoff_datetime AS dropped_off, "PULocationID" AS zone,
  trip_distance AS distance, fare_amount AS fare, total_amount AS amount,
  to_char(tpep_pickup_datetime, '%Y-%m') AS month
FROM '{data}/yellow_tripdata_2024-0*.parquet'
WHERE tpep_pickup_datetime >= '{start}' AND tpep_pickup_datetime < '{end}'
"""

#: One row of a hundred with another amount, and a tenth as many new ones.
CHANGES = f"""
CREATE TABLE changes AS
SELECT id, picked_up, dropped_off, zone, distance, fare, amount + 1 AS amount, month
FROM trips WHERE month = '{MONTH}' AND id % 100 = 0
UNION ALL
SELECT -id, picked_up, dropped_off, zone, distance, fare, amount, month
FROM trips WHERE month = '{MONTH}' AND id % 1000 = 0
"""

MERGE = """
MERGE INTO trips USING changes ON trips.id = changes.id
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""

#: What delta-rs runs, in a process of its own: prints seconds.
DELTA = """
import sys, time, json
import pyarrow.parquet as pq
import deltalake
from deltalake import DeltaTable, write_deltalake
action, table, rows = sys.argv[1:]
if action == "make":
    import pyarrow.dataset as ds
    write_deltalake(table, ds.dataset(rows, format="parquet", partitioning="hive").to_table(),
                    partition_by=["month"])
elif action == "merge":
    changes = pq.read_table(rows)
    target = DeltaTable(table)
    clock = time.perf_counter()
    (target.merge(changes, "target.id = source.id", source_alias="source", target_alias="target")
        .when_matched_update_all().when_not_matched_insert_all().execute())
    print(json.dumps({"inside": time.perf_counter() - clock}))
else:
    found = DeltaTable(table).to_pyarrow_table(columns=["amount"])
    import pyarrow.compute as pc
    print(json.dumps({"rows": found.num_rows, "sum": round(pc.sum(found["amount"]).as_py(), 2)}))
"""


class Merges:
    """The measurements of one run."""

    def __init__(self, chosen):
        self.chosen = chosen
        self.lake = chosen.out.resolve() / "lake"
        self.delta = chosen.out.resolve() / "delta"

    def run_partwise(self, *arguments):
        command = [self.chosen.partwise, "--lake", self.lake, "--threads", THREADS, *arguments]
        return process.run(list(map(str, command)))

    def run_delta(self, action, rows=""):
        environment = os.environ | {"TOKIO_WORKER_THREADS": str(THREADS), "PYTHONWARNINGS": "ignore"}
        command = [self.chosen.python, "-c", DELTA, action, self.delta, rows]
        ran = process.run(list(map(str, command)), None, environment)
        return process.last_json(ran["text"]) if action != "make" else {}

    def prepare(self):
        shutil.rmtree(self.chosen.out, ignore_errors=True)
        self.chosen.out.mkdir(parents=True)
        trips = TRIPS.format(data=self.chosen.data, start=QUARTER[0], end=QUARTER[1])
        self.run_partwise("-q", "-c", trips, "-c", CHANGES)
        [self.changes] = (self.lake / "changes").glob("*.parquet")

    def tables(self, system):
        """The table as it is before the merge."""
        if system == "partwise":
            self.run_partwise("-c", "RESTORE TABLE trips TO VERSION 1")
            return self.lake / "trips"
        shutil.rmtree(self.delta, ignore_errors=True)
        self.run_delta("make", self.lake / "trips")
        return self.delta

    def measure(self, system):
        table = self.tables(system)
        before = files(table)
        if system == "partwise":
            ran = self.run_partwise("-c", MERGE)
            seconds, said = ran["wall"], ran["text"].strip()
        else:
            seconds, said = self.run_delta("merge", self.changes)["inside"], ""
        after = files(table)
        new = {name: size for name, size in after.items() if before.get(name) != size}
        months = sorted({name.split("month=")[1].split("/")[0] for name in new})
        return {"seconds": seconds, "bytes": sum(new.values()), "months": months, "said": said,
                "answer": self.answer(system)}

    def answer(self, system):
        if system == "delta-rs":
            found = self.run_delta("look")
            return [found["rows"], found["sum"]]
        ask = "SELECT count(*), round(sum(amount), 2) FROM trips"
        text = self.run_partwise("-q", "--format", "csv", "-c", ask)["text"]
        rows, total = text.strip().splitlines()[-1].split(",")
        return [int(rows), float(total)]


def files(table):
    found = (path for path in table.rglob("*.parquet") if "_delta_log" not in path.parts)
    return {str(path.relative_to(table)): path.stat().st_size for path in found}


def main():
    chosen = pair.chosen(pair.parser(__doc__, "merge"), PACKAGES, "venv-delta")
    merges = Merges(chosen)
    merges.prepare()
    found = {system: [] for system in SYSTEMS}
    for _ in range(chosen.runs):
        for system in SYSTEMS:
            found[system].append(merges.measure(system))
            print(system, json.dumps(found[system][-1]), file=sys.stderr, flush=True)
    [first, *others] = [run["answer"] for runs in found.values() for run in runs]
    if any(other[0] != first[0] or abs(other[1] - first[1]) > 0.5 for other in others):
        sys.exit(f"the systems don't agree: {first}, {others}")
    print("| 1 % of a month merged in | seconds | written | months |\n|---|---|---|---|")
    for system, runs in found.items():
        seconds = statistics.median(run["seconds"] for run in runs)
        written = statistics.median(run["bytes"] for run in runs)
        print(f"| {system} | {seconds:.2f} | {written / 1e6:.1f} MB | {', '.join(runs[0]['months'])} |")
    results = {"threads": THREADS, "time": time.strftime("%Y-%m-%d"), "runs": found}
    (chosen.out / "merge.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
