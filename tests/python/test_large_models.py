"""Weights that are quantized while they are written, and safetensors, from Python."""

import json
import struct
from pathlib import Path

import numpy as np
import onnx
import pytest

import halfstep

LARGE = 256  # 256 kB of values: beyond the size up to which weights are quantized at once


@pytest.fixture
def model(tmp_path) -> Path:
    random = np.random.default_rng(3)
    weights = [
        onnx.numpy_helper.from_array(random.standard_normal(shape).astype(np.float32), name)
        for name, shape in [("large", (LARGE, LARGE)), ("small", (LARGE, 4))]
    ]
    nodes = [
        onnx.helper.make_node("MatMul", ["x", "large"], ["h"], "first"),
        onnx.helper.make_node("MatMul", ["h", "small"], ["y"], "second"),
    ]
    ports = [
        onnx.helper.make_tensor_value_info(name, 1, [1, extent])
        for name, extent in (("x", LARGE), ("y", 4))
    ]
    graph = onnx.helper.make_graph(nodes, "g", ports[:1], ports[1:], weights)
    opsets = [onnx.helper.make_opsetid("", 21)]
    path = tmp_path / "model.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


@pytest.mark.parametrize("recipe", ["w8", "w4b32", "mxfp4"])
def test_encodings_of_the_result_are_complete(model, tmp_path, recipe):
    deferred = halfstep.quantize(model, recipe=recipe, output=tmp_path / "a.onnx")
    at_once = halfstep.quantize(model, recipe=recipe)
    kept = halfstep.quantize(
        model, recipe=recipe, output=tmp_path / "b.onnx", encodings_out=tmp_path / "e.json"
    )
    assert set(deferred.encodings) == {"large", "small"}
    for name in deferred.encodings:
        assert deferred.encodings[name] == at_once.encodings[name]
        assert deferred.encodings[name] == kept.encodings[name]
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
    assert deferred.model.serialize() == (tmp_path / "a.onnx").read_bytes()
    assert at_once.model.serialize() == (tmp_path / "a.onnx").read_bytes()


def test_mxfp4_is_read_back(model, tmp_path):
    result = halfstep.quantize(model, recipe="mxfp4", output=tmp_path / "q.onnx")
    onnx.checker.check_model(tmp_path / "q.onnx", full_check=True)
    stored = {t.name: t for t in onnx.load(tmp_path / "q.onnx").graph.initializer}
    assert stored["large_quantized"].data_type == onnx.TensorProto.FLOAT4E2M1
    assert stored["large_scale"].data_type == onnx.TensorProto.FLOAT8E8M0
    again = halfstep.convert(tmp_path / "q.onnx", dry_run=True)
    assert set(result.encodings) == {"large", "small"}
    assert again.summary["model_encodings"] == 2


def safetensors(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    header = {}
    end = 0
    for name, array in arrays.items():
        offsets = [end, end + array.nbytes]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": offsets}
        end += array.nbytes
    text = json.dumps(header).encode()
    data = b"".join(array.tobytes() for array in arrays.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def test_safetensors(tmp_path):
    values = np.random.default_rng(4).standard_normal((16, 64)).astype(np.float32)
    path = safetensors(tmp_path / "m.safetensors", {"a.weight": values})
    seen = []
    result = halfstep.quantize(
        path,
        recipe="w4b32",
        output=tmp_path / "q.safetensors",
        encodings_out=tmp_path / "e.json",
        progress=lambda phase, done, total: seen.append(phase),
    )
    assert result.summary["quantized_weights"] == 1
    assert result.encodings["a.weight"].scale.shape == (16, 2)
    assert (tmp_path / "q.safetensors").exists()
    assert "write" in seen
    assert halfstep.quantize(path, recipe="w8", dry_run=True).summary["quantized_weights"] == 1
    with pytest.raises(halfstep.InvalidArgument, match="output="):
        halfstep.quantize(path, recipe="w8")
    with pytest.raises(halfstep.InvalidArgument, match="calibration"):
        halfstep.quantize(path, [values], recipe="w8", output=tmp_path / "r.safetensors")
    with pytest.raises(halfstep.InvalidArgument, match="exists"):
        halfstep.quantize(path, recipe="w8", output=tmp_path / "q.safetensors")
    with pytest.raises(halfstep.InvalidFile, match="truncated"):
        cut = tmp_path / "cut.safetensors"
        cut.write_bytes(path.read_bytes()[:-8])
        halfstep.quantize(cut, recipe="w8", output=tmp_path / "r.safetensors")
