"""What every calibration method costs beside plain inference, and what its result depends on.

Networks of whole_job.py, and cases of real models (see real_models.py) if CASES is given. CPU time
is user and system time of all threads of `halfstep calibrate`, over that of a C++ program that runs
every sample once. Statistics are compared as files: for batches of 1, 3 and 8 samples (where the
model's first axis is free) and for 1 and 2 threads.

usage: calibration_methods.py [--cases CASES NAME ...] [--repeats N] [--command HALFSTEP]
                              [--plain PROGRAM] [--methods NAME ...] [--json]
Needs: cmake --build --preset bench --target plain_inference
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

from demo_parts.command import find_command
from demo_parts.table import aligned
from processes import Cost, measure
from whole_job import find_plain

METHODS = ("minmax", "moving_average", "percentile", "entropy", "mse", "sqnr")
NETS = ("mobilenet_v2", "resnet18", "encoder")
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Row:
    """Medians of one model and method."""

    model: str
    method: str
    plain_cpu: float
    cpu: float
    peak_bytes: int
    threads_equal: bool
    batches_equal: str  # "yes", a largest difference as a share of the range, "-" if not possible


def ranges(command: Path, path: Path) -> dict[str, tuple[float, float]]:
    done = subprocess.run(
        [command, "stats", "show", path, "--json"], capture_output=True, check=True
    )
    tensors = json.loads(done.stdout)["statistics"]["tensors"]
    return {t["name"]: (float(t["min"]), float(t["max"])) for t in tensors}


def difference(command: Path, a: Path, b: Path) -> str:
    if a.read_bytes() == b.read_bytes():
        return "yes"
    one, other = ranges(command, a), ranges(command, b)
    worst = 0.0
    for name, (low, high) in one.items():
        width = max(high, 0.0) - min(low, 0.0)
        moved = max(abs(low - other[name][0]), abs(high - other[name][1]))
        worst = max(worst, moved / width if width > 0 else 0.0)
    return f"to {worst:.1e}"


class Runs:
    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self._command = find_command(options.command)
        self._plain = find_plain(options.plain)
        self._repeats = options.repeats
        self._folder = folder

    def rows(self, name: str, methods: list[str]) -> list[Row]:
        model, data = self._folder / f"{name}.onnx", self._folder / f"{name}_1"
        plain = self._median([measure([self._plain, model, data, "1"]) for _ in self._times()])
        return [self._row(name, method, model, data, plain) for method in methods]

    def _times(self) -> range:
        return range(self._repeats)

    @staticmethod
    def _median(costs: list[Cost]) -> float:
        return statistics.median(cost.cpu_seconds for cost in costs)

    def _row(self, name: str, method: str, model: Path, data: Path, plain: float) -> Row:
        print(f"calibration_methods: {name} {method} ...", file=sys.stderr)
        first = self._folder / "first"
        costs = [measure(self._calibrate(model, data, method, first)) for _ in self._times()]
        two = self._folder / "two"
        measure(self._calibrate(model, data, method, two, threads=2))
        return Row(
            model=name,
            method=method,
            plain_cpu=plain,
            cpu=self._median(costs),
            peak_bytes=max(cost.peak_bytes for cost in costs),
            threads_equal=first.read_bytes() == two.read_bytes(),
            batches_equal=self._batches(name, method),
        )

    def _batches(self, name: str, method: str) -> str:
        free = self._folder / f"{name}_free.onnx"
        if not free.is_file():
            return "-"
        outs = []
        for size in (1, 3, 8):
            outs.append(self._folder / f"batch_{size}")
            measure(self._calibrate(free, self._folder / f"{name}_{size}", method, outs[-1]))
        return max(difference(self._command, outs[0], out) for out in outs[1:])

    def _calibrate(
        self, model: Path, data: Path, method: str, out: Path, threads: int = 1
    ) -> list[str | Path]:
        words: list[str | Path] = [self._command, "calibrate", model, "--calibration", data]
        return [*words, "-o", out, "--method", method, "--threads", str(threads), "--force", "-q"]


def table(rows: list[Row]) -> str:
    head = ["model", "method", "CPU", "x plain", "peak", "1 = 2 threads", "1 = 3 = 8 a batch"]
    lines = [
        [
            row.model,
            row.method,
            f"{row.cpu:.2f} s",
            f"{row.cpu / row.plain_cpu:.2f}",
            f"{row.peak_bytes / MEGABYTE:.0f} MB",
            "yes" if row.threads_equal else "no",
            row.batches_equal,
        ]
        for row in rows
    ]
    return aligned([head, *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--cases", nargs="+", default=[], metavar=("CASES", "NAME"))
    parser.add_argument("--nets", nargs="*", default=list(NETS), choices=NETS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--command", type=Path)
    parser.add_argument("--plain", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="halfstep-") as folder:
        maker = Path(__file__).with_name("calibration_methods_data.py")
        subprocess.run([sys.executable, maker, folder, *options.cases], check=True)
        runs = Runs(options, Path(folder))
        names = [*options.nets, *options.cases[1:]]
        rows = [row for name in names for row in runs.rows(name, options.methods)]
    print(json.dumps([asdict(row) for row in rows], indent=2) if options.json else table(rows))


if __name__ == "__main__":
    main()
