"""Models that are quantized already: folded, then written again, they compute the same."""

import json
from collections import Counter

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(5)


def floats(*shape, scale=1.0):
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


class Builder:
    """Collects nodes and constants of one model."""

    def __init__(self, opset=21, ir_version=10, output=TensorProto.FLOAT):
        self.opset, self.ir_version, self.output = opset, ir_version, output
        self.nodes, self.constants, self.inputs = [], [], {}
        self.contrib = False

    def constant(self, name, array, kind=None):
        array = np.asarray(array)
        if kind is None:
            self.constants.append(numpy_helper.from_array(array, name))
        else:
            self.constants.append(helper.make_tensor(name, kind, array.shape, array.ravel()))
        return name

    def add(self, op, inputs, output, domain="", **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [output], name, domain=domain, **attributes))
        self.contrib |= domain == "com.microsoft"
        return output

    def scale(self, name, scale, zero_point, kind):
        scale, zero_point = np.asarray(scale, np.float32), np.asarray(zero_point)
        self.constant(f"{name}_scale", scale)
        self.constant(f"{name}_zp", np.broadcast_to(zero_point, scale.shape), kind)
        return [f"{name}_scale", f"{name}_zp"]

    def pair(self, name, scale=0.02, zero_point=128, kind=TensorProto.UINT8, suffix="", domain="",
             **attributes):  # fmt: skip
        params = self.scale(name + suffix, scale, zero_point, kind)
        codes = self.add("QuantizeLinear", [name, *params], f"{name}{suffix}_codes", domain,
                         **attributes)  # fmt: skip
        return self.add("DequantizeLinear", [codes, *params], f"{name}{suffix}_dq", domain,
                        **attributes)  # fmt: skip

    def weight(self, name, codes, scale, zero_point=0, kind=TensorProto.INT8, **attributes):
        self.constant(f"{name}_codes", codes, kind)
        params = self.scale(name, scale, zero_point, kind)
        return self.add("DequantizeLinear", [f"{name}_codes", *params], name, **attributes)

    def save(self, path, output_shape, output="y", elem_type=TensorProto.FLOAT):
        inputs = [helper.make_tensor_value_info(n, t, s) for n, (t, s) in self.inputs.items()]
        outputs = [helper.make_tensor_value_info(output, elem_type, output_shape)]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", self.opset)]
        if self.contrib:
            opsets.append(helper.make_opsetid("com.microsoft", 1))
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=self.ir_version), path)


def run(path, feeds):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options).run(None, feeds)


def stored_codes(path):
    """The integer constants that DequantizeLinear reads as values, as a multiset."""
    graph = onnx.load(path).graph
    constants = {t.name: t for t in graph.initializer}
    used = {n.input[0] for n in graph.node if n.op_type == "DequantizeLinear"}
    scales = {n.input[1] for n in graph.node if n.op_type == "DequantizeLinear"}
    made = {n.output[0]: n for n in graph.node}
    inner = {made[s].input[0] for s in scales if s in made}  # of LPBQ
    arrays = [numpy_helper.to_array(constants[n]) for n in used - inner if n in constants]
    return Counter((str(a.dtype), a.shape, a.tobytes()) for a in arrays)


@pytest.fixture
def again(halfstep, tmp_path):
    """Folds and writes a model again; returns the path and the file of encodings."""

    def write(model, **options):
        encodings = tmp_path / "e.json"
        out = model.with_name(model.stem + "_again.onnx")
        version = options.get("version", "2.0.0")
        halfstep("encodings", "from-model", model, "--to", version, "-o", encodings, "--force")
        halfstep("encodings", "apply", model, encodings, "-o", out, "--force", "-q")
        return out, encodings

    return write


def assert_same(model, again, feeds):
    out, encodings = again(model)
    for a, b in zip(run(model, feeds), run(out, feeds), strict=True):
        np.testing.assert_array_equal(a, b)
    assert stored_codes(model) == stored_codes(out)
    second, _ = again(out)
    assert onnx.load(second).graph.node == onnx.load(out).graph.node, "stable from here on"
    return json.loads(encodings.read_text())["encodings"]


def matmul(path, weight, x_pair=None, columns=4, **options):
    """y = Q/DQ(x) . w, w written by `weight(builder)`."""
    b = Builder(**options)
    b.inputs["x"] = (TensorProto.FLOAT, [2, 64])
    x = b.pair("x", **(x_pair or {}))
    b.add("MatMul", [x, weight(b)], "y")
    b.save(path, [2, columns])
    return {"x": floats(2, 64)}


def codes(low, high, *shape):
    return RNG.integers(low, high + 1, shape)


WEIGHTS = {
    "int8 tensor": lambda b: b.weight("w", codes(-128, 127, 64, 4), 0.01),
    "uint8 channel": lambda b: b.weight("w", codes(0, 255, 64, 4), [0.01, 0.02, 0.003, 0.5],
                                        [3, 120, 255, 0], TensorProto.UINT8, axis=1),
    "int16": lambda b: b.weight("w", codes(-32768, 32767, 64, 4), 0.0001, 7, TensorProto.INT16),
    "int4 blocks": lambda b: b.weight("w", codes(-8, 7, 64, 4), np.abs(floats(2, 4)) + 0.01, 0,
                                      TensorProto.INT4, axis=0, block_size=32),
    "uint4 blocks": lambda b: b.weight("w", codes(0, 15, 64, 4), np.abs(floats(4, 4)) + 0.01,
                                       codes(0, 15, 4, 4), TensorProto.UINT4, axis=0,
                                       block_size=16),
    "float8": lambda b: b.weight("w", floats(64, 4), 0.01, 0.0, TensorProto.FLOAT8E4M3FN),
}  # fmt: skip


@pytest.mark.parametrize("form", WEIGHTS)
def test_weights(tmp_path, again, form):
    path = tmp_path / "m.onnx"
    entries = assert_same(path, again, matmul(path, WEIGHTS[form]))
    assert [e["name"] for e in entries] == ["x", "w"]


@pytest.mark.parametrize("kind", ["INT2", "UINT2"])
def test_two_bits(tmp_path, again, kind):
    low, high = (-2, 1) if kind == "INT2" else (0, 3)
    path = tmp_path / "m.onnx"
    feeds = matmul(path, lambda b: b.weight("w", codes(low, high, 64, 4), [0.5, 1, 2, 3], low + 1,
                                            getattr(TensorProto, kind), axis=1),
                   opset=25, ir_version=13)  # fmt: skip
    out, _ = again(path)  # the engine has no plain kernel for some of these pairs: codes only
    assert stored_codes(path) == stored_codes(out)
    assert run(out, feeds)[0].shape == (2, 4)


@pytest.mark.parametrize("x_pair", [
    {"kind": TensorProto.INT8, "zero_point": -5},
    {"kind": TensorProto.UINT16, "zero_point": 32000, "scale": 0.0001},
    {"kind": TensorProto.INT16, "zero_point": 0, "scale": 0.0001},
    {"kind": TensorProto.FLOAT8E5M2, "zero_point": 0.0, "scale": 0.05},
    {"domain": "com.microsoft"},
    {"scale": np.abs(floats(2, 2)) + 0.01, "zero_point": codes(0, 255, 2, 2), "axis": 1,
     "block_size": 32},
    {"scale": np.abs(floats(64)) + 0.01, "zero_point": codes(0, 255, 64), "axis": -1},
])  # fmt: skip
def test_activations(tmp_path, again, x_pair):
    path = tmp_path / "m.onnx"
    entries = assert_same(path, again, matmul(path, WEIGHTS["int8 tensor"], x_pair))
    assert entries[0]["name"] == "x"
    assert entries[0].get("block_size") == x_pair.get("block_size")


def test_lpbq(tmp_path, again):
    def weight(b):
        b.constant("ints", codes(1, 16, 4, 2), TensorProto.UINT8)
        inner = b.scale("w_scale", np.abs(floats(4)) + 0.01, 0, TensorProto.UINT8)
        scale = b.add("DequantizeLinear", ["ints", *inner], "w_scale", axis=0)
        b.constant("w_codes", codes(-8, 7, 4, 64), TensorProto.INT4)
        b.constant("w_zp", np.zeros((4, 2), np.int64), TensorProto.INT4)
        return b.add("DequantizeLinear", ["w_codes", scale, "w_zp"], "w", axis=1, block_size=32)

    b = Builder()
    b.inputs["x"] = (TensorProto.FLOAT, [2, 64])
    b.add("Gemm", [b.pair("x"), weight(b)], "y", transB=1)
    path = tmp_path / "m.onnx"
    b.save(path, [2, 4])
    entries = assert_same(path, again, {"x": floats(2, 64)})
    assert "per_block_int_scale" in entries[1]


def conv_net(path, bias_codes, opset=21, bias_scale=None):
    b = Builder(opset)
    b.inputs["x"] = (TensorProto.FLOAT, [1, 3, 6, 6])
    w = b.weight("w", codes(-127, 127, 4, 3, 3, 3), [0.01, 0.02, 0.03, 0.04], axis=0)
    scale = bias_scale or [0.0002, 0.0004, 0.0006, 0.0008]
    bias = b.weight("b", bias_codes, scale, 0, TensorProto.INT32, axis=0)
    b.add("Conv", [b.pair("x"), w, bias], "c", pads=[1, 1, 1, 1])
    b.add("Relu", [b.pair("c", 0.05)], "r")
    r = b.pair("r", 0.03, 0)
    b.add("GlobalAveragePool", [r], "p")
    b.add("Mul", [r, b.pair("p", 0.01, 3)], "y")
    b.save(path, [1, 4, 6, 6])
    return {"x": floats(1, 3, 6, 6)}


def test_int32_codes_beyond_float32(tmp_path, again):
    path = tmp_path / "m.onnx"
    big = np.array([2**24 + 1, -(2**30) - 3, 2**31 - 1, 5])
    scale = [1e-9, 1e-10, 1e-10, 0.0008]
    assert_same(path, again, conv_net(path, big, bias_scale=scale))


@pytest.mark.parametrize("opset", [13, 17, 21, 23])
def test_opsets(tmp_path, again, opset):
    path = tmp_path / "m.onnx"
    assert_same(path, again, conv_net(path, codes(-9999, 9999, 4), opset))


def test_opset_10(tmp_path, again):
    b = Builder(10, 5)
    b.inputs["x"] = (TensorProto.FLOAT, [2, 64])
    b.add("MatMul", [b.pair("x"), WEIGHTS["int8 tensor"](b)], "y")
    path = tmp_path / "m.onnx"
    b.save(path, [2, 4])
    assert_same(path, again, {"x": floats(2, 64)})


def test_chain_of_constants(tmp_path, again):
    """weight -> DequantizeLinear -> QuantizeLinear -> DequantizeLinear, and one from floats."""
    path = tmp_path / "m.onnx"

    def weight(b):
        WEIGHTS["int8 tensor"](b)
        b.constant("v", floats(64, 4))
        return b.add("Add", [b.pair("w", 0.02, 100, suffix="2"), b.pair("v", 0.03, 90)], "s")

    feeds = matmul(path, weight)
    out, _ = again(path)
    np.testing.assert_array_equal(run(path, feeds)[0], run(out, feeds)[0])
    second, _ = again(out)
    assert stored_codes(out) == stored_codes(second)


def test_different_encodings_for_different_readers(tmp_path, again):
    b = Builder()
    b.inputs["x"] = (TensorProto.FLOAT, [2, 64])
    b.add("Relu", [b.pair("x", 0.02, 128)], "a")
    b.add("Sigmoid", [b.pair("x", 0.0001, 30000, TensorProto.UINT16, "_fine")], "s")
    b.add("Add", ["a", "s"], "t")
    b.add("Add", ["t", "x"], "y")
    path = tmp_path / "m.onnx"
    b.save(path, [2, 64])
    entries = assert_same(path, again, {"x": floats(2, 64)})
    assert [e["name"] for e in entries] == ["x_Relu_2", "x_Sigmoid_5"]


def test_quantized_output_keeps_its_name(tmp_path, again):
    b = Builder()
    b.inputs["x"] = (TensorProto.FLOAT, [2, 64])
    b.add("Relu", [b.pair("x")], "h")
    params = b.scale("h", 0.03, 0, TensorProto.UINT8)
    b.add("QuantizeLinear", ["h", *params], "h_codes")
    b.add("DequantizeLinear", ["h_codes", *params], "y")
    path = tmp_path / "m.onnx"
    b.save(path, [2, 64])
    entries = assert_same(path, again, {"x": floats(2, 64)})
    assert [e["name"] for e in entries] == ["x", "y"]


def test_barriers_of_our_own_are_folded(halfstep, tmp_path, again):
    """Against fusions of the engine a Reshape stands behind some constants; it goes and comes."""
    b = Builder()
    b.inputs["x"] = (TensorProto.FLOAT, [1, 16, 5, 5])
    b.constant("w", floats(4, 16, 3, 3))
    b.add("Conv", ["x", "w"], "y")
    path, file, first = tmp_path / "m.onnx", tmp_path / "o.json", tmp_path / "first.onnx"
    b.save(path, [1, 4, 3, 3])
    entries = [{"name": "x", "output_dtype": "uint8", "y_scale": 0.03, "y_zero_point": 128},
               {"name": "w", "output_dtype": "int8", "axis": 1, "block_size": 8,
                "y_scale": (np.abs(floats(4, 2, 1, 1)) / 50 + 0.01).tolist()}]  # fmt: skip
    file.write_text(json.dumps({"version": "2.0.0", "encodings": entries}))
    halfstep("encodings", "apply", path, file, "-o", first)
    assert "Reshape" in [n.op_type for n in onnx.load(first).graph.node]
    found = assert_same(first, again, {"x": floats(1, 16, 5, 5)})
    assert np.shape(found[1]["y_scale"]) == (4, 2, 1, 1)


# Operators on quantized values: against their own output.


def steps(model, out, feeds, step):
    a, b = run(model, feeds)[0].astype(np.float64), run(out, feeds)[0].astype(np.float64)
    assert a.shape == b.shape
    return np.abs(a - b).max() / step


def quantized_input(b, shape, kind=TensorProto.UINT8, zero_point=128):
    b.inputs["x"] = (TensorProto.FLOAT, shape)
    params = b.scale("x", 0.02, zero_point, kind)
    return b.add("QuantizeLinear", ["x", *params], "x_codes"), params


def finish(b, path, shape, params, codes_name="y_codes"):
    b.add("DequantizeLinear", [codes_name, *params], "y")
    b.save(path, shape)


def no_integer_ops(path):
    ops = {n.op_type for n in onnx.load(path).graph.node}
    return not any(op.startswith(("QLinear", "QGemm", "MatMulNBits")) for op in ops)


@pytest.mark.parametrize("kind", [TensorProto.UINT8, TensorProto.INT8])
def test_qlinear_conv(tmp_path, again, kind):
    b = Builder(13, 8)
    zero = 128 if kind == TensorProto.UINT8 else 3
    x, xp = quantized_input(b, [1, 3, 6, 6], kind, zero)
    b.constant("w_quantized", codes(-127, 127, 4, 3, 3, 3), TensorProto.INT8)
    wp = b.scale("w", [0.01, 0.02, 0.03, 0.04], 0, TensorProto.INT8)
    b.constant("b_quantized", codes(-2000, 2000, 4), TensorProto.INT32)
    yp = b.scale("y", 0.05, zero, kind)
    b.add("QLinearConv", [x, *xp, "w_quantized", *wp, *yp, "b_quantized"], "c_codes",
          pads=[1, 1, 1, 1])  # fmt: skip
    if kind == TensorProto.UINT8:
        b.add("MaxPool", ["c_codes"], "y_codes", kernel_shape=[2, 2], strides=[2, 2])
    else:
        b.add("Transpose", ["c_codes"], "y_codes", perm=[0, 1, 3, 2])
    path = tmp_path / "m.onnx"
    finish(b, path, None, yp)
    out, encodings = again(path)
    assert no_integer_ops(out)
    entries = {e["name"]: e for e in json.loads(encodings.read_text())["encodings"]}
    assert {"x", "w", "b"} <= entries.keys()
    assert entries["b"]["output_dtype"] == "int32"
    np.testing.assert_allclose(entries["b"]["y_scale"], 0.02 * np.array([1, 2, 3, 4]) / 100,
                               rtol=1e-6)  # fmt: skip
    assert steps(path, out, {"x": floats(1, 3, 6, 6)}, 0.05) <= 1.001
    assert stored_codes(out).total() == 2


def test_qlinear_matmul(tmp_path, again):
    b = Builder(13, 8)
    x, xp = quantized_input(b, [2, 64])
    b.constant("w_quantized", codes(0, 255, 64, 4), TensorProto.UINT8)
    wp = b.scale("w", 0.01, 120, TensorProto.UINT8)
    yp = b.scale("y", 0.2, 100, TensorProto.UINT8)
    b.add("QLinearMatMul", [x, *xp, "w_quantized", *wp, *yp], "y_codes")
    path = tmp_path / "m.onnx"
    finish(b, path, [2, 4], yp)
    out, _ = again(path)
    assert no_integer_ops(out)
    assert steps(path, out, {"x": floats(2, 64)}, 0.2) <= 1.001


@pytest.mark.parametrize("float_output", [False, True])
def test_qgemm(tmp_path, again, float_output):
    b = Builder(13, 8)
    x, xp = quantized_input(b, [2, 64])
    b.constant("w_quantized", codes(-127, 127, 4, 64), TensorProto.INT8)
    wp = b.scale("w", [0.01, 0.02, 0.03, 0.04], 0, TensorProto.INT8)
    b.constant("b_quantized", codes(-3000, 3000, 4), TensorProto.INT32)
    yp = b.scale("y", 0.3, 100, TensorProto.UINT8)
    inputs = [x, *xp, "w_quantized", *wp, "b_quantized"]
    path = tmp_path / "m.onnx"
    if float_output:
        b.add("QGemm", inputs, "y", "com.microsoft", transB=1)
        b.save(path, [2, 4])
    else:
        b.add("QGemm", [*inputs, *yp], "y_codes", "com.microsoft", transB=1)
        finish(b, path, [2, 4], yp)
    out, _ = again(path)
    assert no_integer_ops(out)
    feeds = {"x": floats(2, 64)}
    if float_output:
        np.testing.assert_allclose(run(path, feeds)[0], run(out, feeds)[0], rtol=1e-4, atol=1e-3)
    else:
        assert steps(path, out, feeds, 0.3) <= 1.001


@pytest.mark.parametrize("op", ["QLinearAdd", "QLinearMul"])
def test_qlinear_binary(tmp_path, again, op):
    b = Builder(13, 8)
    x, xp = quantized_input(b, [2, 64])
    b.inputs["z"] = (TensorProto.FLOAT, [2, 64])
    zp = b.scale("z", 0.03, 100, TensorProto.UINT8)
    z = b.add("QuantizeLinear", ["z", *zp], "z_codes")
    yp = b.scale("y", 0.05, 128, TensorProto.UINT8)
    b.add(op, [x, *xp, z, *zp, *yp], "y_codes", "com.microsoft")
    path = tmp_path / "m.onnx"
    finish(b, path, [2, 64], yp)
    out, _ = again(path)
    assert no_integer_ops(out)
    assert steps(path, out, {"x": floats(2, 64), "z": floats(2, 64)}, 0.05) <= 1.001


@pytest.mark.parametrize(("op", "attributes"), [
    ("QLinearAveragePool", {"kernel_shape": [2, 2]}),
    ("QLinearGlobalAveragePool", {}),
    ("QLinearSigmoid", {}),
    ("QLinearLeakyRelu", {"alpha": 0.1}),
    ("QLinearSoftmax", {"axis": -1, "opset": 13}),
])  # fmt: skip
def test_qlinear_unary(tmp_path, again, op, attributes):
    b = Builder(13, 8)
    x, xp = quantized_input(b, [1, 3, 6, 6])
    yp = b.scale("y", 0.01, 100, TensorProto.UINT8)
    b.add(op, [x, *xp, *yp], "y_codes", "com.microsoft", **attributes)
    path = tmp_path / "m.onnx"
    finish(b, path, None, yp)
    out, _ = again(path)
    assert no_integer_ops(out)
    assert steps(path, out, {"x": floats(1, 3, 6, 6)}, 0.01) <= 1.001


def test_qlinear_concat(tmp_path, again):
    b = Builder(13, 8)
    x, xp = quantized_input(b, [2, 64])
    b.inputs["z"] = (TensorProto.FLOAT, [2, 64])
    zp = b.scale("z", 0.03, 100, TensorProto.UINT8)
    z = b.add("QuantizeLinear", ["z", *zp], "z_codes")
    yp = b.scale("y", 0.05, 128, TensorProto.UINT8)
    b.add("QLinearConcat", [*yp, x, *xp, z, *zp], "y_codes", "com.microsoft", axis=1)
    path = tmp_path / "m.onnx"
    finish(b, path, [2, 128], yp)
    out, _ = again(path)
    assert no_integer_ops(out)
    assert steps(path, out, {"x": floats(2, 64), "z": floats(2, 64)}, 0.05) <= 1.001


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("zero_points", ["none", "packed"])
def test_matmul_nbits(tmp_path, again, bits, zero_points):
    rows, columns, block = 4, 64, 16
    blocks = columns // block
    values = codes(0, 2**bits - 1, rows, columns).astype(np.uint8)

    def packed(array):
        per = 8 // bits
        parts = array.reshape(rows, -1, per).astype(np.uint32) << (np.arange(per) * bits)
        return parts.sum(-1).astype(np.uint8)

    b = Builder(17, 8)
    b.inputs["x"] = (TensorProto.FLOAT, [2, columns])
    b.constant("w_Q", packed(values).reshape(rows, blocks, block * bits // 8))
    scale = np.abs(floats(rows, blocks)) + 0.01
    b.constant("w_scales", scale.ravel())
    inputs = ["x", "w_Q", "w_scales"]
    zero = np.full((rows, blocks), 2 ** (bits - 1))
    if zero_points == "packed":
        zero = codes(0, 2**bits - 1, rows, blocks)
        inputs.append(b.constant("w_zp", packed(zero.astype(np.uint8)).ravel()))
    b.add("MatMulNBits", inputs, "y", "com.microsoft", K=columns, N=rows, bits=bits,
          block_size=block)  # fmt: skip
    path = tmp_path / "m.onnx"
    b.save(path, [2, rows])
    out, encodings = again(path)
    assert no_integer_ops(out)
    (entry,) = json.loads(encodings.read_text())["encodings"]
    assert (entry["output_dtype"], entry["axis"], entry["block_size"]) == (f"uint{bits}", 0, block)
    np.testing.assert_array_equal(np.float32(entry["y_scale"]), scale.T)
    weight = (values.reshape(rows, blocks, block) - zero[..., None]) * scale[..., None]
    feeds = {"x": floats(2, columns)}
    expected = feeds["x"] @ weight.reshape(rows, columns).T.astype(np.float32)
    np.testing.assert_allclose(run(out, feeds)[0], expected, rtol=1e-4, atol=1e-4)
    if bits != 2:
        np.testing.assert_allclose(run(path, feeds)[0], run(out, feeds)[0], rtol=1e-4, atol=1e-3)


def test_what_cannot_be_said_stays_and_is_named(halfstep, tmp_path):
    b = Builder(17, 8)
    b.inputs["x"] = (TensorProto.FLOAT, [2, 64])
    b.nodes.append(helper.make_node("DynamicQuantizeLinear", ["x"], ["q", "s", "z"], "dyn"))
    b.constant("w", codes(0, 255, 64, 4), TensorProto.UINT8)
    b.add("MatMulInteger", ["q", "w", "z"], "y")
    path, out = tmp_path / "m.onnx", tmp_path / "e.json"
    b.save(path, [2, 4], elem_type=TensorProto.INT32)
    err = halfstep("encodings", "from-model", path, "-o", out, "-v").err
    assert "qdq/kept" in err and "known at run time only" in err
    assert json.loads(out.read_text())["encodings"] == []
