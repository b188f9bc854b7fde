"""Models larger than memory: a made model through `halfstep quantize`, weights only.

Makes a model with external data (or a folder of safetensors), copies it with cp, quantizes it with
each recipe, checks the results with large_model_check.py, kills runs at half and looks what is
left.
Every measured run starts with the input out of the page cache, as far as the system follows.

usage: large_model.py [--command HALFSTEP] [--gigabytes N] [--form onnx|safetensors]
                      [--dtype float32|float16|bfloat16] [--recipes R ...] [--threads N ...]
                      [--folder DIR] [--input DIR] [--copied GB] [--limit MB] [--json]

--input is the folder of a model that large_model_data.py made before.

Exit code 1 if a check fails, a killed run leaves something behind, or a run takes more memory than
--limit. Needs the size of the model twice on the disk of --folder, with --copied once and a third;
all of it is deleted.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

from demo_parts.command import find_command
from demo_parts.table import aligned
from processes import Cost, RunError, measure

HERE = Path(__file__).resolve().parent
SIGNALS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM)


@dataclass
class Row:
    """One measured run. gb_s_core: bytes of the input by CPU second."""

    what: str
    wall: float
    cpu: float
    gb_s_core: float
    to_cp: float
    peak_mb: float
    written_gb: float
    checked: str


class CheckError(Exception):
    """Something that must hold does not."""


def files_of(path: Path) -> list[Path]:
    """The files of a model: itself and its external data, or all of a folder."""
    if path.is_dir():
        return sorted(path.iterdir())
    return [file for file in (path, Path(f"{path}.data")) if file.exists()]


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in files_of(path))


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
        return
    for file in files_of(path):
        file.unlink()


def forget(path: Path) -> None:
    """Out of the page cache, so that reading means the disk."""
    for file in files_of(path):
        descriptor = os.open(file, os.O_RDONLY)
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def digest(path: Path) -> str:
    result = hashlib.sha256()
    for file in files_of(path):
        result.update(file.name.encode())
        with file.open("rb") as stream:
            while piece := stream.read(1 << 22):
                result.update(piece)
    return result.hexdigest()


class Bench:
    def __init__(self, arguments: argparse.Namespace, folder: Path) -> None:
        self.arguments = arguments
        self.folder = folder
        self.command = find_command(arguments.command)
        self.safetensors = arguments.form == "safetensors"
        if arguments.input is None:
            self.model = folder / ("model" if self.safetensors else "model.onnx")
        else:
            self.model = arguments.input / ("" if self.safetensors else "model.onnx")
        self.output = folder / ("out" if self.safetensors else "out.onnx")

    def python(self, script: str, *words: object) -> str:
        line = [sys.executable, str(HERE / script), *map(str, words)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise CheckError(f"{script}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    def make(self) -> None:
        a = self.arguments
        place = self.model if self.safetensors else self.folder
        self.python(
            "large_model_data.py",
            place,
            "--gigabytes",
            a.gigabytes,
            "--dtype",
            a.dtype,
            "--form",
            a.form,
            "--width",
            a.width,
        )

    def row(self, what: str, cost: Cost, cp: float, written: int, checked: str) -> Row:
        size = size_of(self.model)
        return Row(
            what,
            cost.wall_seconds,
            cost.cpu_seconds,
            size / 1e9 / cost.cpu_seconds,
            cost.wall_seconds / cp,
            cost.peak_bytes / 1e6,
            written / 1e9,
            checked,
        )

    def copy(self) -> Row:
        """cp of the model; of its first --copied gigabytes alone the time of all is worked out."""
        copied = self.folder / "copy"
        forget(self.model)
        part = 1.0
        if self.arguments.copied is None:
            cost = measure(
                [
                    "cp",
                    "-r",
                    *([self.model] if self.safetensors else files_of(self.model)[-1:]),
                    copied,
                ]
            )
        else:
            source = max(files_of(self.model), key=lambda file: file.stat().st_size)
            blocks = int(self.arguments.copied * 1e9) >> 22
            cost = measure(["dd", f"if={source}", f"of={copied}", "bs=4M", f"count={blocks}"])
            part = copied.stat().st_size / size_of(self.model)
        written = size_of(copied)
        remove(copied)
        cost = Cost(cost.cpu_seconds / part, cost.wall_seconds / part, cost.peak_bytes)
        return self.row("cp", cost, cost.wall_seconds, int(written / part), "-")

    def line(self, recipe: str, threads: int) -> list[str]:
        return [
            str(self.command),
            "quantize",
            str(self.model),
            "-o",
            str(self.output),
            "--recipe",
            recipe,
            "--threads",
            str(threads),
            "--no-progress",
        ]

    def quantize(self, recipe: str, threads: int, cp: float) -> tuple[Row, str]:
        forget(self.model)
        cost = measure(self.line(recipe, threads))
        checked = self.python("large_model_check.py", self.model, self.output, recipe)
        label = f"{recipe}, {threads} thread{'s' * (threads > 1)}"
        row = self.row(label, cost, cp, size_of(self.output), checked)
        result = digest(self.output)
        remove(self.output)
        if row.peak_mb > self.arguments.limit:
            raise CheckError(f"{label}: {row.peak_mb:.0f} MB, more than {self.arguments.limit}")
        return row, result

    def kill(self, recipe: str, number: signal.Signals, after: float) -> None:
        """Ends a run at half; nothing may be left of it."""
        forget(self.model)
        before = sorted(self.folder.rglob("*"))
        with subprocess.Popen(
            self.line(recipe, 1), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            time.sleep(after)
            if process.poll() is not None:
                raise CheckError(f"{recipe}: was done before it could be killed")
            process.send_signal(number)
            code = process.wait()
        wanted = -signal.SIGKILL if number == signal.SIGKILL else 130
        if code != wanted:
            raise CheckError(f"{recipe} after {number.name}: exit code {code}, expected {wanted}")
        left = [str(p) for p in sorted(self.folder.rglob("*")) if p not in before]
        if left:
            raise CheckError(f"{recipe} after {number.name}: left behind {', '.join(left)}")

    def recipe(self, recipe: str, cp: float) -> Iterator[Row]:
        results = set()
        fastest = float("inf")
        for threads in self.arguments.threads:
            row, result = self.quantize(recipe, threads, cp)
            results.add(result)
            fastest = min(fastest, row.wall)
            yield row
        if len(results) != 1:
            raise CheckError(f"{recipe}: the result depends on the number of threads")
        for number in SIGNALS:
            self.kill(recipe, number, fastest / 2)
        row, result = self.quantize(recipe, self.arguments.threads[-1], cp)
        if result not in results:
            raise CheckError(f"{recipe}: a run after killed ones gives other bytes")
        row.what = f"{recipe} after 3 killed runs"
        yield row


def table(rows: Sequence[Row]) -> str:
    head = ["run", "wall s", "CPU s", "GB/s a core", "of cp", "peak MB", "written GB", "checked"]
    lines = [
        [
            r.what,
            f"{r.wall:.1f}",
            f"{r.cpu:.1f}",
            f"{r.gb_s_core:.2f}",
            f"{r.to_cp:.2f}",
            f"{r.peak_mb:.0f}",
            f"{r.written_gb:.2f}",
            r.checked,
        ]
        for r in rows
    ]
    return aligned([head, *lines])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--command", type=Path, default=None)
    parser.add_argument("--gigabytes", type=float, default=8.0)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--form", choices=["onnx", "safetensors"], default="onnx")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--recipes", nargs="+", default=["w4b32", "w8", "mxfp4"])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--copied", type=float, default=None, help="GB that cp is measured on")
    parser.add_argument("--input", type=Path, default=None)
    parser.add_argument("--limit", type=float, default=1000, help="peak memory in MB")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        try:
            bench = Bench(arguments, Path(folder))
            if arguments.input is None:
                bench.make()
            rows.append(bench.copy())
            for recipe in arguments.recipes:
                rows += bench.recipe(recipe, rows[0].wall)
        except (CheckError, RunError) as error:
            print(error, file=sys.stderr)
            return 1
        finally:
            print(json.dumps([asdict(row) for row in rows]) if arguments.json else table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
