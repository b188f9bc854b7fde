#!/usr/bin/env python3
"""How close the simulation is to the HTP emulator, measured against the quantization error.

usage: benchmarks/htp_verify.py [--arch v75] [--halfstep COMMAND] [--recipes GLOB] [--nets] [FOLDER]

FOLDER/MODEL/model.onnx, data.npz (arrays by input name), RECIPE.encodings: by default
tests/golden/htp_cases. Each is adapted with `halfstep convert --fallback` and verified twice: with
the simulation that follows the target's arithmetic, and with plain Q/DQ. "Margin", in dB: SQNR of
emulator and simulation minus SQNR of simulation and float, the lowest of the outputs.
"""

import argparse
import fnmatch
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
ARITHMETICS = ("target", "qdq")


def run(command: str, *arguments: object) -> str:
    """Standard output of a halfstep command."""
    done = subprocess.run(
        [command, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return done.stdout


def sample(case: Path, folder: Path) -> Path:
    """The arrays of a case as one sample, whatever their first extent."""
    path = folder / f"{case.parent.name}.npz"
    with np.load(case.parent / "data.npz") as data:
        np.savez(path, **{f"000/{name}": data[name] for name in data.files})
    return path


def decibels(value: object) -> float:
    """A number of the JSON document; "inf" where nothing differs."""
    return math.inf if value in ("inf", None) else float(value)  # type: ignore[arg-type]


def verify(command: str, written: Path, case: Path, arch: str, arithmetic: str) -> dict:
    """The outputs of one case, the lowest values of all."""
    words = ["verify", written, "--on", "htp", "--arch", arch, "--cast-inputs", "--json", "-q"]
    words += ["--data", sample(case, written.parent), "--float", case.parent / "model.onnx"]
    document = json.loads(run(command, *words, "--arithmetic", arithmetic))
    rows = [r for r in document["verify"]["tensors"] if r["simulation_float_db"] is not None]
    return {
        "target_simulation": min(decibels(r["target_simulation_db"]) for r in rows),
        "simulation_float": min(decibels(r["simulation_float_db"]) for r in rows),
        "margin": min(decibels(r["margin_db"]) for r in rows),
    }


def measure(options: argparse.Namespace, case: Path, folder: Path) -> dict[str, dict]:
    """Both simulations of one case."""
    written = folder / f"{case.parent.name}.{case.stem}.onnx"
    words = ["convert", "-i", case.parent / "model.onnx", "--quantization_overrides", case]
    words += ["--target_backend", "HTP", "--htp_arch", options.arch, "-o", written]
    run(options.halfstep, *words, "--force", "--fallback", "-q")
    return {a: verify(options.halfstep, written, case, options.arch, a) for a in ARITHMETICS}


def row(recipe: str, nets: list[dict[str, dict]]) -> str:
    """One line of the table."""
    cells = [recipe, str(len(nets))]
    for key in ARITHMETICS:
        margins = [net[key]["margin"] for net in nets]
        cells += [
            f"{min(net[key]['target_simulation'] for net in nets):.1f}",
            f"{min(margins):.1f}",
            f"{statistics.median(margins):.1f}",
            str(sum(m >= 10 for m in margins)),
        ]
    lower = sum(net["target"]["margin"] < net["qdq"]["margin"] - 0.05 for net in nets)
    return "| " + " | ".join([*cells, str(lower)]) + " |"


def main() -> int:
    """See the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "tests/golden/htp_cases")
    parser.add_argument("--arch", default="v75")
    parser.add_argument("--halfstep", default="halfstep")
    parser.add_argument("--recipes", default="*", help="only the recipes that match")
    parser.add_argument("--nets", action="store_true", help="a line for each net as well")
    options = parser.parse_args()
    recipes: dict[str, list[dict[str, dict]]] = {}
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in sorted(options.folder.glob("*/*.encodings")):
            if not fnmatch.fnmatch(case.stem, options.recipes):
                continue
            try:
                net = measure(options, case, Path(folder))
            except RuntimeError as error:
                failed += 1
                print(f"{case.parent.name}/{case.stem}: {error}", file=sys.stderr)
                continue
            recipes.setdefault(case.stem, []).append(net)
            if options.nets:
                print(row(f"{case.parent.name}/{case.stem}", [net]), flush=True)
    head = "emulator / simulation, lowest | margin, lowest | median | >= 10 dB"
    print(f"\n| recipe | nets | target: {head} | qdq: {head} | lower than qdq |")
    print("|" + "---|" * 11)
    for recipe in sorted(recipes):
        print(row(recipe, recipes[recipe]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
