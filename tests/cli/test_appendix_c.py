"""The four examples of the specification's appendix C (encodings file 2.0.0).

As valid JSON they have the meaning that the appendix states; as printed there (typographic quotes,
missing commas, trailing commas) they are refused with line and column.
"""

import json

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

EXAMPLES = {
    "tensor": {"name": "activation", "output_dtype": "uint8", "y_scale": 1.0, "y_zero_point": 128},
    "channel": {
        "name": "conv.weight",
        "output_dtype": "int8",
        "y_scale": [0.0050100767984986305, 0.0017133733490481973, 0.0017133733490481973],
        "axis": 0,
    },
    "block": {
        "name": "conv22.weight",
        "output_dtype": "int4",
        "y_scale": [[0.01, 0.02], [0.03, 0.04], [0.05, 0.06]],
        "y_zero_point": [[0, 0], [0, 0], [0, 0]],
        "axis": 1,
        "block_size": 32,
    },
    "lpbq": {
        "name": "conv2.weight",
        "output_dtype": "int4",
        "per_channel_float_scale": [0.01, 0.02, 0.03],
        "per_block_int_scale": [[1, 2, 16], [2, 16, 7], [16, 3, 1]],
        "offset": 0,
        "block_size": [1, 3],
    },
}

PRINTED = {
    "tensor": (
        "{\n“name”: “activation”,\n“output_dtype”: “uint8”,\n“y_scale”: 1.0\n}",
        (2, 1),
    ),
    "channel": (
        '{\n"name": "conv.weight",\n"output_dtype": "int8",\n"y_scale": [\n0.0050100767984986305,\n'
        '0.0017133733490481973,\n0.0017133733490481973,\n]\n"axis": 0\n}',
        (8, 1),
    ),
    "block": (
        '{\n"name": "conv22.weight",\n"output_dtype": "int4"\n"y_scale": [\n[0.01, 0.02]\n]\n}',
        (4, 9),
    ),
    "lpbq": (
        '{\n"name": "conv2.weight",\n"output_dtype": "int4",\n"block_size": [1, 3],\n}',
        (5, 1),
    ),
}


@pytest.fixture
def model(tmp_path):
    """Gemm layers whose weights fit the examples: [3, 16], [3, 64] and [3, 9]."""
    rng = np.random.default_rng(0)
    nodes, inputs, outputs, weights = [], [], [], []
    for name, columns in (("conv.weight", 16), ("conv22.weight", 64), ("conv2.weight", 9)):
        x = "activation" if not nodes else f"x{columns}"
        values = rng.standard_normal((3, columns)).astype(np.float32)
        weights.append(numpy_helper.from_array(values, name))
        nodes.append(helper.make_node("Gemm", [x, name], [f"y{columns}"], name[:-7], transB=1))
        inputs.append(helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, columns]))
        outputs.append(helper.make_tensor_value_info(f"y{columns}", TensorProto.FLOAT, [1, 3]))
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    path = tmp_path / "m.onnx"
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def shown(halfstep, tmp_path, model, *examples):
    file = tmp_path / "e.json"
    entries = [EXAMPLES[name] for name in examples]
    file.write_text(json.dumps({"version": "2.0.0", "encodings": entries}))
    return halfstep("encodings", "show", file, "--model", model, "--json").json["entries"]


def test_per_tensor(halfstep, tmp_path, model):
    (entry,) = shown(halfstep, tmp_path, model, "tensor")
    assert (entry["dtype"], entry["scale"], entry["zero_point"]) == ("uint8", [1.0], [128])
    assert entry["granularity"] == {"type": "per_tensor"} and entry["symmetric"] is True


def test_per_channel(halfstep, tmp_path, model):
    (entry,) = shown(halfstep, tmp_path, model, "channel")
    assert entry["granularity"] == {"type": "per_channel", "axis": 0}
    np.testing.assert_array_equal(np.float32(entry["scale"]),
                                  np.float32(EXAMPLES["channel"]["y_scale"]))  # fmt: skip
    assert entry["zero_point"] == [0, 0, 0]


def test_blocks(halfstep, tmp_path, model):
    (entry,) = shown(halfstep, tmp_path, model, "block")
    assert entry["granularity"]["type"] == "per_block" and entry["shape"] == [3, 2]
    np.testing.assert_allclose(entry["scale"], [0.01, 0.02, 0.03, 0.04, 0.05, 0.06], rtol=1e-6)


def test_lpbq(halfstep, tmp_path, model):
    (entry,) = shown(halfstep, tmp_path, model, "lpbq")
    np.testing.assert_allclose(entry["scale"], [0.01, 0.02, 0.03], rtol=1e-6)
    assert entry["block_scale"] == [1, 2, 16, 2, 16, 7, 16, 3, 1] and entry["shape"] == [3, 3]
    file = tmp_path / "e.json"
    file.write_text(json.dumps(
        {"version": "2.0.0", "encodings": [EXAMPLES["lpbq"] | {"offset": 1}]}))  # fmt: skip
    result = halfstep("encodings", "lint", file, "--model", model, code=1)
    assert "offset must be 0" in result.out


def test_files_are_read_without_their_model_too(halfstep, tmp_path):
    file = tmp_path / "e.json"
    entries = list(EXAMPLES.values())
    file.write_text(json.dumps({"version": "2.0.0", "encodings": entries}))
    assert "0 errors" in halfstep("encodings", "lint", file).out
    out = tmp_path / "o.json"
    halfstep("encodings", "convert", file, "--to", "2.1.0", "-o", out)
    halfstep("encodings", "diff", file, out)


def test_all_four_are_applied(halfstep, tmp_path, model):
    shown(halfstep, tmp_path, model, *EXAMPLES)
    result = halfstep("encodings", "apply", model, tmp_path / "e.json", "-o", tmp_path / "o.onnx")
    assert "4 entries: 4 applied" in result.out


@pytest.mark.parametrize("name", EXAMPLES)
def test_as_printed(halfstep, tmp_path, model, name):
    text, (line, column) = PRINTED[name]
    for whole in (text, '{"version": "2.0.0", "encodings": [\n' + text + "\n]}"):
        file = tmp_path / "e.json"
        file.write_text(whole)
        err = halfstep("encodings", "show", file, "--model", model, code=4).err
        expected = line + (whole != text)
        assert "e.json" in err and f"line {expected}, column {column}" in err, err
