#!/usr/bin/env python3
"""Whole models as DLCs on the HTP emulator: quantize, write, load, run, compare.

usage: benchmarks/htp_models.py [--arch v75] [--halfstep COMMAND] [--recipes a8w8,a16w8] MODEL...

MODEL is an ONNX file; MODEL@NAME=1,3,48,160@... gives the extents of inputs that are free (1 if not
given). Samples are random: floats from a normal distribution, integers 0 to 99. SQNR in dB, the
lowest of the outputs; "margin": emulator and simulation minus simulation and float.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx

SAMPLES = 4


def run(command: str, *words: object) -> str:
    """Standard output; the first line of the error is raised."""
    done = subprocess.run([command, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [x for x in done.stderr.splitlines() if x.startswith("error")] or [done.stderr]
        raise RuntimeError(" ".join(lines[0].removeprefix("error: ").split())[:160])
    return done.stdout


def extents_of(path: Path, given: dict[str, list[int]]) -> dict[str, tuple[list[int], int]]:
    """Extents and element type of each input."""
    graph = onnx.load(path, load_external_data=False).graph
    constants = {tensor.name for tensor in graph.initializer}
    result = {}
    for value in graph.input:
        if value.name not in constants:
            kind = value.type.tensor_type
            dims = [d.dim_value if d.dim_value > 0 else 1 for d in kind.shape.dim]
            result[value.name] = (given.get(value.name, dims), kind.elem_type)
    return result


def write_samples(path: Path, inputs: dict[str, tuple[list[int], int]]) -> None:
    """Random values of the types of the inputs."""
    generator = np.random.default_rng(0)
    arrays = {}
    for i in range(SAMPLES):
        for name, (dims, kind) in inputs.items():
            dtype = onnx.helper.tensor_dtype_to_np_dtype(kind)
            floating = np.issubdtype(dtype, np.floating)
            values = generator.normal(size=dims) if floating else generator.integers(0, 100, dims)
            arrays[f"{i:03}/{name}"] = values.astype(dtype)
    np.savez(path, **arrays)


def lowest(rows: list[dict[str, Any]], key: str) -> str:
    """The lowest of the outputs that have one."""
    values = [r[key] for r in rows if r[key] not in (None, "inf")]
    return f"{min(values):.1f}" if values else "exact"


def measure(command: str, arch: str, model: str, recipe: str, folder: Path) -> list[str]:
    """The cells of one row."""
    path, *more = model.split("@")
    given = {
        name: [int(x) for x in dims.split(",")] for name, dims in (one.split("=") for one in more)
    }
    samples, written, dlc = folder / "samples.npz", folder / "out.onnx", folder / "out.dlc"
    inputs = extents_of(Path(path), given)
    write_samples(samples, inputs)
    extents: list[str] = []
    for name, (dims, _) in inputs.items():
        extents += ["-d", name, ",".join(map(str, dims))]
    words = ["quantize", path, "--calibration", samples, "--recipe", recipe, "-o", written]
    run(command, *words, "--target", f"htp_{arch}", "--dlc", dlc, *extents, "--force", "-q")
    start = time.monotonic()
    words = ["verify", dlc, "--simulation", written, "--on", "htp", "--arch", arch]
    words += ["--data", samples, "--float", path, "--samples", "2", "--json", "-q"]
    document = json.loads(run(command, *words))
    rows = document["verify"]["tensors"]
    cells = [f"{dlc.stat().st_size / 1e6:.2f}"]
    for key in ("target_simulation_db", "target_float_db", "simulation_float_db", "margin_db"):
        cells.append(lowest(rows, key))
    return [*cells, f"{time.monotonic() - start:.1f}"]


def main() -> int:
    """See the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="+", metavar="MODEL")
    parser.add_argument("--arch", default="v75")
    parser.add_argument("--halfstep", default="halfstep")
    parser.add_argument("--recipes", default="a8w8,a16w8")
    options = parser.parse_args()
    print(
        "| model | recipe | DLC, MB | emulator / simulation | emulator / float |"
        " simulation / float | margin | seconds |\n" + "|---" * 8 + "|"
    )
    for model in options.models:
        for recipe in options.recipes.split(","):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    cells = measure(options.halfstep, options.arch, model, recipe, Path(folder))
                except RuntimeError as error:
                    cells = [str(error)]
            name = Path(model.split("@")[0]).stem
            print(f"| {name} | {recipe} | " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
