"""What `halfstep quantize` costs as a whole, beside plain inference and quantize_static.

Three networks with random weights, 64 samples each (224 x 224 pixels for the two that see), recipe
a8w8; every figure is the median of several runs of a process of its own. CPU time is user and
system time of all threads. Plain inference is a C++ program: one session, every sample run once.

usage: whole_job.py [--repeats N] [--threads N] [--command HALFSTEP] [--plain PROGRAM] [--json]
Needs: cmake --build --preset bench --target plain_inference
"""

import argparse
import hashlib
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

from demo_parts.command import DemoError, find_command
from demo_parts.table import aligned
from processes import Cost, RunError, measure, own_peak_bytes

ROOT = Path(__file__).resolve().parents[1]
MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Bar:
    """What must hold for a network."""

    times_plain: float = 2.0  # CPU of the whole job over that of plain inference, at most
    times_less: float = 3.0  # CPU of quantize_static over that of the whole job, at least
    megabytes: float = 200.0  # peak memory, at most


BARS = {"mobilenet_v2": Bar(), "resnet18": Bar(times_less=2.0, megabytes=250.0), "encoder": Bar()}
MEMORY_GROWTH = 1.05  # peak with 64 samples over peak with 16, at most
WHOLE_COMMAND_SECONDS, HELP_SECONDS = 0.1, 0.05


@dataclass(frozen=True)
class NetResult:
    """Medians of one network."""

    net: str
    plain_cpu: float
    job_cpu: float
    static_cpu: float
    job_peak: float
    job_peak_few: float
    static_peak: float
    same_bytes: bool

    def checks(self) -> dict[str, bool]:
        """Every bar of the network, and whether it is met."""
        bar = BARS[self.net]
        return {
            f"CPU <= {bar.times_plain:g} x plain": self.job_cpu <= bar.times_plain * self.plain_cpu,
            f"quantize_static takes >= {bar.times_less:g} x the CPU": (
                self.static_cpu >= bar.times_less * self.job_cpu
            ),
            f"peak < {bar.megabytes:g} MB": self.job_peak < bar.megabytes * MEGABYTE,
            "peak does not grow with the samples": (
                self.job_peak <= MEMORY_GROWTH * self.job_peak_few
            ),
            "same bytes twice, with 1 and 2 threads": self.same_bytes,
        }


@dataclass(frozen=True)
class FixedCost:
    """What the command takes however small the model; the bar is for the wall time."""

    name: str
    wall_seconds: float
    cpu_seconds: float
    bar_seconds: float

    @property
    def met(self) -> bool:
        return self.wall_seconds < self.bar_seconds


class Job:
    """The programs to measure and the folder they work in."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self._command = find_command(options.command)
        self._plain = find_plain(options.plain)
        self._repeats = options.repeats
        self._threads = options.threads
        self._folder = folder

    def net(self, name: str) -> NetResult:
        model = self._folder / f"{name}.onnx"
        many, few = self._folder / f"{name}_64", self._folder / f"{name}_16"
        peer = [sys.executable, Path(__file__).with_name("static_peer.py"), model]
        peer += ["--calibration", many, "--no-prepare", "-o", self._folder / "static.onnx"]
        print(f"whole_job: {name} ...", file=sys.stderr)
        costs: dict[str, list[Cost]] = {"plain": [], "job": [], "few": [], "static": []}
        for _ in range(self._repeats):
            costs["plain"].append(measure([self._plain, model, many, str(self._threads)]))
            costs["job"].append(measure(self._quantize(model, many, self._threads)))
            costs["few"].append(measure(self._quantize(model, few, self._threads)))
            costs["static"].append(measure(peer))
        cpu = {kind: statistics.median(c.cpu_seconds for c in costs[kind]) for kind in costs}
        peak = {kind: max(c.peak_bytes for c in costs[kind]) for kind in costs}
        if min(peak.values()) <= own_peak_bytes():
            raise RunError("this process is larger than a measured one: its peak memory is unknown")
        return NetResult(
            net=name,
            plain_cpu=cpu["plain"],
            job_cpu=cpu["job"],
            static_cpu=cpu["static"],
            job_peak=peak["job"],
            job_peak_few=peak["few"],
            static_peak=peak["static"],
            same_bytes=self._same_bytes(model, many),
        )

    def whole_command(self) -> FixedCost:
        model, data = self._folder / "one_conv.onnx", self._folder / "one_conv_4"
        command = self._quantize(model, data, self._threads)
        return self._fixed("one-Conv model, whole command, warm", command, WHOLE_COMMAND_SECONDS)

    def help(self) -> FixedCost:
        return self._fixed("--help", [self._command, "--help"], HELP_SECONDS)

    def _fixed(self, name: str, command: Sequence[str | Path], bar: float) -> FixedCost:
        """Medians, warm: the first run does not count."""
        runs = [measure(command) for _ in range(4 * self._repeats + 1)][1:]
        wall = statistics.median(cost.wall_seconds for cost in runs)
        cpu = statistics.median(cost.cpu_seconds for cost in runs)
        return FixedCost(name, wall_seconds=wall, cpu_seconds=cpu, bar_seconds=bar)

    def _quantize(self, model: Path, data: Path, threads: int) -> list[str | Path]:
        command = [self._command, "quantize", model, "--calibration", data]
        command += ["-o", self._folder / "out.onnx", "--encodings-out", self._folder / "out.json"]
        return [*command, "--recipe", "a8w8", "--threads", str(threads), "--force"]

    def _same_bytes(self, model: Path, data: Path) -> bool:
        digests = set()
        for threads in (1, 1, 2):
            measure(self._quantize(model, data, threads))
            outputs = [self._folder / "out.onnx", self._folder / "out.json"]
            digests.add(tuple(hashlib.sha256(path.read_bytes()).digest() for path in outputs))
        return len(digests) == 1


def find_plain(given: Path | None) -> Path:
    """The plain_inference program: the given one, else one that was built here.

    Errors: DemoError with the command that builds it.
    """
    built = [
        ROOT / "build" / preset / "benchmarks" / "plain_inference" for preset in ("bench", "dev")
    ]
    for candidate in [given] if given else built:
        if candidate.is_file():
            return candidate
    raise DemoError(
        f"no program at {given or built[0]}; build it with: cmake --preset bench && "
        "cmake --build --preset bench --target plain_inference"
    )


def report(nets: Sequence[NetResult], fixed: Sequence[FixedCost]) -> str:
    """The tables."""
    rows = [
        (
            "net",
            "plain",
            "halfstep",
            "ratio",
            "quantize_static",
            "ratio",
            "peak, 64",
            "16",
            "static",
        )
    ]
    for net in nets:
        rows.append(
            (
                net.net,
                f"{net.plain_cpu:.2f} s",
                f"{net.job_cpu:.2f} s",
                f"{net.job_cpu / net.plain_cpu:.2f}",
                f"{net.static_cpu:.2f} s",
                f"{net.static_cpu / net.job_cpu:.2f}",
                *(
                    f"{peak / MEGABYTE:.0f} MB"
                    for peak in (net.job_peak, net.job_peak_few, net.static_peak)
                ),
            )
        )
    checks = [("check", "", "met")]
    checks += [
        (f"{n.net}: {text}", "", "yes" if met else "NO")
        for n in nets
        for text, met in n.checks().items()
    ]
    for cost in fixed:
        times = f"{1000 * cost.wall_seconds:.1f} ms ({1000 * cost.cpu_seconds:.1f} ms CPU)"
        name = f"{cost.name} < {1000 * cost.bar_seconds:g} ms"
        checks.append((name, times, "yes" if cost.met else "NO"))
    return f"{aligned(rows)}\n\n{aligned(checks)}"


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--command", type=Path, help="the halfstep command (default: installed)")
    parser.add_argument("--plain", type=Path, help="plain_inference (default: that of build/bench)")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    try:
        with tempfile.TemporaryDirectory(prefix="halfstep-bench-") as scratch:
            job = Job(options, Path(scratch))
            data = Path(__file__).with_name("whole_job_data.py")
            subprocess.run([sys.executable, data, scratch], check=True)
            nets = [job.net(name) for name in BARS]
            fixed = [job.whole_command(), job.help()]
    except (DemoError, RunError) as error:
        print(f"whole_job: error: {error}", file=sys.stderr)
        return 2
    if options.json:
        result = {"nets": [{**asdict(net), "checks": net.checks()} for net in nets]}
        result["fixed"] = [{**asdict(cost), "met": cost.met} for cost in fixed]
        print(json.dumps(result, indent=2))
    else:
        print(report(nets, fixed))
    met = [all(net.checks().values()) for net in nets] + [cost.met for cost in fixed]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
