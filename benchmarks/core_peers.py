"""The numerical core beside torch, torchao and coreai-opt, on a [4096, 4096] float32 tensor.

Each library runs in a process of its own, with one thread and with two. The peers get an
environment of their own, made the first time (the packages of tools/requirements/peers.txt: 1.1 GB
with a CPU build of torch, several GB with the one that PyPI has for Linux). Prints the tables and
the bars of the project, each met or missed; halfstep must be installed for the Python that runs
this.

usage: core_peers.py [--peers FOLDER] [--repeats N] [--only halfstep] [--json FILE]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
WORKER = Path(__file__).with_name("core_peer_worker.py")
PEERS = ("torch", "torchao", "coreai")
BYTES = 4096 * 4096 * 4
OPERATIONS = ("minmax", "observe+values", "codes")
ALL = ("all, into buffers", "all, allocating")
LIMITS = {"all, into buffers": 0.040, "all, allocating": 0.060}
SHARE_OF_READ = {
    "int8 tensor": 0.8,
    "int8 channel 0": 0.8,
    "int8 channel 1": 0.6,
    "int4 block 32": 0.6,
}

Results = dict[str, dict[str, dict[str, dict[str, float]]]]
"""library -> case -> operation -> {"cpu", "wall"} in seconds."""


@dataclass(frozen=True)
class Bar:
    """One claim, what was found, and whether it holds."""

    what: str
    found: str
    met: bool


def peers_python(folder: Path) -> Path:
    """The interpreter of the peers' environment, which is made if it is not there."""
    python = folder / "bin" / "python"
    wanted = ROOT / "tools" / "requirements" / "peers.txt"
    stamp = folder / "installed.txt"
    if stamp.is_file() and stamp.read_text() == wanted.read_text():
        return python
    print(f"making the environment of the peers in {folder}", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    command = [python, "-m", "pip", "install", "-q", "-r", wanted]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    stamp.write_text(wanted.read_text())
    return python


def compiled_memory_speed(folder: Path) -> Path:
    """The loop that reads memory, as a library."""
    library = folder / "memory_speed.so"
    source = Path(__file__).with_name("memory_speed.c")
    flags = ["-O3", "-march=native", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, source, "-o", library], check=True)
    return library


def worker(python: Path | str, arguments: Sequence[str | Path]) -> Any:
    """What a worker printed; its warnings are thrown away unless it fails."""
    command = [str(word) for word in (python, WORKER, *arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"core_peers: {' '.join(command)} failed:\n{done.stderr.strip()}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def run(options: argparse.Namespace, threads: int, memory_speed: Path) -> Results:
    """All libraries, one after the other; halfstep first and last, the better figure counts."""
    common = ["--threads", str(threads), "--repeats", str(options.repeats)]
    ours = ["halfstep", *common, "--memory-speed", memory_speed]
    results = {"halfstep": worker(sys.executable, ours)}
    if options.only == "halfstep":
        return results
    python = peers_python(options.peers)
    for peer in PEERS:
        results[peer] = worker(python, [peer, *common])
    again = worker(sys.executable, ours)
    for case, operations in results["halfstep"].items():
        for operation, cost in operations.items():
            for kind in cost:
                cost[kind] = min(cost[kind], again[case][operation][kind])
    return results


def best_peer(results: Results, case: str, operation: str) -> tuple[str, float] | None:
    """The peer with the least CPU time."""
    found = [
        (results[peer][case][operation]["cpu"], peer)
        for peer in PEERS
        if operation in results.get(peer, {}).get(case, {})
    ]
    return (min(found)[1], min(found)[0]) if found else None


def speed_bars(results: Results) -> list[Bar]:
    """The bars on one thread."""
    bars = []
    for case, ours in results["halfstep"].items():
        for operation, limit in LIMITS.items():
            cpu = ours[operation]["cpu"]
            what = f"{case}: {operation}, at most {limit * 1e3:.0f} ms"
            bars.append(Bar(what, f"{cpu * 1e3:.1f} ms", cpu <= limit))
        if case in SHARE_OF_READ:
            share = ours["read"]["cpu"] / ours["minmax"]["cpu"]
            least = SHARE_OF_READ[case]
            what = f"{case}: min/max at {least:.0%} of read bandwidth or more"
            bars.append(Bar(what, f"{share:.0%}", share >= least))
        bars += peer_bars(results, case)
    return bars


def peer_bars(results: Results, case: str) -> list[Bar]:
    """Against coreai-opt, and min/max against the best of all."""
    bars = []
    ours = results["halfstep"][case]
    for operation in ("observe+values", "codes"):
        if "coreai" in results:
            times = results["coreai"][case][operation]["cpu"] / ours[operation]["cpu"]
            what = f"{case}: {operation}, 5 times as fast as coreai-opt or more"
            bars.append(Bar(what, f"{times:.1f} times", times >= 5))
    for operation in OPERATIONS:
        if (peer := best_peer(results, case, operation)) is not None:
            times = peer[1] / ours[operation]["cpu"]
            what = f"{case}: {operation}, 1.5 times as fast as the best peer or more"
            bars.append(Bar(what, f"{times:.1f} times ({peer[0]})", times >= 1.5))
    return bars


def peak_bars() -> list[Bar]:
    """Peak memory of halfstep over input and outputs, in a process for each case."""
    bars = []
    for case in worker_cases():
        share = worker(sys.executable, ["halfstep", "--peak", case])
        what = f"{case}: peak memory at most input + output + 1 %"
        bars.append(Bar(what, f"{share - 1:+.2%}", share <= 1.01))
    return bars


def worker_cases() -> list[str]:
    sys.path.insert(0, str(WORKER.parent))
    from core_peer_worker import SPECS

    return list(SPECS)


def print_times(results: Results, two: Results) -> None:
    """One row for each case and operation."""
    print("| case | operation | halfstep | GB/s | x copy | 2 threads: CPU, wall | best peer |")
    print("|---|---|---|---|---|---|---|")
    for case, ours in results["halfstep"].items():
        for operation in ("read", "copy", *OPERATIONS, *ALL):
            if operation in ("read", "copy") and case != "int8 tensor":
                continue
            cpu = ours[operation]["cpu"]
            pair = two["halfstep"][case][operation]
            peer = best_peer(results, case, operation)
            print(
                f"| {'' if operation in ('read', 'copy') else case} | {operation} "
                f"| {cpu * 1e3:.1f} ms | {BYTES / cpu / 1e9:.1f} "
                f"| {cpu / ours['copy']['cpu']:.2f} "
                f"| {pair['cpu'] * 1e3:.1f}, {pair['wall'] * 1e3:.1f} ms "
                f"| {'' if peer is None else f'{peer[1] * 1e3:.1f} ms ({peer[0]})'} |"
            )


def print_peers(results: Results) -> None:
    """CPU milliseconds of every library."""
    names = list(results)
    print("| case | operation | " + " | ".join(names) + " |")
    print("|---|---|" + "---|" * len(names))
    for case in results["halfstep"]:
        for operation in OPERATIONS:
            cells = [results[name].get(case, {}).get(operation) for name in names]
            shown = ["" if cell is None else f"{cell['cpu'] * 1e3:.1f}" for cell in cells]
            print(f"| {case} | {operation} | " + " | ".join(shown) + " |")


def print_bars(bars: Sequence[Bar]) -> None:
    width = max(len(bar.what) for bar in bars)
    for bar in bars:
        print(f"{'met   ' if bar.met else 'MISSED'} {bar.what:{width}} {bar.found}")
    missed = sum(not bar.met for bar in bars)
    print(f"{len(bars) - missed} of {len(bars)} bars met")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", type=Path, default=ROOT / "build" / "peers")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--only", choices=["halfstep"], help="leave the peers out")
    parser.add_argument("--json", type=Path, help="also write all figures to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="halfstep-bench-") as folder:
        memory_speed = compiled_memory_speed(Path(folder))
        one, two = (run(options, threads, memory_speed) for threads in (1, 2))
    if options.json:
        options.json.write_text(json.dumps({"1 thread": one, "2 threads": two}, indent=1) + "\n")
    print_times(one, two)
    print()
    print_peers(one)
    print()
    print_bars(speed_bars(one) + peak_bars())


if __name__ == "__main__":
    main()
