"""Quantizes real models with known answers and shows what that does to them.

The digits networks lie in examples/digits; the text detector and recognizer and their pictures are
fetched from package registries once. Every model goes through the command
`halfstep quantize MODEL --calibration DATA -o OUT --recipe a8w8`, and the float and the quantized
model both answer the same test inputs in ONNX Runtime.

usage: demo.py [--no-ocr] [--command HALFSTEP] [--output FOLDER] [--cache FOLDER] [--json]
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from demo_parts import packages
from demo_parts.command import DemoError, find_command, quantize
from demo_parts.digits import MODELS, Digits
from demo_parts.ocr import Detector, Recognizer
from demo_parts.running import answers, open_session
from demo_parts.table import aligned
from demo_parts.tasks import Task, write_samples


@dataclass(frozen=True)
class Row:
    """One line of the table. `unoptimized`: accuracy of the quantized model, optimizations off."""

    model: str
    accuracy_float: float
    accuracy: float
    unoptimized: float
    agreement: float
    bytes_float: int
    bytes: int
    milliseconds_float: float
    milliseconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        command = find_command(options.command)
        with tempfile.TemporaryDirectory(prefix="halfstep-demo-") as scratch:
            folder = options.output or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            failed = run(options, lambda task: measure(task, command, folder))
    except DemoError as error:
        say(f"error: {error}")
        return 1
    return 1 if failed else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--ocr",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="the text models too, which are fetched once; without this option they are left out "
        "if they can't be fetched, with it that is an error",
    )
    parser.add_argument("--command", type=Path, help="the halfstep command (default: installed)")
    parser.add_argument("--output", type=Path, help="keep the quantized models in this folder")
    parser.add_argument("--cache", type=Path, default=packages.default_cache())
    parser.add_argument("--json", action="store_true", help="the table as JSON")
    return parser.parse_args(arguments)


def run(options: argparse.Namespace, measured: Callable[[Task], Row]) -> bool:
    """Measures and prints everything; true if a part that was asked for is missing."""
    tasks: list[Task] = [Digits(name) for name in MODELS]
    missing = False
    if options.ocr is not False:
        try:
            fetched = packages.fetch(options.cache)
            tasks += [Detector(fetched), Recognizer(fetched)]
        except packages.FetchError as error:
            say(f"the text models are left out, a package can't be fetched: {error}")
            missing = options.ocr is True
    rows = []
    for task in tasks:
        say(f"{task.name} ...")
        rows.append(measured(task))
    print(
        json.dumps([asdict(row) for row in rows], indent=2) if options.json else report(rows, tasks)
    )
    return missing


def measure(task: Task, command: Path, folder: Path) -> Row:
    """Quantizes the model of a task and lets float and quantized model answer."""
    output = folder / f"{task.name}_a8w8.onnx"
    samples = write_samples(task.calibration(), folder / f"{task.name}_calibration")
    quantize(command, task.model, samples, output)
    plain = answers(task, open_session(task.model, optimize=True))
    quantized = answers(task, open_session(output, optimize=True))
    unoptimized = answers(task, open_session(output, optimize=False))
    scores = task.score(quantized.values, plain.values)
    return Row(
        model=task.name,
        accuracy_float=task.score(plain.values, plain.values).accuracy,
        accuracy=scores.accuracy,
        unoptimized=task.score(unoptimized.values, plain.values).accuracy,
        agreement=scores.agreement,
        bytes_float=task.model.stat().st_size,
        bytes=output.stat().st_size,
        milliseconds_float=plain.milliseconds,
        milliseconds=quantized.milliseconds,
    )


def report(rows: Sequence[Row], tasks: Sequence[Task]) -> str:
    """The table and what its columns mean."""
    heading = ("model", "accuracy: float", "a8w8", "opt. off", "like float")
    heading += ("size: float", "a8w8", "time: float", "a8w8")
    lines = [heading]
    for row in rows:
        shares = (row.accuracy_float, row.accuracy, row.unoptimized, row.agreement)
        sizes = (row.bytes_float, row.bytes)
        times = (row.milliseconds_float, row.milliseconds)
        lines.append(
            (
                row.model,
                *(f"{100 * value:.1f} %" for value in shares),
                *(f"{value / 1000:.0f} kB" for value in sizes),
                *(f"{value:.2f} ms" for value in times),
            )
        )
    meanings: dict[tuple[str, str], list[str]] = {}
    for task in tasks:
        meanings.setdefault((task.accuracy_means, task.agreement_means), []).append(task.name)
    text = [aligned(lines), ""]
    for (accuracy, agreement), names in meanings.items():
        text.append(f"{', '.join(names)}: accuracy is the {accuracy}, like float the {agreement}.")
    text += [
        "opt. off: accuracy of the quantized model with ONNX Runtime's graph optimizations off.",
        "Time: one inference in ONNX Runtime, one thread, optimizations on, median.",
    ]
    return "\n".join(text)


def say(message: str) -> None:
    print(f"demo: {message}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
