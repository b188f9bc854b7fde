"""Runs models in ONNX Runtime and says how long that took."""

import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnxruntime

from demo_parts.tasks import Run, Task


@dataclass(frozen=True)
class Answers:
    """What a model said to the test inputs of a task, and the median time of one inference."""

    values: list[Any]
    milliseconds: float


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
