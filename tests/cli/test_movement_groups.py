"""ChannelShuffle, BatchToSpace and SpaceToBatch as several ONNX nodes, adapted and run."""

import json

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper


def node(op, output, *inputs, **attributes):
    return helper.make_node(op, list(inputs), [output], f"node_{output}", **attributes)


SHUFFLE = [
    node("Reshape", "b", "a", "s"),
    node("Transpose", "c", "b", perm=[0, 2, 1, 3, 4]),
    node("Reshape", "d", "c", "t"),
]
BATCH_TO_SPACE = [
    node("Reshape", "b", "a", "s"),
    node("Transpose", "c", "b", perm=[2, 3, 0, 4, 1, 5]),
    node("Reshape", "e", "c", "t"),
    node("Slice", "d", "e", "starts", "ends", "axes"),
]
SPACE_TO_BATCH = [  # as tf2onnx writes it
    node("Transpose", "b", "a", perm=[0, 3, 1, 2]),
    node("Transpose", "c", "b", perm=[1, 0, 2, 3]),
    node("Pad", "e", "c", "pads"),
    node("SpaceToDepth", "f", "e", blocksize=2),
    node("Transpose", "g", "f", perm=[1, 0, 2, 3]),
    node("Transpose", "d", "g", perm=[0, 2, 3, 1]),
]
CASES = {
    "ChannelShuffle": (SHUFFLE, [2, 6, 4, 5], {"s": [2, 3, 2, 4, 5], "t": [2, 6, 4, 5]}),
    "BatchToSpace": (
        BATCH_TO_SPACE,
        [4, 2, 3, 5],
        {"s": [2, 2, 1, 2, 3, 5], "t": [1, 4, 6, 5], "starts": [1], "ends": [4], "axes": [1]},
    ),
    "SpaceToBatch": (SPACE_TO_BATCH, [1, 3, 4, 5], {"pads": [0, 0, 1, 0, 0, 0, 0, 0]}),
}


@pytest.fixture(params=CASES)
def case(request, tmp_path):
    """Relu, the nodes of the operator, Relu: the operator's name and the model."""
    nodes, shape, constants = CASES[request.param]
    nodes = [node("Relu", "a", "x"), *nodes, node("Relu", "y", "d")]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", "i", "j", "k"])
    values = [numpy_helper.from_array(np.array(v, np.int64), k) for k, v in constants.items()]
    graph = helper.make_graph(nodes, "net", [x], [y], values)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    return request.param, path


def write_encodings(path, **scales):
    entries = [
        {"name": name, "output_dtype": dtype, "y_scale": scale}
        for name, (dtype, scale) in scales.items()
    ]
    path.write_text(json.dumps({"version": "2.0.0", "encodings": entries}))
    return path


def group_nodes(path):
    """Names of the nodes that are tagged, by what the tag says."""
    groups = {}
    for proto in onnx.load(path).graph.node:
        tags = {entry.key: entry.value for entry in proto.metadata_props}
        if "halfstep.group_op" in tags:
            groups.setdefault(tags["halfstep.group_op"], []).append(proto.name)
    return groups


def test_adapted_and_run(halfstep, case, tmp_path):
    name, model = case
    out, table = tmp_path / "o.onnx", tmp_path / "o.encodings"
    given = write_encodings(tmp_path / "e", x=("uint8", 0.02), a=("uint8", 0.02))
    words = ("convert", "-i", model, "--encodings", given, "--target_backend", "HTP", "-o", out)
    summary = halfstep(*words, "--encodings-out", table, "--json").json["summary"]
    assert summary["adapted"]["movement_groups"] == 1
    (tag, names), *rest = group_nodes(out).items()
    assert not rest and json.loads(tag)["op"] == name
    assert names == [proto.name for proto in onnx.load(model).graph.node][1:-1]

    entries = {e["name"]: e for e in json.loads(table.read_text())["encodings"]}
    assert entries["d"]["y_scale"] == entries["a"]["y_scale"]
    inner = {proto.output[0] for proto in onnx.load(model).graph.node[1:-2]}
    assert not inner & set(entries)
    x = np.random.default_rng(1).random(CASES[name][1], np.float32) * 5
    (wanted,) = ort.InferenceSession(model).run(None, {"x": x})
    (found,) = ort.InferenceSession(out).run(None, {"x": x})
    assert found.shape == wanted.shape and np.abs(found - wanted).max() < 0.02
    explained = " ".join(halfstep("explain", out, "d").out.split())
    assert f"run as one {name}" in explained and "adapt/chain-specification" in explained


def test_in_a_dlc_it_is_the_operator(halfstep, case, tmp_path):
    name, model = case
    out = tmp_path / "o.dlc"
    given = write_encodings(tmp_path / "e", a=("uint8", 0.02), x=("uint8", 0.02), y=("uint8", 0.02))
    halfstep("convert", "-i", model, "--encodings", given, "--target_backend", "HTP", "-o", out)
    (graph,) = halfstep("inspect", out, "--json").json["dlc"]["graphs"]
    (operator,) = [o for o in graph["operators"] if o["type"] not in ("Neuron", "Transpose")]
    wanted = {
        "ChannelShuffle": {"axis": 3, "num_groups": 3},
        "BatchToSpace": {"block_size": [2, 2], "crops": [1, 0, 0, 0]},
        "SpaceToBatch": {"block_size": [2, 2], "pad_amount": [1, 0, 0, 0]},
    }
    assert operator["type"] == name and operator["params"] == wanted[name]


def test_quantized_for_a_target(halfstep, case, tmp_path):
    """What calibration measured behind the operator gives way to what goes into it."""
    name, model = case
    samples = tmp_path / "samples.npz"
    x = np.random.default_rng(2).random(CASES[name][1], np.float32)
    np.savez(samples, **{"0/x": x, "1/x": x / 2})
    out = tmp_path / "o.onnx"
    words = ("quantize", model, "--calibration", samples, "--target", "htp_v75", "-o", out)
    summary = halfstep(*words, "--json").json["summary"]
    assert summary["adapted"]["movement_groups"] == 1 and summary["adapted"]["converts"] == 0
    assert summary["outputs"][0]["sqnr_db"] > 40
    words += ("--force", "--skip", "movement-groups", "--json")
    if name == "BatchToSpace":  # node by node there is no kernel for its six axes
        assert "at most rank 5, found rank 6" in halfstep(*words, code=5).json["error"]["message"]
    else:
        assert halfstep(*words).json["summary"]["adapted"]["movement_groups"] == 0


def test_operators_of_the_converter_stay(halfstep, tmp_path):
    """Nodes of the domain qti_aisw are written as they are; types behind them are known."""
    nodes = [
        helper.make_node(
            "ChannelShuffle", ["x"], ["a"], "shuffle", domain="qti_aisw", num_groups=2, axis=1
        ),
        node("Relu", "y", "a"),
    ]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 6, 4, 4]) for n in "xy")
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("qti_aisw", 1)]
    graph = helper.make_graph(nodes, "net", [x], [y])
    model = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), model)
    out, table = tmp_path / "o.onnx", tmp_path / "o.encodings"
    given = write_encodings(tmp_path / "e", x=("uint8", 0.02), y=("uint8", 0.02))
    halfstep(
        *("convert", "-i", model, "--encodings", given, "--target_backend", "HTP", "-o", out),
        *("--encodings-out", table),
    )
    assert [e["name"] for e in json.loads(table.read_text())["encodings"]] == ["x", "a", "y"]
    (shuffle,) = [n for n in onnx.load(out).graph.node if n.domain == "qti_aisw"]
    assert shuffle.op_type == "ChannelShuffle" and shuffle.name == "shuffle"
