"""Operators on quantized values, read as float ones with encodings: against their own output."""

import json

import numpy as np
import onnx
import pytest
from cases.qdq_builder import Builder, codes, floats, run, stored_codes
from onnx import TensorProto, helper


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
