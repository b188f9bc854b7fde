"""LSTM, GRU and RNN as DLCs: unrolled, on the emulator beside the float model."""

import importlib.util

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

SPEC = importlib.util.find_spec("onnxruntime_qnn")
needs_libraries = pytest.mark.skipif(
    SPEC is None, reason="needs pip install 'halfstep[qnn]' (x86-64 Linux)"
)
STEPS, BATCH, INPUTS, HIDDEN = 5, 2, 6, 4
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def recurrent(op: str, direction: str, *, state: bool = False, **attributes: object):
    """A model of one layer with all its outputs."""
    random = np.random.default_rng(3)
    directions = 2 if direction == "bidirectional" else 1
    wide = GATES[op] * HIDDEN

    def constant(name: str, *shape: int) -> onnx.TensorProto:
        values = random.normal(scale=0.5, size=(directions, *shape)).astype(np.float32)
        return numpy_helper.from_array(values, name)

    weights = [
        constant("W", wide, INPUTS),
        constant("R", wide, HIDDEN),
        constant("B", 2 * wide),
        constant("h0", BATCH, HIDDEN),
    ]
    names = ["x", "W", "R", "B", "", "h0" if state else ""]
    outputs = ["y", "y_h", "y_c"] if op == "LSTM" else ["y", "y_h"]
    node = helper.make_node(
        op, names, outputs, name="layer", hidden_size=HIDDEN, direction=direction, **attributes
    )
    shape = [STEPS, BATCH, INPUTS]
    graph = helper.make_graph(
        [node],
        "recurrent",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
        weights if state else weights[:3],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


CASES = [
    ("LSTM", "forward", {}),
    ("LSTM", "bidirectional", {"state": True}),
    ("GRU", "forward", {"linear_before_reset": 1}),
    ("GRU", "reverse", {"linear_before_reset": 0, "state": True}),
    ("RNN", "bidirectional", {}),
]


@needs_libraries
@pytest.mark.parametrize(("op", "direction", "more"), CASES)
def test_a_layer_runs_as_dlc(halfstep, tmp_path, op, direction, more):
    libraries = ["--qnn-libs", SPEC.submodule_search_locations[0]]
    onnx.save(recurrent(op, direction, **more), tmp_path / "net.onnx")
    x = np.random.default_rng(1).normal(size=(STEPS, BATCH, INPUTS)).astype(np.float32)
    np.savez(tmp_path / "data.npz", **{"000/x": x})
    words = ["convert", "-i", tmp_path / "net.onnx", "--target_backend", "HTP", "--htp_arch", "v75"]
    halfstep(*words, "-o", tmp_path / "q.onnx")
    halfstep(*words, "-o", tmp_path / "q.dlc", *libraries)
    document = halfstep(
        "verify", tmp_path / "q.dlc", "--simulation", tmp_path / "q.onnx", "--on", "htp",
        "--data", tmp_path / "data.npz", "--float", tmp_path / "net.onnx", "--json", *libraries,
    ).json  # fmt: skip
    rows = {row["tensor"]: row for row in document["verify"]["tensors"]}
    assert set(rows) == ({"y", "y_h", "y_c"} if op == "LSTM" else {"y", "y_h"})
    for row in rows.values():
        assert row["target_float_db"] > 50, row


@needs_libraries
def test_what_is_not_unrolled_is_named(halfstep, tmp_path):
    onnx.save(recurrent("LSTM", "forward", clip=1.0), tmp_path / "net.onnx")
    libraries = ["--qnn-libs", SPEC.submodule_search_locations[0]]
    words = ["convert", "-i", tmp_path / "net.onnx", "--target_backend", "HTP", "--htp_arch", "v75"]
    result = halfstep(*words, "-o", tmp_path / "q.dlc", *libraries, code=5)
    assert "LSTM 'layer'" in result.err
    assert "clip" in result.err
    assert not (tmp_path / "q.dlc").exists()
