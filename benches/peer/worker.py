"""One measurement in a fresh process: starts a system, runs a task, says how long and how much.

Also the neutral reader that looks at what the systems wrote.
"""

import importlib
import json
import os
import sys
import time
from pathlib import Path

from .place import Place


def peak_bytes():
    """The largest resident sizes of this process and of those it started, added up."""
    return sum(high_water(process) for process in session_members())


def session_members():
    mine = os.getsid(0)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if os.getsid(int(entry.name)) == mine:
                    yield entry
            except ProcessLookupError:
                pass


def high_water(process):
    try:
        for line in (process / "status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


def timed(peer, session, task, place):
    started = time.perf_counter()
    answer = getattr(peer, task)(session, place)
    return time.perf_counter() - started, answer


def measure(system, task, place):
    peer = importlib.import_module(f".in_{system}", __package__)
    place.work.mkdir(parents=True, exist_ok=True)
    session = peer.start(place)
    seconds, answer = timed(peer, session, task, place)
    measured = {"first": seconds, "ended": time.time(), "peak_bytes": peak_bytes()}
    if getattr(peer, "WARM", False):
        place.clear(task)
        seconds, answer = timed(peer, session, task, place)
        peer.stop(session)
    if answer is not None:
        measured["answer"] = [int(answer[0]), round(float(answer[1]), 2)]
    return measured | {"inside": seconds}


def main(arguments):
    data, out, many, system, task = arguments
    place = Place(data, out, system, int(many))
    if system in ("expected", "written"):
        from . import check

        found = check.expected(place) if system == "expected" else check.written(task)
    else:
        found = measure(system, task, place)
    print("\n" + json.dumps(found), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
