"""FakeQuant nodes arrive with TensorFlow's own numbers, whatever their width."""

import itertools

import numpy as np
import onnx
import pytest
import tensorflow as tf
from halfstep._frontend.fake_quant import grid_of
from tensorflow_helper import convert, ops, run, save

WIDTHS = list(range(2, 17))
RANGES = [(-1.0, 1.0), (0.0, 6.0), (-0.3, 2.1), (-3.0, 0.0), (0.5, 2.5)]


def off_ties(
    low: float, high: float, bits: int, narrow: bool, shape: tuple[int, ...]
) -> np.ndarray:
    """Values on both sides of every code, none halfway between two, some out of range."""
    rng = np.random.default_rng(bits)
    grid = grid_of("x", np.float32(low), np.float32(high), bits, narrow)
    codes = rng.integers(grid.quant_min - 3, grid.quant_max + 4, shape) - grid.zero_point
    return (grid.scale * (codes + rng.uniform(-0.4, 0.4, shape))).astype(np.float32)


def expect_equal(model, x: np.ndarray, y: np.ndarray, levels=(False, True)) -> None:
    for optimized in levels:
        (actual,) = run(model, x, optimized=optimized)
        assert np.abs(actual - y).max() <= 2e-7 * max(1.0, np.abs(y).max())


@pytest.mark.parametrize(("bits", "narrow"), list(itertools.product(WIDTHS, (False, True))))
def test_activation(tmp_path, bits, narrow):
    low, high = RANGES[bits % len(RANGES)]

    def function(x):
        q = tf.quantization.fake_quant_with_min_max_vars
        return {"y": q(x, low, high, num_bits=bits, narrow_range=narrow) * 1.0 + 0.0}

    path = save(function, tmp_path, tf.TensorSpec([None, 64], tf.float32, "x"))
    model, _ = convert(path, tmp_path)
    assert ops(model).count("QuantizeLinear") == 1
    x = off_ties(low, high, bits, narrow, (4, 64))
    expect_equal(model, x, function(tf.constant(x))["y"].numpy())


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("bits", [2, 4, 6, 8, 12, 16])
def test_activation_per_channel(tmp_path, bits, narrow):
    low = np.array([-1.0, -0.25, 0.0], np.float32)
    high = np.array([1.0, 3.0, 6.0], np.float32)

    def function(x):
        q = tf.quantization.fake_quant_with_min_max_vars_per_channel
        x = q(x, low, high, num_bits=bits, narrow_range=narrow)
        return {"y": tf.nn.max_pool2d(x, 2, 2, "SAME")}

    path = save(function, tmp_path, tf.TensorSpec([None, 8, 6, 3], tf.float32, "x"))
    model, _ = convert(path, tmp_path)
    x = np.stack([off_ties(low[c], high[c], bits, narrow, (2, 8, 6)) for c in range(3)], axis=-1)
    expect_equal(model, x, function(tf.constant(x))["y"].numpy())


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("bits", WIDTHS)
def test_weight(tmp_path, bits, narrow):
    """Stored as integers; equal to the values that TensorFlow computes to the last bits."""
    w = np.random.default_rng(bits).normal(size=(16, 5)).astype(np.float32)

    def function(x):
        q = tf.quantization.fake_quant_with_min_max_args
        return {"y": tf.matmul(x, q(w, -1.5, 1.5, num_bits=bits, narrow_range=narrow))}

    path = save(function, tmp_path, tf.TensorSpec([None, 16], tf.float32, "x"))
    model, _ = convert(path, tmp_path)
    assert ops(model) == ["DequantizeLinear", "MatMul"]
    x = np.eye(16, dtype=np.float32)
    expected = function(tf.constant(x))["y"].numpy()
    expect_equal(model, x, expected, levels=[False])  # optimized, products of codes are float again


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("bits", [3, 4, 8, 11])
def test_convolution_weight_per_channel(tmp_path, bits, narrow):
    rng = np.random.default_rng(bits)
    w = tf.Variable(rng.normal(size=(3, 3, 2, 4)).astype(np.float32), name="kernel")
    low = np.array([-0.5, -1.0, -2.0, 0.0], np.float32)
    high = np.array([0.5, 1.5, 2.0, 0.0], np.float32)  # the last channel is 0

    def function(x):
        q = tf.quantization.fake_quant_with_min_max_vars_per_channel
        k = q(w, low, high, num_bits=bits, narrow_range=narrow)
        return {"y": tf.nn.conv2d(x, k, 1, "SAME")}

    path = save(function, tmp_path, tf.TensorSpec([None, 4, 4, 2], tf.float32, "x"), variables=[w])
    model, _ = convert(path, tmp_path)
    dequantize = next(n for n in model.graph.node if n.op_type == "DequantizeLinear")
    assert dequantize.input[0] == "kernel_quantized"
    assert onnx.helper.get_attribute_value(dequantize.attribute[0]) == 0
    x = rng.normal(size=(2, 4, 4, 2)).astype(np.float32)
    (actual,) = run(model, x)
    expected = function(tf.constant(x))["y"].numpy()
    assert np.abs(actual - expected).max() <= 1e-6 * np.abs(expected).max()


def test_depthwise_weight_per_channel(tmp_path):
    """Its last axis is the multiplier: channels of the weight repeat along ONNX's first axis."""
    rng = np.random.default_rng(1)
    w = rng.normal(size=(3, 3, 4, 2)).astype(np.float32)

    def function(x):
        q = tf.quantization.fake_quant_with_min_max_vars_per_channel
        k = q(w, [-1.0, -2.0], [1.0, 2.0], narrow_range=True)
        return {"y": tf.nn.depthwise_conv2d(x, k, [1, 1, 1, 1], "VALID")}

    path = save(function, tmp_path, tf.TensorSpec([1, 5, 5, 4], tf.float32, "x"))
    model, _ = convert(path, tmp_path)
    scale = next(t for t in model.graph.initializer if t.name.endswith("_scale"))
    assert list(scale.dims) == [8]
    x = rng.normal(size=(1, 5, 5, 4)).astype(np.float32)
    expected = function(tf.constant(x))["y"].numpy()
    assert np.abs(run(model, x)[0] - expected).max() <= 1e-6 * np.abs(expected).max()
