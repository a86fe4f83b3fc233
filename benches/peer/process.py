"""Processes that are measured, bounded in time, and never left behind."""

import json
import os
import signal
import subprocess
import tempfile
import time

TIMEOUT_SECONDS = 300


class Failed(Exception):
    """A measured process that ended badly, with what it said."""


def run(command, directory=None, environment=None):
    """Runs a command in a session of its own: its output, wall seconds, start, peak bytes."""
    with tempfile.TemporaryFile() as output:
        started, clock = time.time(), time.perf_counter()
        process = subprocess.Popen(
            command, cwd=directory, env=environment, stdin=subprocess.DEVNULL,
            stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )
        try:
            status, usage = wait(process)
            wall = time.perf_counter() - clock
        finally:
            end_session(process)
        output.seek(0)
        text = output.read().decode(errors="replace")
    if status != 0:
        raise Failed(" ".join(text.strip().splitlines()[-1:]) or f"status {status}")
    return {"text": text, "wall": wall, "started": started, "peak_bytes": usage.ru_maxrss * 1024}


def wait(process):
    """Waits for the process itself, so that the kernel's own figure of its peak is had."""

    def too_late(*_):
        raise Failed(f"not done after {TIMEOUT_SECONDS} s")

    previous = signal.signal(signal.SIGALRM, too_late)
    signal.alarm(TIMEOUT_SECONDS)
    try:
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, previous)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage


def end_session(process):
    """Ends what the process may have left in its group, and itself if it still runs."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if process.returncode is None:
        process.wait()


def last_json(text):
    return json.loads(text.strip().splitlines()[-1])
