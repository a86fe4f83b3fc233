"""A question asked again and again in one session: the median of the answers after the first."""

import importlib
import json
import statistics
import sys

from .place import Place
from .worker import timed


def main(arguments):
    data, out, many, system, task, asked = arguments
    place = Place(data, out, system, int(many))
    # Each table as Partwise wrote it: all read the same files.
    place.work = Place(data, out, "partwise", int(many)).work
    peer = importlib.import_module(f".in_{system}", __package__)
    session = peer.start(place)
    times = []
    for _ in range(int(asked) + 1):
        seconds, answer = timed(peer, session, task, place)
        times.append(seconds)
    if getattr(peer, "WARM", False):
        peer.stop(session)
    found = {"first": times[0], "again": statistics.median(times[1:])}
    print("\n" + json.dumps(found | {"answer": [int(answer[0]), round(float(answer[1]), 2)]}))


if __name__ == "__main__":
    main(sys.argv[1:])
