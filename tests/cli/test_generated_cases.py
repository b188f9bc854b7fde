"""Models of every kind that graphs come in (tests/cases/generated.py): valid, loadable, right."""

import numpy as np
import onnx
import pytest
from cases.builder import Case
from cases.generated import CASES
from cases.verify import LEVELS, check

SLOW = {"large_graph"}


def run(halfstep, made: Case, folder, recipe: str, *more: str):
    onnx.save(made.model, folder / "model.onnx")
    arrays = {f"{i:03d}/{k}": v for i, s in enumerate(made.samples) for k, v in s.items()}
    np.savez(folder / "samples.npz", **arrays)
    return halfstep(
        "quantize", folder / "model.onnx", "--calibration", folder / "samples.npz",
        "-o", folder / f"{recipe}.onnx", "--recipe", recipe, "-v", *more,
        code=made.codes.get(recipe, 0),
    )  # fmt: skip


@pytest.mark.parametrize("name", [name for name in CASES if name not in SLOW])
def test_case(halfstep, name, tmp_path):
    made = CASES[name]()
    for recipe in ("a8w8", "a16w8", "w8", "w4b32"):
        result = run(halfstep, made, tmp_path, recipe)
        text = result.out + result.err
        assert all(word in text for word in made.words), text
        if made.codes.get(recipe, 0) == 0:
            check(made, tmp_path / f"{recipe}.onnx", recipe)


def test_large_graph(halfstep, tmp_path):
    made = CASES["large_graph"]()
    run(halfstep, made, tmp_path, "a8w8", "--no-check")
    check(made, tmp_path / "a8w8.onnx", "a8w8", LEVELS[:1])  # the other one takes long
