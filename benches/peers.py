#!/usr/bin/env python3
"""Partwise beside DuckDB, Polars, Spark and DataFusion's COPY: the same files, the same codec
(Snappy), two threads, each measurement in a fresh process, the systems taking turns.

    cargo build --release
    benches/peers.py                          # all of it: 10 to 15 minutes on two cores
    benches/peers.py --scale 0.02 --runs 1    # a try
    benches/peers.py --only duckdb,partwise,report,by_day

Makes what it needs (the quarter, a Python environment) under target/peers. Prints a Markdown
table and writes it with every single figure to results.md and results.json beside it. A result is
looked at after each write by pyarrow; one that is wrong is shown as wrong, whatever its time.
"""

import argparse
import json
import os
import shutil
import signal
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from peer import in_partwise, process, tables  # noqa: E402
from peer.packages import python_with  # noqa: E402
from peer.place import NEEDS, TASKS, THREADS, Place  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
SYSTEMS = ["partwise", "duckdb", "polars", "datafusion", "spark"]
PACKAGES = [
    "duckdb==2.0.1", "polars==2.1.0", "pyarrow==26.0.1", "pyspark==4.3.0", "datafusion==55.0.0",
]


def options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of the taxi files; made if not there")
    parser.add_argument("--out", type=Path, default=ROOT / "target/peers/run", help="working folder")
    parser.add_argument("--only", default="", help="comma list of systems and tasks")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1.0, help="of the taxi files that are made")
    parser.add_argument("--python", type=Path, help="a Python that has the packages already")
    parser.add_argument("--partwise", type=Path, default=ROOT / "target/release/partwise")
    chosen = parser.parse_args()
    names = [name for name in chosen.only.split(",") if name]
    if unknown := [name for name in names if name not in SYSTEMS and name not in TASKS]:
        parser.error(f"--only: {unknown[0]} is none of {', '.join([*SYSTEMS, *TASKS])}")
    chosen.systems = [name for name in SYSTEMS if name in names] or SYSTEMS
    chosen.tasks = [name for name in TASKS if name in names] or list(TASKS)
    chosen.data = chosen.data or ROOT / f"target/peers/quarter-{chosen.scale:g}"
    chosen.many = max(100, round(10_000 * chosen.scale))
    return chosen


class Peers:
    """The measurements of one run."""

    def __init__(self, chosen):
        self.chosen = chosen
        self.partwise = chosen.partwise.resolve()
        if not self.partwise.exists():
            sys.exit(f"{self.partwise} is not there: cargo build --release")
        self.python = chosen.python or python_with(PACKAGES, ROOT / "target/peers/venv")
        self.figures = {}
        self.first_turn = 0

    def place(self, system):
        return Place(self.chosen.data, self.chosen.out, system, self.chosen.many)

    def prepare(self):
        if not list(self.chosen.data.glob("yellow_tripdata_2024-0*.parquet")):
            self.run_partwise("taxi", "--out", self.chosen.data, "--scale", str(self.chosen.scale))
        shutil.rmtree(self.chosen.out, ignore_errors=True)
        place = self.place("partwise")
        place.work.mkdir(parents=True)
        if "many" in self.chosen.tasks:
            self.run_partwise("-c", in_partwise.make_many(place))
        self.expected = self.worker("expected", "all")

    def run_partwise(self, *arguments):
        lake = self.place("partwise").work / "lake"
        command = [self.partwise, "--lake", lake, "--threads", str(THREADS), *arguments]
        return process.run(list(map(str, command)))

    def run_python(self, module, *arguments):
        arguments = [self.chosen.data, self.chosen.out, self.chosen.many, *arguments]
        command = [str(self.python), "-m", module, *map(str, arguments)]
        environment = os.environ | {
            "TZ": "UTC", "PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1",
        }
        return process.run(command, Path(__file__).parent, environment)

    def worker(self, system, task):
        ran = self.run_python("peer.worker", system, task)
        found = process.last_json(ran["text"])
        if "inside" in found:
            warmed = found["first"] != found["inside"]
            found["whole"] = found["ended"] - ran["started"] if warmed else ran["wall"]
        return found

    def measure(self, system, task):
        """One measurement, its answer looked at."""
        self.place(system).clear(task)
        if system == "partwise":
            found = self.measure_partwise(task)
        else:
            found = self.worker(system, task)
        found["wrong"] = self.look(system, task, found)
        return found

    def measure_partwise(self, task):
        sql = getattr(in_partwise, task)(self.place("partwise"))
        query = task in ("one_day", "many")
        ran = self.run_partwise(*(["-q", "--format", "csv"] if query else []), "-c", sql)
        found = {"inside": ran["wall"], "whole": ran["wall"], "peak_bytes": ran["peak_bytes"]}
        if query:
            rows, total = ran["text"].strip().splitlines()[-1].split(",")
            found["answer"] = [int(rows), round(float(total), 2)]
        return found

    def look(self, system, task, found):
        """What is wrong about a result; nothing if it is right."""
        want = self.expected[task]
        if task in ("one_day", "many"):
            return "" if found["answer"] == want else f"answered {found['answer']}, not {want}"
        written = self.worker("written", str(self.place(system).table(task)))
        found["files"] = written["files"]
        have = written["partitions"]
        wrong = [name for name in {**want, **have} if want.get(name) != have.get(name)]
        return f"{wrong[0]}: {have.get(wrong[0])}, not {want.get(wrong[0])}" if wrong else ""

    def turn(self, task):
        """Each system once, another one first each time."""
        start = self.first_turn % len(self.chosen.systems)
        self.first_turn += 1
        for system in self.chosen.systems[start:] + self.chosen.systems[:start]:
            kept = self.figures.setdefault(task, {}).setdefault(system, [])
            try:
                if task in NEEDS and not self.place(system).table(task).exists():
                    self.measure(system, NEEDS[task])
                kept.append(self.measure(system, task))
            except process.Failed as failure:
                kept.append({"failed": str(failure)})
            said = kept[-1].get("failed") or f"{kept[-1]['inside']:.3f} s {kept[-1]['wrong']}"
            print(f"{task} {system} {said}", file=sys.stderr, flush=True)

    def run(self):
        self.prepare()
        for _ in range(self.chosen.runs):
            for task in self.chosen.tasks:
                self.turn(task)


def main():
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    chosen = options()
    peers = Peers(chosen)
    peers.run()
    about = tables.about(chosen, peers.python, peers.partwise)
    text = tables.markdown(about, chosen, peers.figures)
    (chosen.out / "results.md").write_text(text)
    results = {"about": about, "tasks": peers.figures}
    (chosen.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    print(text)
    wrong = [run for task in peers.figures.values() for runs in task.values() for run in runs
             if run.get("wrong") or "failed" in run]
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
