"""Adapted models run on the HTP emulator, whole, through ONNX Runtime's QNN provider.

The cases are models with encodings of every kind (int8, 16-bit activations, 4- and 2-bit weights,
blocks, LPBQ, float16 mixes), written by aimet-onnx and aimet-torch for models of our own.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

import halfstep

HERE = Path(__file__).resolve().parent
CASES = HERE.parent / "golden" / "htp_cases"
SOCS = {"v75": "57", "v81": "87"}
# Block scales and half-step zero points have no kernel beside integer activations: an error, and
# with `fallback` the nearest precision that takes them.
BLOCKS = ("bq16", "lpbq16")
ENCODINGS = sorted(CASES.glob("*/*.encodings"))

needs_libraries = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime_qnn") is None,
    reason="needs pip install 'halfstep[qnn]' (x86-64 Linux)",
)


def has_float_blocks(path: Path) -> bool:
    """Does the file hold an entry with a float scale per block?"""
    entries = json.loads(path.read_text())["encodings"]
    return any(
        isinstance(e.get("y_scale"), list) and isinstance(e["y_scale"][0], list) for e in entries
    )


def name_of(path: Path) -> str:
    """mixed_ops/w8a8_pc"""
    return f"{path.parent.name}/{path.stem}"


@pytest.fixture(scope="module", params=sorted(SOCS))
def answers(request, tmp_path_factory):
    """The answers of one process on one architecture, by case."""
    folder = tmp_path_factory.mktemp(request.param)
    cases = []
    for path in ENCODINGS:
        written = folder / f"{path.parent.name}.{path.stem}.onnx"
        halfstep.convert(
            path.parent / "model.onnx", path, "HTP", request.param, output=written,
            fallback=any(kind in path.stem for kind in BLOCKS),
        )  # fmt: skip
        model, data = path.parent / "model.onnx", path.parent / "data.npz"
        cases.append(
            {
                "name": name_of(path),
                "written": str(written),
                "model": str(model),
                "data": str(data),
            }
        )
    listing = folder / "cases.json"
    listing.write_text(json.dumps(cases))
    done = subprocess.run(
        [sys.executable, HERE / "qnn_provider_runner.py", SOCS[request.param], listing],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"name"')]
    found = {answer["name"]: answer for answer in map(json.loads, lines)}
    assert len(found) == len(cases), done.stderr[-2000:]
    return found


@needs_libraries
@pytest.mark.parametrize("case", [name_of(path) for path in ENCODINGS])
def test_runs_on_the_emulator(answers, case):
    answer = answers[case]
    assert "error" not in answer, answer["error"]
    # As near to float as the simulation, up to what 8- and 16-bit arithmetic of the chip adds.
    for ours, simulated in zip(answer["float"], answer["cpu_float"], strict=True):
        assert ours >= min(simulated, 40.0) - 8.0


@pytest.mark.parametrize("case", [name_of(path) for path in ENCODINGS if has_float_blocks(path)])
def test_blocks_beside_integers_are_an_error_without_fallback(case):
    path = CASES / f"{case}.encodings"
    with pytest.raises(halfstep.Unsupported, match="nearest kernels: ") as raised:
        halfstep.convert(path.parent / "model.onnx", path, "HTP", dry_run=True)
    assert "[adapt/granularity]" in str(raised.value) or "[adapt/symmetry]" in str(raised.value)
    assert "--fallback" in str(raised.value)
