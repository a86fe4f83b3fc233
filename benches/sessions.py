#!/usr/bin/env python3
"""The two small questions, one of 10,000 partitions and one day of 91, asked again in a session that
runs: what planning costs where a process doesn't start for each.

    cargo build --release
    benches/sessions.py            # a few minutes; the options of peers.py

All read the tables that Partwise wrote, the systems take turns. Partwise's time is that of a process with
501 statements less that of one with 1, by 500: reading of the log, listing and all that is checked for
each statement included.
"""

import json
import statistics
import sys

sys.dont_write_bytecode = True
from peer import in_partwise, process  # noqa: E402
from peer.place import THREADS  # noqa: E402
from peers import SYSTEMS, Peers, options  # noqa: E402

TASKS = {"many": "one of {many:,} partitions", "one_day": "one day of 91"}
ASKED = {"spark": 3, "partwise": 500}
ASKED_OF_OTHERS = 50


def asked(system):
    return ASKED.get(system, ASKED_OF_OTHERS)


class Sessions(Peers):
    """The measurements of one run."""

    def again(self, system, task):
        if system == "partwise":
            return self.again_in_partwise(task)
        found = process.last_json(self.run_python("peer.again", system, task, asked(system))["text"])
        if found["answer"] != self.expected[task]:
            sys.exit(f"{system} answers {found['answer']} to {task}, not {self.expected[task]}")
        return found["again"]

    def again_in_partwise(self, task):
        statement = ["-c", getattr(in_partwise, task)(self.place("partwise"))]
        once, often = (
            self.run_partwise("-q", "--format", "csv", *(statement * times))
            for times in (1, asked("partwise") + 1)
        )
        rows, total = often["text"].strip().splitlines()[-1].split(",")
        if [int(rows), round(float(total), 2)] != self.expected[task]:
            sys.exit(f"partwise answers {rows}, {total} to {task}")
        return (often["wall"] - once["wall"]) / asked("partwise")

    def measure_all(self):
        times = {task: {system: [] for system in self.chosen.systems} for task in TASKS}
        for _ in range(self.chosen.runs):
            for task, systems in times.items():
                for system, kept in systems.items():
                    kept.append(self.again(system, task))
                    print(f"{task} {system} {kept[-1] * 1000:.2f} ms", file=sys.stderr, flush=True)
        return times


def main():
    chosen = options()
    chosen.systems = [name for name in SYSTEMS if name in chosen.systems]
    chosen.tasks = ["report", "by_day", "one_day", "february", "many"]
    sessions = Sessions(chosen)
    sessions.prepare()
    sessions.run_partwise("-c", in_partwise.by_day(sessions.place("partwise")))
    times = sessions.measure_all()
    print(f"| asked again, ms (times Partwise's) | {' | '.join(chosen.systems)} |")
    print("|---|" + "---|" * len(chosen.systems))
    for task, systems in times.items():
        medians = {system: statistics.median(kept) for system, kept in systems.items()}
        ours = medians.get("partwise", float("nan"))
        cells = [f"{1000 * m:.2f} ({m / ours:.2f})" for m in medians.values()]
        print(f"| {TASKS[task].format(many=chosen.many)} | {' | '.join(cells)} |")
    results = {"threads": THREADS, "seconds": times}
    (chosen.out / "sessions.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
