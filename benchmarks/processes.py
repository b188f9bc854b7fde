"""Runs a program to its end and says what it cost.

This module and its users stay small (no NumPy): Linux hands the peak memory of the parent on to the
child that it starts, so the parent must be smaller than what it measures.
"""

import os
import resource
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


class RunError(Exception):
    """A measured program failed; the text has its command line and its message."""


@dataclass(frozen=True)
class Cost:
    """cpu_seconds: user and system time of all threads; peak_bytes: largest resident memory."""

    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int


def measure(command: Sequence[str | Path]) -> Cost:
    """Runs `command` with its output thrown away.

    Errors: RunError if it fails.
    """
    words = [str(word) for word in command]
    begin = time.perf_counter()
    with subprocess.Popen(
        words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        assert process.stderr is not None
        message = process.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - begin
    if process.returncode != 0:
        raise RunError(f"{' '.join(words)}: exit code {process.returncode}\n{message.strip()}")
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024)


def own_peak_bytes() -> int:
    """Peak memory of this process: below it, `Cost.peak_bytes` says nothing."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
