#!/usr/bin/env python3
"""Runs adapted models on the HTP emulator and prints how far the results are from each other.

usage: benchmarks/htp_cases.py [--arch v75] [--halfstep COMMAND] [FOLDER]

FOLDER/MODEL/model.onnx, data.npz (arrays by input name), RECIPE.encodings: by default
tests/golden/htp_cases. Each is adapted with `halfstep convert` (with --fallback where that refuses
it) and run by ONNX Runtime's QNN provider, no node on the CPU. Columns, in dB over all outputs, the
lowest of them: the emulator against the written file on the CPU (optimizations off), and both
against the float model. Needs the packages onnxruntime and onnxruntime-qnn.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOCS = {"v68": "30", "v69": "36", "v73": "43", "v75": "57", "v79": "69", "v81": "87"}


def convert(command: str, encodings: Path, arch: str, output: Path) -> str:
    """Adapts one case; returns what had to be asked for, or the error."""
    arguments = [
        command, "convert", "-i", encodings.parent / "model.onnx", "--quantization_overrides",
        encodings, "--target_backend", "HTP", "--htp_arch", arch, "-o", output, "--force", "-q",
    ]  # fmt: skip
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    again = subprocess.run([*arguments, "--fallback"], capture_output=True, text=True, check=False)
    return "fallback" if again.returncode == 0 else again.stderr.strip().splitlines()[0]


def lowest(values: list[float]) -> str:
    """As in a table."""
    return f"{min(values):.1f}"


def main() -> int:
    """See the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "tests/golden/htp_cases")
    parser.add_argument("--arch", default="v75", choices=sorted(SOCS))
    parser.add_argument("--halfstep", default="halfstep")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases, remarks = [], {}
        for path in sorted(options.folder.glob("*/*.encodings")):
            name = f"{path.parent.name}/{path.stem}"
            written = Path(folder) / f"{path.parent.name}.{path.stem}.onnx"
            remarks[name] = convert(options.halfstep, path, options.arch, written)
            cases.append(
                {
                    "name": name,
                    "written": str(written),
                    "model": str(path.parent / "model.onnx"),
                    "data": str(path.parent / "data.npz"),
                }
            )
        listing = Path(folder) / "cases.json"
        listing.write_text(json.dumps(cases))
        runner = ROOT / "tests/python/qnn_provider_runner.py"
        done = subprocess.run(
            [sys.executable, runner, SOCS[options.arch], listing],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    answers = [json.loads(x) for x in done.stdout.splitlines() if x.startswith('{"name"')]
    print("| case | emulator / CPU | emulator / float | CPU / float | |\n|---|---|---|---|---|")
    for answer in answers:
        name = answer["name"]
        if "error" in answer:
            print(f"| {name} | - | - | - | {remarks[name]} {answer['error'][:120]} |")
            continue
        cells = [lowest(answer[key]) for key in ("cpu", "float", "cpu_float")]
        print(f"| {name} | {' | '.join(cells)} | {remarks[name]} |")
    ran = sum("error" not in answer for answer in answers)
    print(f"\n{ran} of {len(cases)} cases run on {options.arch}")
    return 0 if ran == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
