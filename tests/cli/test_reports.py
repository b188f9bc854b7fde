"""What a command says: names, causes, sizes, and what to do next."""

import json

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


def save(job, nodes, shape, constants=(), output=None, opset=17, ir_version=8):
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, output or shape)
    graph = helper.make_graph(nodes, "g", [x], [y], list(constants))
    opsets = [helper.make_opsetid("", opset)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=ir_version), job.model)


def samples(job, *arrays):
    for file in job.samples.iterdir():
        file.unlink()
    for i, x in enumerate(arrays):
        np.savez(job.samples / f"{i}.npz", x=np.asarray(x, np.float32))


def matrix(name, *shape):
    values = np.random.default_rng(3).normal(size=shape).astype(np.float32)
    return numpy_helper.from_array(values, name)


def test_short_names_are_named(halfstep, job):
    """log(-1) is NaN everywhere: `l` is a letter of the message, too."""
    nodes = [
        helper.make_node("Log", ["x"], ["l"], "n"),
        helper.make_node("MatMul", ["l", "w"], ["y"], "m"),
    ]
    save(job, nodes, [2, 4], [matrix("w", 4, 4)])
    samples(job, -np.ones((2, 4)))
    result = halfstep(*job.arguments())
    assert "l: 8 NaN" in result.err
    assert "'l' held no finite value" in result.err
    assert "never-active" not in result.err
    assert "output 'y' holds no finite value" in result.err


def test_dry_run_knows_the_size(halfstep, job):
    """What Q/DQ adds to a small graph is more than what its weights lose."""
    for recipe in ("a8w8", "w4b32", "a16w4"):
        dry = halfstep(*job.arguments("--dry-run", "--recipe", recipe, "--json")).json["summary"]
        real = halfstep(*job.arguments("--recipe", recipe, "--json", "--force")).json["summary"]
        assert real["size_after"] == job.output.stat().st_size
        assert abs(dry["size_after"] / real["size_after"] - 1) < 0.02
        assert dry["weights_after"] == real["weights_after"]


def test_dry_run_asks_no_output(halfstep, job):
    job.output.write_text("there already")
    halfstep(*job.arguments("--dry-run"))
    assert job.output.read_text() == "there already"


def test_worst_tensors_have_a_cause(halfstep, job):
    summary = halfstep(*job.arguments("--json")).json["summary"]
    assert summary["worst"]
    for tensor in summary["worst"]:
        assert tensor["hint"], tensor
        assert "--" in tensor["hint"]


def test_excluded_weight_is_told(halfstep, job):
    reasons = halfstep(*job.arguments("--exclude", "w1", "--json")).json["summary"]["stayed_float"]
    told = [r for r in reasons if "--exclude 'w1'" in r["reason"]]
    assert told[0]["count"] == 1
    assert told[0]["examples"] == ["w1"]


def test_excluded_output_is_told(halfstep, job):
    reasons = halfstep(*job.arguments("--exclude", "p", "--json")).json["summary"]["stayed_float"]
    assert any("--exclude 'p'" in r["reason"] for r in reasons), reasons


@pytest.mark.parametrize(
    ("opset", "ir_version", "more", "words"),
    [
        (28, 14, [], ["net.onnx", "older opset"]),
        (28, 14, ["--recipe", "w8"], ["the quantized form of", "net.onnx", "--no-check"]),
        (29, 14, [], ["net.onnx", "older opset"]),
    ],
)
def test_opset_of_tomorrow(halfstep, job, opset, ir_version, more, words):
    save(
        job,
        [helper.make_node("MatMul", ["x", "w"], ["y"], "m")],
        [2, 4],
        [matrix("w", 4, 4)],
        opset=opset,
        ir_version=ir_version,
    )
    samples(job, np.ones((2, 4)))
    result = halfstep(*job.arguments(*more), code=5)
    for word in words:
        assert word in result.err
    for word in ("onnxruntime_src", "/tmp/halfstep-", ".tmp"):
        assert word not in result.err
    assert job.left_behind() == []
    unchecked = halfstep(*job.arguments("--recipe", "w8", "--no-check"))
    assert "qdq/opset-untried" in unchecked.err


def test_index_out_of_range(halfstep, job):
    x = helper.make_tensor_value_info("x", TensorProto.INT64, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])
    nodes = [
        helper.make_node("Gather", ["w", "x"], ["g"], "gather"),
        helper.make_node("MatMul", ["g", "v"], ["y"], "m"),
    ]
    graph = helper.make_graph(nodes, "g", [x], [y], [matrix("w", 3, 4), matrix("v", 4, 4)])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
        job.model,
    )
    for file in job.samples.iterdir():
        file.unlink()
    np.savez(job.samples / "good.npz", x=np.array([0, 1]))
    np.savez(job.samples / "over.npz", x=np.array([0, 7]))
    result = halfstep(*job.arguments(), code=4)
    assert "over.npz" in result.err
    assert "gather" in result.err
    assert "out of range" in result.err
    assert "operators" not in result.err


def test_model_with_a_branch_only(halfstep, job):
    branch = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["b"])],
        "b",
        [],
        [helper.make_tensor_value_info("b", TensorProto.FLOAT, [2])],
    )
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])
    c = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])
    node = helper.make_node("If", ["c"], ["y"], "if", then_branch=branch, else_branch=branch)
    graph = helper.make_graph([node], "g", [x, c], [y])
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
        job.model,
    )
    for file in job.samples.iterdir():
        file.unlink()
    np.savez(job.samples / "0.npz", x=np.ones(2, np.float32), c=np.array(True))
    result = halfstep(*job.arguments(), code=3)
    assert "1 node;" in result.err
    assert "If" in result.err


def test_inspect_shows_and_counts_traps(halfstep, job):
    model = onnx.load(job.model)
    model.graph.node[1].ClearField("name")
    onnx.save(model, job.model)
    result = halfstep("inspect", job.model)
    assert "inspect/unnamed-nodes 1" in result.out
    assert "nodes without a name: 1 of 6" in result.err


def test_inspect_calls_biases_so(halfstep, job):
    halfstep(*job.arguments())
    rows = halfstep("inspect", job.output, "--json").json["model"]["encodings"]
    assert {"bias", "weight", "activation"} == {row["of"] for row in rows}
    assert all(row["of"] == "bias" for row in rows if row["type"] == "int32")
    assert "type 0" not in halfstep("inspect", job.output).out


def test_missing_key(halfstep, job):
    recipe = job.folder / "own.json"
    recipe.write_text(json.dumps({"weight": "float"}))
    assert 'missing key "activation"' in halfstep(*job.arguments("--recipe", recipe), code=2).err


def test_closest_names(refused, job):
    refused(job, 2, "did you mean a8w8?", more=("--recipe", "a8"))
    refused(job, 2, "did you mean cpu?", more=("--target", "cqu"))
    refused(job, 2, "uint16", more=("--set", "op:Conv act=uint17"))
    refused(job, 2, "given twice", more=("--set", "op:Conv act=uint16 act=uint8"))


def test_option_given_twice(halfstep, job):
    result = halfstep(*job.arguments("--recipe", "a8w8", "--recipe", "w8"), code=2)
    assert "--recipe is given more than once" in result.err
    result = halfstep("quantize", job.model, "--recipe", code=2)
    assert "--recipe needs a value" in result.err


def test_types_of_inputs_and_output(halfstep, job):
    rows = halfstep(*job.arguments("--set", "tensor:f act=uint16", "--json")).json["summary"]
    types = {row["op_type"]: row["activation"] for row in rows["types"]}
    assert types["Flatten"] == "uint8 -> uint16"
    assert types["Gemm"] == "uint16 -> uint8"
