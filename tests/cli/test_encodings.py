"""Encodings files: laid over a quantization, and the verbs of `halfstep encodings`."""

import json

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper


def write_file(path, entries, version="2.0.0"):
    path.write_text(json.dumps({"version": version, "encodings": entries}))
    return path


X = {"name": "x", "output_dtype": "uint8", "y_scale": 0.03, "y_zero_point": 128}
W1 = {"name": "w1", "output_dtype": "int8", "y_scale": [0.01] * 8, "axis": 0}
R1 = {"name": "r1", "output_dtype": "uint8", "y_scale": 0.02}


def constants(path):
    return {t.name: numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}


def run(path, x):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(str(path), options).run(None, {"x": x})[0]


def test_overrides_win_over_samples(halfstep, job):
    file = write_file(job.folder / "o.json", [X, W1])
    document = halfstep(*job.arguments("--encodings", file, "--json")).json
    stored = constants(job.output)
    assert stored["x_scale"] == np.float32(0.03) and stored["x_zero_point"] == 128
    np.testing.assert_array_equal(stored["w1_scale"], np.full(8, 0.01, np.float32))
    assert "r1_scale" in stored, "the rest is calibrated"
    account = document["summary"]["overrides"]
    assert (account["applied"], account["adapted"], account["unused"]) == (2, 0, 0)
    assert [entry["name"] for entry in account["entries"]] == ["x", "w1"]


def test_bias_follows_given_scales(halfstep, job):
    file = write_file(job.folder / "o.json", [X, W1])
    halfstep(*job.arguments("--encodings", file))
    stored = constants(job.output)
    product = np.float32(np.float64(np.float32(0.03)) * np.float64(np.float32(0.01)))
    np.testing.assert_array_equal(stored["b1_scale"], np.full(8, product))


def test_encodings_alone(halfstep, job):
    file = write_file(job.folder / "o.json", [X, W1, R1])
    result = halfstep("quantize", job.model, "--encodings", file, "-o", job.output, "-v")
    stored = constants(job.output)
    assert stored["w1_quantized"].dtype == np.int8
    assert stored["w2"].dtype == np.float32
    for word in ("3 entries: 3 applied", "no encoding for the tensor", "c2", "w2", "b1"):
        assert word in result.out, f"{word!r} not in\n{result.out}"


@pytest.mark.parametrize("more", [[], ["--calibration"]])
def test_unknown_name(halfstep, job, more):
    file = write_file(job.folder / "o.json", [X | {"name": "W1"}, X])
    words = ["quantize", job.model, "--encodings", file, "-o", job.output]
    words += [*more, job.samples] if more else []
    result = halfstep(*words, code=4)
    assert '"W1"' in result.err and 'did you mean "w1"' in result.err
    assert not job.output.exists()
    result = halfstep(*words, "--lenient")
    assert "encodings/unknown-tensor" in result.err
    assert "1 applied, 1 unused" in result.out and "did you mean" in result.out


def test_strict_and_lenient_exclude_each_other(halfstep, job):
    file = write_file(job.folder / "o.json", [X])
    halfstep(*job.arguments("--encodings", file, "--strict", "--lenient"), code=2)
    halfstep(*job.arguments("--lenient"), code=2)
    halfstep(*job.arguments("--encodings", file, "--strict"))


def test_wrong_count_names_tensor_and_both_numbers(halfstep, job):
    file = write_file(job.folder / "o.json", [W1 | {"y_scale": [0.01] * 3}])
    error = halfstep(*job.arguments("--encodings", file), code=4).err
    for word in ("o.json", "encodings[0]", '"w1"', "3 scales", "8 channels", "axis 0"):
        assert word in error
    assert not job.output.exists()


def test_float_entry_keeps_a_tensor_float(halfstep, job):
    file = job.folder / "o.json"
    entry = {"bitwidth": 16, "dtype": "float"}
    file.write_text(
        json.dumps({"version": "0.6.1", "activation_encodings": {"r1": [entry]},
                    "param_encodings": {"w1": [entry]}})
    )  # fmt: skip
    result = halfstep(*job.arguments("--encodings", file, "-v"))
    stored = constants(job.output)
    assert stored["w1"].dtype == np.float32 and "r1_scale" not in stored
    assert "b1_scale" not in stored, "no int32 bias beside a float weight"
    assert "the tensor stays float" in result.out


def test_precision_only_entry_is_measured(halfstep, job):
    file = job.folder / "o.json"
    entries = {"r1": [{"bitwidth": 16, "dtype": "int"}]}
    file.write_text(json.dumps({"activation_encodings": entries, "param_encodings": {}}))
    result = halfstep(*job.arguments("--encodings", file, "-v"))
    assert constants(job.output)["r1_zero_point"].dtype == np.uint16
    assert "its range was measured, as uint16" in result.out
    alone = halfstep("quantize", job.model, "--encodings", file, "-o", job.output, "--force",
                     code=3)  # fmt: skip
    assert "nothing to quantize" in alone.err


def test_entries_without_effect_are_said(halfstep, job):
    model = onnx.load(job.model)
    model.graph.initializer.append(numpy_helper.from_array(np.ones(3, np.float32), "spare"))
    onnx.save(model, job.model)
    spare = {"name": "spare", "output_dtype": "int8", "y_scale": 1.0}
    file = write_file(job.folder / "o.json", [X, spare])
    result = halfstep(*job.arguments("--encodings", file))
    assert "encodings/unused-entry" in result.err
    assert "1 applied, 1 unused" in result.out and "nothing reads the tensor" in result.out
    halfstep(*job.arguments("--encodings", file, "--strict", "--force"), code=2)


def test_quantized_model_keeps_its_integers(halfstep, job):
    first = job.folder / "first.onnx"
    halfstep("quantize", job.model, "--calibration", job.samples, "-o", first)
    halfstep("quantize", first, "--calibration", job.samples, "-o", job.output, code=3)
    file = write_file(job.folder / "o.json", [R1])
    result = halfstep("quantize", first, "--encodings", file, "-o", job.output, "-v")
    before, after = constants(first), constants(job.output)
    for name in ("w1_quantized", "w2_quantized", "w3_quantized", "b1_quantized"):
        np.testing.assert_array_equal(before[name], after[name])
    assert after["r1_scale"] == np.float32(0.02)
    assert "replaces the model's own encoding" in result.out and "taken over" in result.out


def test_batch_norm_with_an_encoding_is_not_folded(halfstep, job):
    c = 4
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], "conv"),
        helper.make_node("BatchNormalization", ["c", "g", "b", "m", "v"], ["y"], "bn"),
    ]
    rng = np.random.default_rng(0)
    arrays = {"w": rng.standard_normal((c, 3, 1, 1)), "g": np.full(c, 2), "b": np.zeros(c),
              "m": np.zeros(c), "v": np.ones(c)}  # fmt: skip
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 4, 4])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, c, 4, 4])],
        [numpy_helper.from_array(a.astype(np.float32), n) for n, a in arrays.items()],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              job.model)  # fmt: skip
    entry = {"name": "w", "output_dtype": "int8", "y_scale": [0.05] * c, "axis": 0}
    file = write_file(job.folder / "o.json", [entry])
    halfstep("quantize", job.model, "--encodings", file, "-o", job.output)
    stored = constants(job.output)
    expected = np.clip(np.rint(arrays["w"].astype(np.float32) / np.float32(0.05)), -128, 127)
    np.testing.assert_array_equal(stored["w_quantized"], expected)


def test_encoding_of_a_weight_behind_a_transpose(halfstep, job):
    """The tensor that the entry names keeps its integers; it is not folded into another one."""
    nodes = [
        helper.make_node("Transpose", ["w"], ["wt"], "t", perm=[1, 0]),
        helper.make_node("MatMul", ["x", "wt"], ["y"], "mm"),
    ]
    weight = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)
    graph = helper.make_graph(
        nodes, "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 6])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [numpy_helper.from_array(weight, "w")],
    )  # fmt: skip
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
              job.model)  # fmt: skip
    entry = {"name": "w", "output_dtype": "int8", "y_scale": [0.05] * 4, "axis": 0}
    file = write_file(job.folder / "o.json", [entry])
    for more in ([], ["--recipe", "w8"]):
        result = halfstep("quantize", job.model, "--encodings", file, "-o", job.output, "--force",
                          *more)  # fmt: skip
        stored = constants(job.output)
        expected = np.clip(np.rint(weight / np.float32(0.05)), -128, 127)
        np.testing.assert_array_equal(stored["w_quantized"], expected)
        assert "1 entry: 1 applied" in result.out


def test_encoding_of_a_name_that_shares_a_constant(halfstep, job):
    """Exporters put equal constants behind Identity nodes; each name can have its own encoding."""
    model = onnx.load(job.model)
    model.graph.node.insert(0, helper.make_node("Identity", ["b1"], ["b2"], "same"))
    for i, tensor in enumerate(model.graph.initializer):
        if tensor.name == "b2":
            del model.graph.initializer[i]
            break
    onnx.save(model, job.model)
    entry = {"name": "b2", "output_dtype": "int32", "y_scale": 0.001}
    file = write_file(job.folder / "o.json", [entry])
    result = halfstep("quantize", job.model, "--encodings", file, "-o", job.output)
    stored = constants(job.output)
    assert stored["b2_quantized"].dtype == np.int32 and stored["b1"].dtype == np.float32
    assert "1 entry: 1 applied" in result.out


class TestVerbs:
    @pytest.fixture
    def files(self, job):
        a = write_file(job.folder / "a.json", [X, W1])
        b = write_file(job.folder / "b.json", [X | {"y_scale": 0.04}, R1])
        return a, b

    def test_lint(self, halfstep, job, files):
        assert "0 errors" in halfstep("encodings", "lint", files[0], "--model", job.model).out
        bad = write_file(job.folder / "bad.json", [X | {"y_scale": -1}, X | {"name": "z"}])
        result = halfstep("encodings", "lint", bad, "--model", job.model, code=1)
        assert "2 errors" in result.out and "scale must be finite and > 0" in result.out
        document = halfstep("encodings", "lint", bad, "--model", job.model, "--json", code=1).json
        assert document["command"] == "encodings lint" and document["errors"] == 2
        halfstep("encodings", "lint", bad, "--model", job.model, "--fail-on", "never")
        halfstep("encodings", "lint", job.folder / "missing.json", code=4)
        broken = job.folder / "broken.json"
        broken.write_text('{"version": "2.0.0",\n "encodings": [,]}')
        result = halfstep("encodings", "lint", broken, code=1)
        assert "line 2" in result.out and "column" in result.out

    def test_diff(self, halfstep, files):
        assert "equal" in halfstep("encodings", "diff", files[0], files[0]).out
        result = halfstep("encodings", "diff", *files, code=1)
        assert "scale 0.03" in result.out and "only in" in result.out
        document = halfstep("encodings", "diff", *files, "--json", "--common", code=1).json
        assert [d["name"] for d in document["differences"]] == ["x"]
        assert document["equal"] is False
        halfstep("encodings", "diff", *files, "--common", "--tolerance", "0.5")
        halfstep("encodings", "diff", files[0], code=2)

    @pytest.mark.parametrize("version", ["0.6.1", "1.0.0", "2.0.0", "2.1.0"])
    def test_convert_round_trip(self, halfstep, job, files, version):
        out = job.folder / "out.json"
        model = ["--model", job.model]
        halfstep("encodings", "convert", files[0], "--to", version, *model, "-o", out)
        assert json.loads(out.read_text())["version"] == version
        halfstep("encodings", "diff", files[0], out, *model)
        halfstep("encodings", "convert", files[0], "--to", version, *model, "-o", out, code=2)

    def test_convert_to_standard_output(self, halfstep, files):
        text = halfstep("encodings", "convert", files[0], "--to", "2.1.0").out
        assert json.loads(text)["version"] == "2.1.0"
        halfstep("encodings", "convert", files[0], "--to", "3.0", code=2)

    def test_merge_last_wins(self, halfstep, job, files):
        out = job.folder / "out.json"
        result = halfstep("encodings", "merge", *files, "-o", out, "-v")
        assert 'replaces "x"' in result.err
        entries = {e["name"]: e for e in json.loads(out.read_text())["encodings"]}
        assert list(entries) == ["x", "w1", "r1"]
        assert entries["x"]["y_scale"] == pytest.approx(0.04)

    def test_from_model_and_apply(self, halfstep, job):
        quantized, file = job.folder / "q.onnx", job.folder / "e.json"
        out = job.folder / "from.json"
        halfstep("quantize", job.model, "--calibration", job.samples, "-o", quantized,
                 "--encodings-out", file)  # fmt: skip
        halfstep("encodings", "from-model", quantized, "-o", out)
        assert out.read_text() == file.read_text()
        result = halfstep("encodings", "apply", job.model, out, "-o", job.output)
        assert "applied" in result.out
        x = np.load(job.samples / "000.npz")["x"]
        np.testing.assert_array_equal(run(quantized, x), run(job.output, x))
        halfstep("encodings", "from-model", job.model, "-o", out, "--force", code=3)
        halfstep("encodings", "apply", job.model, out, code=2)

    def test_show(self, halfstep, job, files):
        out = halfstep("encodings", "show", files[0]).out
        for word in ("version 2.0.0", "2 entries", "w1", "8 channels, axis 0", "uint8", "128"):
            assert word in out
        document = halfstep("encodings", "show", files[0], "--json", "--entry", "w*").json
        assert [e["name"] for e in document["entries"]] == ["w1"]
        assert document["entries"][0]["scale"] == [pytest.approx(0.01)] * 8
        halfstep("encodings", "show", files[0], "--entry", "nothing", code=2)

    def test_help(self, halfstep):
        out = halfstep("encodings", "--help").out
        for action in ("lint", "diff", "convert", "merge", "from-model", "apply", "show"):
            assert action in out
            assert (
                "usage: halfstep encodings " + action in halfstep("encodings", action, "--help").out
            )
        assert "similar one exists: 'lint'" in halfstep("encodings", "lnt", code=2).err
        assert "no action" in halfstep("encodings", code=2).err
