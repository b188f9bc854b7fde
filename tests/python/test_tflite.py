"""TFLite models compute what the real runtime computed (tests/data/tflite/make_ops.py)."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import halfstep

DATA = Path(__file__).resolve().parent.parent / "data/tflite"
OPS = np.load(DATA / "ops.npz")
NAMES = sorted({key.split("/")[0] for key in OPS.files})


class Runner:
    """A model as it was read, in ONNX Runtime."""

    def __init__(self, path):
        content = halfstep.load(path).serialize()
        graph = onnx.load_from_string(content).graph
        self.constants = {t.name: onnx.numpy_helper.to_array(t) for t in graph.initializer}
        self.pairs = {n.input[0]: n for n in graph.node if n.op_type == "QuantizeLinear"}
        self.pairs |= {n.output[0]: n for n in graph.node if n.op_type == "DequantizeLinear"}
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        self.session = onnxruntime.InferenceSession(content, options)

    def parameters(self, name):
        node = self.pairs[name]
        return self.constants[node.input[1]], self.constants[node.input[2]].astype(np.float64)

    def __call__(self, inputs):
        feeds = {}
        for info, x in zip(self.session.get_inputs(), inputs, strict=True):
            if info.type == "tensor(float)" and x.dtype != np.float32:
                scale, zero = self.parameters(info.name)
                x = ((x - zero) * scale).astype(np.float32)
            feeds[info.name] = x
        return self.session.run(None, feeds)

    def codes(self, i, values):
        scale, zero = self.parameters(self.session.get_outputs()[i].name)
        return np.round(values / scale) + zero


def arrays(name, kind):
    keys = (f"{name}/{kind}{i}" for i in range(9))
    return [OPS[key] for key in keys if key in OPS.files]


# TFLite rounds halves in ways of its own: nodes beside them make ONNX do the same.
EXACT = {f"{kind}_{op}" for kind in ("int8", "uint8", "int16") for op in ("average_pool", "mul")}
EXACT |= {"int8_resize_bilinear"}


def test_names_of_exact_models():
    assert set(NAMES) >= EXACT


@pytest.mark.parametrize("name", NAMES)
def test_operator(name):
    runner = Runner(DATA / f"ops/{name}.tflite")
    outputs = runner(arrays(name, "in"))
    expected = arrays(name, "out")
    assert len(outputs) == len(expected)
    for i, (actual, wanted) in enumerate(zip(outputs, expected, strict=True)):
        assert actual.shape == wanted.shape
        if wanted.dtype == np.float32:
            assert np.abs(actual - wanted).max() <= 1e-5 * np.abs(wanted).max()
        elif actual.dtype == np.float32:
            assert np.abs(runner.codes(i, actual) - wanted).max() <= (name not in EXACT)
        else:
            np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize(
    ("name", "bound"),
    [("cnn_float", 1e-5), ("cnn_fp16w", 1e-5), ("ops_float", 1e-5), ("cnn_dynrange", 1e-5)],
)
def test_float_network(name, bound):
    stored = np.load(DATA / f"{name}.io.npz")
    runner = Runner(DATA / f"{name}.tflite")
    for x, y in zip(stored["x"], stored["y"], strict=True):
        (actual,) = runner([x[None]])
        assert np.abs(actual[0] - y).max() <= bound * np.abs(y).max()


def written(name, tmp_path, **options):
    """What the conversion writes."""
    path = tmp_path / "written.onnx"
    halfstep.convert(DATA / f"{name}.tflite", output=path, **options)
    return path


@pytest.mark.parametrize("name", ["cnn_int8", "ops_int8"])
@pytest.mark.parametrize("again", [False, True])
def test_integer_network(name, again, tmp_path):
    stored = np.load(DATA / f"{name}.io.npz")
    runner = Runner(written(name, tmp_path) if again else DATA / f"{name}.tflite")
    for x, y in zip(stored["x"], stored["y"], strict=True):
        (actual,) = runner([x[None]])
        assert np.abs(runner.codes(0, actual)[0] - y).max() <= 1


def test_network_of_16_bit_activations():
    stored = np.load(DATA / "cnn_int16x8.io.npz")
    runner = Runner(DATA / "cnn_int16x8.tflite")
    for x, y in zip(stored["x"], stored["y"], strict=True):
        (actual,) = runner([x[None]])
        assert np.abs(actual[0] - y).max() * 32768 <= 1


@pytest.mark.parametrize("name", ["ops_int8", "cnn_dynrange"])
def test_a_target_has_its_own_rounding(name, tmp_path):
    graph = onnx.load(written(name, tmp_path, target_backend="HTP")).graph
    assert not [node for node in graph.node if node.op_type in ("Sign", "Round")]
    assert any(node.op_type == "AveragePool" for node in graph.node)


def test_other_extents():
    """An average of three pictures at once is that of one after the other."""
    stored = np.load(DATA / "cnn_float.io.npz")
    name = "serving_default_keras_tensor:0"
    model = halfstep.load(DATA / "cnn_float.tflite", input_extents={name: [3, 32, 32, 3]})
    session = onnxruntime.InferenceSession(model.serialize())
    (actual,) = session.run(None, {name: stored["x"][:3]})
    assert np.abs(actual - stored["y"][:3]).max() <= 1e-5 * np.abs(stored["y"]).max()


def test_extents_that_the_file_leaves_open():
    path = DATA / "ops/no_fixed_extents.tflite"
    with pytest.raises(halfstep.InvalidFile, match=r"CONV_2D.*leaves extents of input 't0' open"):
        halfstep.load(path)
    for model in (path, path.read_bytes()):
        read = halfstep.load(model, input_extents={"t0": [1, 1, 9, 1]})
        session = onnxruntime.InferenceSession(read.serialize())
        (y,) = session.run(None, {"t0": np.ones([1, 1, 9, 1], np.float32)})
        assert y.shape == (1, 3, 2)


@pytest.mark.parametrize(
    ("name", "extents", "message"),
    [
        ("ops/conv_2d", {"t1": [1, 7, 7, 3]}, "'t1', which is no input; did you mean 't"),
        ("ops/conv_2d", {"t2": [1, 7, 7]}, "3 extents are given for 't2', which has 4 axes"),
        ("ops_int8", {"serving_default_keras_tensor:0": [2, 16, 16, 3]}, "RESHAPE.*1024 elements"),
    ],
)
def test_extents_that_do_not_fit(name, extents, message):
    with pytest.raises(halfstep.InvalidArgument, match=message):
        halfstep.load(DATA / f"{name}.tflite", input_extents=extents)


def test_input_extents_are_for_tflite():
    onnx_bytes = halfstep.load(DATA / "ops/relu.tflite").serialize()
    with pytest.raises(halfstep.InvalidArgument, match="input_extents are for TFLite"):
        halfstep.load(onnx_bytes, input_extents={"t0": [1, 3, 4, 2]})


def test_calibration_of_a_float_network():
    x = {"serving_default_keras_tensor:0": np.load(DATA / "cnn_float.io.npz")["x"][:1]}
    result = halfstep.quantize(DATA / "cnn_float.tflite", [x])
    assert len(result.encodings) > 5


def test_the_source_is_the_file(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes((DATA / "cnn_int8.tflite").read_bytes())
    report = halfstep.inspect(path)
    assert report["file_bytes"] == path.stat().st_size
    assert report["producer"] == "MLIR Converted."
    with pytest.raises(halfstep.InvalidArgument, match="the model"):
        halfstep.convert(path, output=path, force=True)
