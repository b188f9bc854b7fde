"""Runs models in ONNX Runtime and the `halfstep` command, and says how long that took."""

import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnxruntime

from demo_parts.tasks import Run, Task


class DemoError(Exception):
    """The demo can't go on; the text says why and what to do."""


@dataclass(frozen=True)
class Answers:
    """What a model said to the test inputs of a task, and the median time of one inference."""

    values: list[Any]
    milliseconds: float


def find_command(given: Path | None) -> Path:
    """The `halfstep` command: the given one, else that of this Python environment.

    Errors: DemoError with the install command.
    """
    beside = Path(sys.executable).parent / "halfstep"
    on_path = shutil.which("halfstep")
    for candidate in (given,) if given else (beside, Path(on_path) if on_path else None):
        if candidate and candidate.is_file():
            return candidate
    where = given or beside
    raise DemoError(f"no halfstep command at {where}; install it with: pip install .")


def quantize(
    command: Path, model: Path, calibration: Path, output: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    """Runs `halfstep quantize` with recipe a8w8; stdout is the summary as JSON.

    Errors: DemoError with the message of the command.
    """
    call = [str(command), "quantize", str(model), "--calibration", str(calibration)]
    call += ["-o", str(output), "--recipe", "a8w8", "--force", "--json", *options]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DemoError(f"{' '.join(call)}: exit code {done.returncode}\n{done.stderr.strip()}")
    return done


def open_session(model: Path, optimize: bool, threads: int = 1) -> Run:
    """A function that runs the model on the CPU, with all graph optimizations or none."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimize else level.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)


def answers(task: Task, run: Run) -> Answers:
    """Runs the model on every test input."""
    values, seconds = [], []
    for feeds in task.test_inputs():
        begin = time.perf_counter()
        outputs = run(feeds)
        seconds.append(time.perf_counter() - begin)
        values.append(task.answer(outputs))
    return Answers(values, 1000 * statistics.median(seconds))


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """A table: the first row is the heading, the first column left, the others right aligned."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(lines)
