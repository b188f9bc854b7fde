"""Real models through halfstep, with their own metrics, beside ONNX Runtime's quantize_static.

CASES is a folder with `cases_open.py`, whose CASES list has objects with `name`, `path()` (a float
ONNX model), `calib()` (feeds) and `evaluate(run, reference)` (metrics), and with
`results_ort.jsonl`: metrics of quantize_static on the same cases, one line for each method.
Every result is loaded and run with all optimizations of the engine.

usage: real_models.py CASES [--command HALFSTEP] [--cases NAME ...] [--recipes NAME ...] [--json]
"""

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

from demo_parts.command import find_command
from demo_parts.table import aligned

# Of quantize_static; the second is for models whose opset has to be raised first.
PEER_METHODS = ("mm_pc", "mm_pc_up")
SAMPLES = 100

Feed = dict[str, np.ndarray]
Metrics = dict[str, float]


def runner(path: Path) -> Callable[[Feed], list[np.ndarray]]:
    options = ort.SessionOptions()
    options.log_severity_level = 3
    options.inter_op_num_threads = 1
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda feed: session.run(None, feed)


def is_valid(path: Path) -> bool:
    try:
        onnx.checker.check_model(str(path))
    except onnx.checker.ValidationError:
        return False
    return True


def write_feeds(path: Path, feeds: Sequence[Feed]) -> Path:
    arrays = {f"{i:03d}/{name}": x for i, feed in enumerate(feeds) for name, x in feed.items()}
    np.savez(path, **arrays)
    return path


def quantize(command: Path, model: Path, data: Path, output: Path, recipe: str) -> str:
    """Empty if it worked, else the last line of what the command said."""
    words = ["quantize", model, "--calibration", data, "-o", output, "--recipe", recipe, "--force"]
    done = subprocess.run([command, *words], capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


def peer_metrics(folder: Path) -> dict[str, Metrics]:
    """By case: what quantize_static reached, the first of its methods that gives a valid model."""
    found: dict[str, dict[str, Metrics]] = {}
    for line in (folder / "results_ort.jsonl").read_text().splitlines():
        row = json.loads(line)
        if row.get("metrics") and row["method"] in PEER_METHODS:
            found.setdefault(row["case"], {})[row["method"]] = row["metrics"]
    return {
        case: methods[next(m for m in PEER_METHODS if m in methods)]
        for case, methods in found.items()
    }


def measure(case: Any, command: Path, recipes: Sequence[str]) -> dict[str, Any]:
    model = Path(case.path())
    reference: dict[str, Any] = {}
    row: dict[str, Any] = {
        "case": case.name,
        "bytes": model.stat().st_size,
        "float": case.evaluate(runner(model), reference),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = write_feeds(folder / "samples.npz", case.calib()[:SAMPLES])
        for recipe in recipes:
            output = folder / f"{recipe}.onnx"
            problem = quantize(command, model, data, output, recipe)
            if problem:
                row[recipe] = {"error": problem}
                continue
            if is_valid(model) and not is_valid(output):
                row[recipe] = {"error": "the ONNX checker refuses the result"}
                continue
            row[recipe] = case.evaluate(runner(output), reference)
            row[recipe]["size_ratio"] = output.stat().st_size / model.stat().st_size
    return row


def table(rows: Sequence[dict[str, Any]], recipes: Sequence[str]) -> str:
    """The first metric of every case, and the size of the first recipe's result."""
    lines = [["model", "metric", "float", *recipes, "quantize_static", "size"]]
    for row in rows:
        metric = next(iter(row["float"]))
        cells = [
            f"{row[kind][metric]:.3f}" if metric in row.get(kind, {}) else "-"
            for kind in ("float", *recipes, "quantize_static")
        ]
        ratio = row[recipes[0]].get("size_ratio")
        lines.append([row["case"], metric, *cells, f"{ratio:.2f}" if ratio else "-"])
    return aligned(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path, metavar="CASES")
    parser.add_argument("--command", type=Path)
    parser.add_argument("--cases", nargs="+", default=[])
    parser.add_argument("--recipes", nargs="+", default=["a8w8", "a16w8"])
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    command = find_command(arguments.command)
    sys.path.insert(0, str(arguments.folder.resolve()))
    cases = importlib.import_module("cases_open").CASES
    peers = peer_metrics(arguments.folder)
    rows = []
    for case in cases:
        if arguments.cases and case.name not in arguments.cases:
            continue
        print(case.name, file=sys.stderr)
        row = measure(case, command, arguments.recipes)
        row["quantize_static"] = peers.get(case.name, {})
        rows.append(row)
    print(json.dumps(rows, indent=2) if arguments.json else table(rows, arguments.recipes))


if __name__ == "__main__":
    main()
