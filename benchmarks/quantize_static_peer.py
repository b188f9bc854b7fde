"""Accuracy of a8w8 beside ONNX Runtime's quantize_static, on the models of the demo.

Both get the same model, the same samples and the same recipe (min-max, uint8 activations, int8
weights per channel). quantize_static runs twice: on the op types of which halfstep quantized most
nodes in this model, and on all that it knows. A model whose scores flip on details is compared
fairly only over several calibrations: --halves N repeats everything with N random halves of the
samples and prints means.

usage: quantize_static_peer.py [--command HALFSTEP] [--cache FOLDER] [--tasks NAME ...]
                               [--halves N] [--json]
"""

import argparse
import json
import logging
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from statistics import fmean
from typing import Any

import static_peer

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

from demo_parts import packages
from demo_parts.command import DemoError, find_command, quantize
from demo_parts.digits import MODELS, Digits
from demo_parts.ocr import Detector, Recognizer
from demo_parts.running import Answers, answers, open_session
from demo_parts.table import aligned
from demo_parts.tasks import Task, write_samples

LINES = 588  # more than in the demo: a share of 600 is known to 2 points


@dataclass(frozen=True)
class Row:
    """Scores of one way to quantize one model."""

    model: str
    method: str
    accuracy: float
    agreement: float
    accuracy_unoptimized: float
    agreement_unoptimized: float
    bytes: float
    milliseconds: float


def quantized_op_types(types: Sequence[dict[str, Any]]) -> list[str]:
    """Op types of which halfstep quantized most nodes, in name order.

    types: rows of the summary: op type, type of the activations, number of nodes.
    """
    balance: dict[str, int] = {}
    for row in types:
        quantized = not row["activation"].startswith("float")
        change = row["nodes"] if quantized else -row["nodes"]
        balance[row["op_type"]] = balance.get(row["op_type"], 0) + change
    return sorted(op_type for op_type, more in balance.items() if more > 0)


def rows_of(task: Task, command: Path, folder: Path, halves: int) -> list[Row]:
    """All ways to quantize the model of one task; with halves, means over as many calibrations."""
    plain = answers(task, open_session(task.model, optimize=True))
    samples = write_samples(task.calibration(), folder / "samples")
    prepared = static_peer.prepare(task.model, folder)
    runs = [
        quantized_rows(task, command, prepared, chosen, plain)
        for chosen in (halves_of(samples, halves) if halves else [samples])
    ]
    return [row(task, "float", task.model, plain), *map(mean_row, zip(*runs, strict=True))]


def halves_of(samples: Path, count: int) -> Iterator[Path]:
    """Folders beside samples, each with another random half of its files."""
    files = sorted(samples.iterdir())
    for seed in range(count):
        folder = samples.parent / f"half_{seed}"
        folder.mkdir()
        for file in random.Random(seed).sample(files, len(files) // 2):
            shutil.copy(file, folder)
        yield folder


def quantized_rows(
    task: Task, command: Path, prepared: Path, samples: Path, plain: Answers
) -> list[Row]:
    """halfstep and quantize_static, calibrated with the same samples."""
    ours, peer = samples.parent / "halfstep.onnx", samples.parent / "static.onnx"
    ours.unlink(missing_ok=True)
    done = quantize(command, task.model, samples, ours)
    same = quantized_op_types(json.loads(done.stdout)["summary"]["types"])
    rows = [row(task, "halfstep", ours, plain)]
    for method, op_types in (
        ("quantize_static, same ops", same),
        ("quantize_static, all ops", None),
    ):
        static_peer.quantize_static(prepared, samples, peer, op_types)
        rows.append(row(task, method, peer, plain))
    return rows


def mean_row(rows: Sequence[Row]) -> Row:
    """The mean of every number over rows of one method."""
    return Row(
        rows[0].model,
        rows[0].method,
        *(fmean(getattr(r, f.name) for r in rows) for f in fields(Row)[2:]),
    )


def row(task: Task, method: str, path: Path, plain: Answers) -> Row:
    optimized = answers(task, open_session(path, optimize=True))
    unoptimized = answers(task, open_session(path, optimize=False))
    scores = task.score(optimized.values, plain.values)
    slow_scores = task.score(unoptimized.values, plain.values)
    return Row(
        model=task.name,
        method=method,
        accuracy=scores.accuracy,
        agreement=scores.agreement,
        accuracy_unoptimized=slow_scores.accuracy,
        agreement_unoptimized=slow_scores.agreement,
        bytes=path.stat().st_size,
        milliseconds=optimized.milliseconds,
    )


def report(rows: Sequence[Row]) -> str:
    lines = [
        (
            "model",
            "method",
            "accuracy",
            "like float",
            "opt. off: accuracy",
            "like float",
            "size",
            "time",
        )
    ]
    for r in rows:
        shares = (r.accuracy, r.agreement, r.accuracy_unoptimized, r.agreement_unoptimized)
        lines.append(
            (
                r.model,
                r.method,
                *(f"{100 * share:.1f} %" for share in shares),
                f"{r.bytes / 1000:.0f} kB",
                f"{r.milliseconds:.2f} ms",
            )
        )
    return aligned(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--command", type=Path, help="the halfstep command (default: installed)")
    parser.add_argument("--cache", type=Path, default=packages.default_cache())
    parser.add_argument("--tasks", nargs="+", help="only these models")
    parser.add_argument(
        "--halves", type=int, default=0, metavar="N", help="means over N halves of the samples"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    try:
        command = find_command(options.command)
        fetched = packages.fetch(options.cache)
        tasks: list[Task] = [*map(Digits, MODELS), Detector(fetched), Recognizer(fetched, LINES)]
        rows: list[Row] = []
        for task in tasks:
            if options.tasks is None or task.name in options.tasks:
                with tempfile.TemporaryDirectory(prefix="halfstep-peer-") as scratch:
                    rows += rows_of(task, command, Path(scratch), options.halves)
    except (DemoError, packages.FetchError) as error:
        print(f"quantize_static_peer: error: {error}", file=sys.stderr)
        return 1
    print(json.dumps([asdict(r) for r in rows], indent=2) if options.json else report(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
