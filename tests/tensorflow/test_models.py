"""Whole models: the same numbers, no more transposes than of TFLite files, open batches."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import tensorflow as tf
from tensorflow_helper import convert, ops, run, save

DATA = Path(__file__).resolve().parent.parent / "data"
TF = DATA / "tensorflow"


def close(actual: np.ndarray, expected: np.ndarray, relative: float = 1e-5) -> None:
    assert np.abs(actual - expected).max() <= relative * np.abs(expected).max()


@pytest.mark.parametrize("name", ["fq_savedmodel", "fq_frozen.pb"])
def test_fake_quant_network(tmp_path, name):
    model, _ = convert(TF / name, tmp_path)
    stored = np.load(TF / "fq.io.npz")
    assert np.abs(run(model, stored["x"])[0] - stored["y"]).max() <= 2e-7
    # 4 bits per tensor and 8 per channel are weights, 16 bits is the output.
    types = {tensor.data_type for tensor in model.graph.initializer}
    assert {onnx.TensorProto.INT4, onnx.TensorProto.INT8, onnx.TensorProto.UINT16} <= types


def test_float_network(tmp_path):
    model, _ = convert(TF / "cnn_savedmodel", tmp_path)
    stored = np.load(TF / "cnn.io.npz")
    close(run(model, stored["x"])[0], stored["y"])
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    two = np.concatenate([stored["x"]] * 2)
    assert run(model, two)[0].shape == (2, 10)


PAIRS = [("fq_savedmodel", "fq_qat"), ("fq_frozen.pb", "fq_qat"), ("cnn_savedmodel", "cnn_float")]


@pytest.mark.parametrize(("name", "lite"), PAIRS)
def test_no_more_transposes_than_of_tflite(halfstep, tmp_path, name, lite):
    model, _ = convert(TF / name, tmp_path)
    report = halfstep("inspect", DATA / "tflite" / f"{lite}.tflite", "--json").json
    expected = report["model"]["ops"].get("Transpose", 0)
    assert ops(model).count("Transpose") <= expected == 1


def test_lstm(tmp_path):
    model = tf.keras.Sequential(
        [tf.keras.Input((12, 6)), tf.keras.layers.LSTM(8), tf.keras.layers.Dense(3)]
    )
    model.export(str(tmp_path / "saved"), verbose=False)
    converted, _ = convert(tmp_path / "saved", tmp_path)
    x = np.random.default_rng(0).normal(size=(2, 12, 6)).astype(np.float32)
    close(run(converted, x)[0], model(x).numpy())


def test_transformer_block(tmp_path):
    i = tf.keras.Input((10, 16))
    h = tf.keras.layers.MultiHeadAttention(2, 8)(i, i)
    h = tf.keras.layers.LayerNormalization()(h + i)
    o = tf.keras.layers.Dense(16, activation="gelu")(h)
    model = tf.keras.Model(i, o)
    model.export(str(tmp_path / "saved"), verbose=False)
    converted, _ = convert(tmp_path / "saved", tmp_path)
    x = np.random.default_rng(0).normal(size=(3, 10, 16)).astype(np.float32)
    close(run(converted, x)[0], model(x).numpy())


def test_embedding_and_two_inputs(tmp_path):
    table = tf.Variable(np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32))

    def function(words, bias):
        return {"a": tf.gather(table, words) + bias, "b": tf.reduce_sum(bias, axis=-1)}

    specs = (
        tf.TensorSpec([None, 5], tf.int32, "words"),
        tf.TensorSpec([None, 5, 4], tf.float32, "bias"),
    )
    path = save(function, tmp_path, *specs, variables=[table])
    model, _ = convert(path, tmp_path)
    names = {value.name for value in model.graph.input}
    assert names == {"words", "bias"}
    assert [value.name for value in model.graph.output] == ["a", "b"]
    words = np.arange(10, dtype=np.int32).reshape(2, 5)
    bias = np.random.default_rng(1).normal(size=(2, 5, 4)).astype(np.float32)
    order = [words if value.name == "words" else bias for value in model.graph.input]
    a, b = run(model, *order)
    expected = function(tf.constant(words), tf.constant(bias))
    close(a, expected["a"].numpy())
    close(b, expected["b"].numpy())


def quantized_residual_network():
    """FakeQuant behind every operator, as quantization-aware training leaves it."""
    rng = np.random.default_rng(4)
    k1 = tf.Variable(rng.normal(size=(3, 3, 3, 8)).astype(np.float32) * 0.3, name="first/kernel")
    k2 = tf.Variable(rng.normal(size=(3, 3, 8, 8)).astype(np.float32) * 0.2, name="second/kernel")
    fq = tf.quantization.fake_quant_with_min_max_vars
    per_channel = tf.quantization.fake_quant_with_min_max_vars_per_channel

    def function(x):
        x = fq(x, -1.0, 1.0)
        ends = np.full(8, 1.0, np.float32)
        h = tf.nn.conv2d(x, per_channel(k1, -ends, ends, narrow_range=True), 2, "SAME")
        h = fq(tf.nn.relu(h), 0.0, 4.0)
        g = tf.nn.conv2d(h, per_channel(k2, -ends, ends, num_bits=4, narrow_range=True), 1, "SAME")
        h = fq(fq(g, -4.0, 4.0) + h, -4.0, 6.0)
        h = tf.concat([tf.nn.max_pool2d(h, 2, 2, "VALID"), tf.nn.avg_pool2d(h, 2, 2, "VALID")], -1)
        return {"y": fq(tf.reduce_mean(h, [1, 2]), -2.0, 4.0, num_bits=6)}

    return function, (k1, k2)


def test_residual_network(tmp_path):
    function, variables = quantized_residual_network()
    spec = tf.TensorSpec([None, 16, 16, 3], tf.float32, "x")
    path = save(function, tmp_path, spec, variables=variables)
    model, _ = convert(path, tmp_path)
    assert ops(model).count("Transpose") == 1
    x = np.random.default_rng(5).uniform(-1, 1, (2, 16, 16, 3)).astype(np.float32)
    expected = function(tf.constant(x))["y"].numpy()
    step = 6.0 / 63
    assert np.abs(run(model, x)[0] - expected).max() <= max(2e-7 * 4, 0.01 * step)
    stored = {tensor.name for tensor in model.graph.initializer}
    assert {"first/kernel_quantized", "second/kernel_quantized"} <= stored


@pytest.mark.parametrize("ending", ["keras", "h5"])
def test_keras_files(tmp_path, ending):
    model = tf.keras.Sequential(
        [tf.keras.Input((8, 8, 3)), tf.keras.layers.Conv2D(4, 3), tf.keras.layers.Flatten()]
    )
    file = tmp_path / f"net.{ending}"
    model.save(file)
    converted, _ = convert(file, tmp_path)
    x = np.random.default_rng(0).normal(size=(2, 8, 8, 3)).astype(np.float32)
    close(run(converted, x)[0], model(x).numpy())
