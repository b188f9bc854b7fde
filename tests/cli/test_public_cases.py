"""Public complaints about quantizers, as small models: each must come out right."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cases.manifest_checks import CHECKS, Graph, Result

FOLDER = Path(__file__).resolve().parents[1] / "cases" / "public"
MANIFEST = json.loads((FOLDER / "manifest.json").read_text())
# Need a second run: tested below.
ELSEWHERE = {"all_calib_methods_ok", "batch_size_invariant", "max_seconds"}

SYMMETRIC = {
    "activation": {"dtype": "int8", "qscheme": "symmetric"},
    "weight": {"dtype": "int8", "qscheme": "symmetric", "granularity": {"type": "per_channel"}},
    "bias": "int32",
}


def case(name: str) -> dict[str, Any]:
    return next(c for c in MANIFEST["cases"] if c["name"] == name)


def read_samples(path: Path) -> list[dict[str, np.ndarray]]:
    samples: dict[str, dict[str, np.ndarray]] = {}
    with np.load(path) as arrays:
        for key in arrays.files:
            number, name = key.split("/", 1)
            samples.setdefault(number, {})[name] = arrays[key]
    return [samples[number] for number in sorted(samples)]


def quantize(halfstep, what: dict, folder: Path, calibration: Path | None = None) -> Result:
    config = what["config"]
    data = calibration or FOLDER / what["calibration"]
    output = folder / "out.onnx"
    recipe = folder / "recipe.json"
    recipe.write_text(json.dumps(SYMMETRIC))
    words = ["quantize", FOLDER / what["model"], "-o", output, "-v"]
    if what["encodings"]:
        words += ["--encodings", FOLDER / what["encodings"]]
    if what["samples"] or not what["encodings"]:
        symmetric = config.get("activation_symmetric")
        words += ["--calibration", data, "--recipe", recipe if symmetric else "a8w8"]
    for tensor, dtype in config.get("overrides", {}).items():
        words += ["--set", f"tensor:{tensor} act={dtype}"]
    with halfstep.start(*words, stdout=-1, stderr=-1) as process:
        out, err = process.communicate(timeout=120)
    graph = Graph(output) if output.exists() else None
    return Result(
        FOLDER / what["model"], read_samples(data), process.returncode, out + err, output, graph
    )


@pytest.mark.parametrize("name", [c["name"] for c in MANIFEST["cases"]])
def test_case(halfstep, name, tmp_path):
    what = case(name)
    result = quantize(halfstep, what, tmp_path)
    for wanted in what["checks"]:
        if wanted["kind"] not in ELSEWHERE:
            CHECKS[wanted["kind"]](result, wanted)


def test_scales_do_not_depend_on_the_batch_size(halfstep, tmp_path):
    what = case("calibration_batch_invariance")
    samples = read_samples(FOLDER / what["calibration"])
    found = []
    for size in (1, 2, 8):
        folder = tmp_path / str(size)
        folder.mkdir()
        batches = [samples[i : i + size] for i in range(0, len(samples), size)]
        joined = {
            f"{i:03d}/{name}": np.concatenate([sample[name] for sample in batch])
            for i, batch in enumerate(batches)
            for name in batch[0]
        }
        np.savez(folder / "batches.npz", **joined)
        graph = quantize(halfstep, what, folder, folder / "batches.npz").made
        found.append({k: v.tolist() for k, v in graph.constants.items() if k.endswith("_scale")})
    assert found[0] and found[0] == found[1] == found[2]
