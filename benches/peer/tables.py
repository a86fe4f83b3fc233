"""The figures as Markdown, with what they were measured on and what is counted."""

import datetime
import json
import os
import statistics
import subprocess

from .place import TASKS, THREADS

NAMES = {
    "partwise": "Partwise", "duckdb": "DuckDB", "polars": "Polars",
    "datafusion": "DataFusion `COPY`", "spark": "Spark",
}

#: Asked of the environment's own Python: versions, and what each module says of itself.
ASK = """
import importlib, importlib.metadata, json, sys
about = {}
for name in sys.argv[1:]:
    module = importlib.import_module("peer.in_" + name)
    package = {"spark": "pyspark"}.get(name, name)
    version = "" if name == "partwise" else importlib.metadata.version(package)
    about[name] = {"version": version, "counted": module.COUNTED, "instead": module.INSTEAD}
print(json.dumps(about))
"""


def about(chosen, python, partwise):
    """Date, machine, versions and what is counted."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    asked = subprocess.run([python, "-c", ASK, *chosen.systems], cwd=here, check=True, stdout=-1,
                           env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
    systems = json.loads(asked.stdout)
    if "partwise" in systems:
        said = subprocess.run([partwise, "--version"], check=True, stdout=-1, text=True).stdout
        systems["partwise"]["version"] = said.split()[-1]
    if "spark" in systems:
        said = subprocess.run(["java", "-version"], stderr=-1, text=True).stderr
        systems["spark"]["version"] += ", Java " + said.split('"')[1]
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "cpu": field("/proc/cpuinfo", "model name"),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(int(field("/proc/meminfo", "MemTotal").split()[0]) / 2**20, 1),
        "threads": THREADS,
        "scale": chosen.scale,
        "runs": chosen.runs,
        "systems": systems,
    }


def field(file, name):
    with open(file) as lines:
        return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "0")


def markdown(about, chosen, figures):
    systems = about["systems"]
    versions = ", ".join(f"{NAMES[name]} {systems[name]['version']}" for name in systems)
    lines = [
        f"{about['date']}, {about['cpu']}, {about['cores']} cores, {about['memory_gib']} GiB; "
        f"scale {about['scale']:g}, {THREADS} threads, Snappy, files in the page cache; "
        f"medians of {about['runs']}, each in a fresh process.",
        f"{versions}.",
    ]
    lines += table("Time of the task (times Partwise's)", chosen, figures, systems, inside)
    lines += table("Whole process (times Partwise's)", chosen, figures, systems, whole)
    lines += table("Peak memory, MiB", chosen, figures, systems, peak)
    lines += table("Files written", chosen, figures, systems, files)
    lines += [
        "", "Peak memory is the largest resident size of the process and of those it started, "
        "each one's own peak added up; Python's is in it. What is counted as time of the task:", "",
    ]
    lines += [f"- {NAMES[name]}: {systems[name]['counted']}." for name in systems]
    lines += notes(systems, figures)
    return "\n".join(lines) + "\n"


def table(title, chosen, figures, systems, cell):
    rows = [(task, [cell(task, name, figures, systems) for name in systems]) for task in chosen.tasks]
    rows = [(task, cells) for task, cells in rows if any(cells)]
    if not rows:
        return []
    head = " | ".join(NAMES[name] for name in systems)
    label = {task: text.format(many=chosen.many) for task, text in TASKS.items()}
    lines = ["", f"| {title} | {head} |", "|---" * (len(systems) + 1) + "|"]
    return lines + [f"| {label[task]} | {' | '.join(cells)} |" for task, cells in rows]


def median(runs, name):
    values = [run[name] for run in runs if name in run]
    return statistics.median(values) if values else None


def seconds(task, name, figures, systems, which):
    """A time with its ratio; in brackets where the system has another way only."""
    runs = figures[task][name]
    if any("failed" in run for run in runs):
        return "failed"
    taken, ours = median(runs, which), median(figures[task].get("partwise", []), which)
    ratio = f" ({taken / ours:.2f})" if ours and name != "partwise" else ""
    digits = 3 if taken < 0.1 else 2
    text = f"{taken:.{digits}f} s{ratio}"
    if any(run["wrong"] for run in runs):
        return f"wrong: {text}"
    return f"no: {text}" if task in systems[name]["instead"] else text


def inside(task, name, figures, systems):
    return seconds(task, name, figures, systems, "inside")


def whole(task, name, figures, systems):
    return seconds(task, name, figures, systems, "whole")


def peak(task, name, figures, systems):
    taken = median(figures[task][name], "peak_bytes")
    return f"{taken / 2**20:,.0f}" if taken else "failed"


def files(task, name, figures, systems):
    written = sorted({run["files"] for run in figures[task][name] if "files" in run})
    return " to ".join({str(count): None for count in (written[:1] + written[-1:])})


def notes(systems, figures):
    """What stands behind each `no`, `wrong` and `failed`."""
    lines = []
    for task, by_system in figures.items():
        for name, runs in by_system.items():
            if instead := systems[name]["instead"].get(task):
                lines.append(f"- {NAMES[name]}, {TASKS[task]}: no; {instead}.")
            said = {run.get("failed") or run.get("wrong") for run in runs} - {"", None}
            lines += [f"- {NAMES[name]}, {TASKS[task]}: {text}." for text in sorted(said)]
    return lines
