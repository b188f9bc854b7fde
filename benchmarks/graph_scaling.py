"""How the time of each phase grows with the number of nodes.

Quantizes chains of small operators (Conv, Relu, Add and MatMul, Relu, Add, Tanh) of 1,000, 3,000
and 10,000 nodes without running the result, and takes the best of several runs. The slope is that
of log(seconds) over log(nodes): 1 is linear. `calibrate` and `check` are the engine's work, the
other phases are ours. Phases are wall time; the CPU time of a run with weights alone (w8, no
samples) shows our passes without the engine, and without what else runs on the machine.

usage: graph_scaling.py [--command HALFSTEP] [--nodes N ...] [--runs K] [--check] [--json]
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))

from demo_parts.command import find_command
from demo_parts.table import aligned

OURS = ("load", "prepare", "plan", "weights", "write")
ENGINE = ("calibrate", "check")


class Chain:
    """A chain of operators that ends where it is cut."""

    def __init__(self, shape: Sequence[int]) -> None:
        self.random = np.random.default_rng(0)
        self.shape = list(shape)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.last = "x"

    def weight(self, *shape: int) -> str:
        values = (self.random.standard_normal(shape) * 0.3).astype(np.float32)
        self.weights.append(numpy_helper.from_array(values, f"w{len(self.weights)}"))
        return self.weights[-1].name

    def add(self, op: str, *inputs: str) -> str:
        output = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], f"n{len(self.nodes)}"))
        return output

    def model(self) -> onnx.ModelProto:
        ports = [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, self.shape)
            for name in ("x", self.last)
        ]
        graph = helper.make_graph(self.nodes, "chain", ports[:1], ports[1:], self.weights)
        opsets = [helper.make_opsetid("", 17)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def convolutions(nodes: int) -> Chain:
    chain = Chain([1, 8, 4, 4])
    while len(chain.nodes) + 3 <= nodes:
        conv = chain.add("Conv", chain.last, chain.weight(8, 8, 1, 1), chain.weight(8))
        chain.last = chain.add("Add", chain.add("Relu", conv), chain.last)
    return chain


def products(nodes: int) -> Chain:
    chain = Chain([1, 8])
    while len(chain.nodes) + 4 <= nodes:
        product = chain.add("MatMul", chain.last, chain.weight(8, 8))
        chain.last = chain.add("Tanh", chain.add("Add", chain.add("Relu", product), "x"))
    return chain


CHAINS: dict[str, Callable[[int], Chain]] = {"convolutions": convolutions, "products": products}


def cpu_seconds() -> float:
    """Of all commands that were run so far, user and system."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def best_seconds(command: Path, chain: Chain, runs: int, check: bool) -> dict[str, float]:
    """The shortest time of each phase, and of the whole command."""
    best: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        onnx.save(chain.model(), folder / "m.onnx")
        arrays = chain.random.standard_normal([4, *chain.shape]).astype(np.float32) * 1e-3
        np.savez(folder / "s.npz", **{f"{i:03d}/x": x for i, x in enumerate(arrays)})
        words: list[str | Path] = [
            command, "quantize", folder / "m.onnx", "--calibration", folder / "s.npz",
            "-o", folder / "q.onnx", "--force", "--json", "--threads", "1",
        ]  # fmt: skip
        weights = [*words[:3], *words[5:], "--recipe", "w8"]
        words += [] if check else ["--no-check"]
        for _ in range(runs):
            before = cpu_seconds()
            done = subprocess.run(words, check=True, capture_output=True, text=True)
            seconds = json.loads(done.stdout)["summary"]["seconds"]
            seconds["total"] = sum(seconds.values())
            seconds["ours"] = sum(seconds.get(phase, 0.0) for phase in OURS)
            seconds["total, CPU"] = cpu_seconds() - before
            # Weights alone need no engine: what is left is our own passes, reading and writing.
            before = cpu_seconds()
            subprocess.run(weights, check=True, capture_output=True)
            seconds["w8, CPU"] = cpu_seconds() - before
            best = {phase: min(best.get(phase, math.inf), s) for phase, s in seconds.items()}
    return best


def slope(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Of the straight line through (log nodes, log seconds)."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(seconds, 1e-6)), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--command", type=Path)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1000, 3000, 10000])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="run the written model, too")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    command = find_command(arguments.command)
    results = {}
    for name, make in CHAINS.items():
        found = [
            best_seconds(command, make(nodes), arguments.runs, arguments.check)
            for nodes in arguments.nodes
        ]
        results[name] = {
            phase: [round(f.get(phase, 0.0), 4) for f in found]
            for phase in (*OURS, *ENGINE, "ours", "total", "total, CPU", "w8, CPU")
            if any(phase in f for f in found)
        }
    if arguments.json:
        print(json.dumps({"nodes": arguments.nodes, "seconds": results}, indent=2))
        return
    for name, phases in results.items():
        header = [name, *(f"{nodes} nodes" for nodes in arguments.nodes), "slope"]
        rows = [header]
        for phase, seconds in phases.items():
            cells = [f"{s * 1000:.0f} ms" for s in seconds]
            rows.append([phase, *cells, f"{slope(arguments.nodes, seconds):.2f}"])
        print(aligned(rows) + "\n")


if __name__ == "__main__":
    main()
