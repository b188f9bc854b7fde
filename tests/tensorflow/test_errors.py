"""What can't be read is said by name, with the kind that decides the exit code."""

import numpy as np
import pytest
import tensorflow as tf
from halfstep._frontend.report import FrontendError
from tensorflow_helper import convert, save

X = tf.TensorSpec([None, 4], tf.float32, "x")


def refused(path, folder, kind, *words, **options):
    with pytest.raises(FrontendError) as caught:
        convert(path, folder, **options)
    assert caught.value.kind == kind
    for word in words:
        assert word in str(caught.value), str(caught.value)


def test_wrong_signature(tmp_path):
    path = save(lambda x: {"y": x + 1}, tmp_path, X)
    refused(
        path, tmp_path, "invalid_argument", 'did you mean "serving_default"', signature="serving"
    )


def test_no_signatures(tmp_path):
    module = tf.Module()
    module.v = tf.Variable(1.0)
    tf.saved_model.save(module, str(tmp_path / "saved"))
    refused(tmp_path / "saved", tmp_path, "invalid_file", "tf.saved_model.save")


def test_two_signatures(tmp_path):
    module = tf.Module()
    one = tf.function(lambda x: {"y": x + 1}, input_signature=[X])
    two = tf.function(lambda x: {"y": x * 2}, input_signature=[X])
    path = str(tmp_path / "saved")
    tf.saved_model.save(module, path, signatures={"serving_default": one, "twice": two})
    _, diagnostics = convert(path, tmp_path)
    assert [d.rule for d in diagnostics] == ["tensorflow/other-signature"]
    assert "twice" in diagnostics[0].message
    model, diagnostics = convert(path, tmp_path, signature="twice")
    assert not diagnostics
    assert model.graph.node[0].op_type == "Mul"


def test_damaged_saved_model(tmp_path):
    path = tmp_path / "saved"
    path.mkdir()
    (path / "saved_model.pb").write_bytes(b"\x08\x01\x12\xff")
    refused(path, tmp_path, "invalid_file")


def frozen(tmp_path, build):
    graph = tf.Graph()
    with graph.as_default():
        build()
    path = tmp_path / "graph.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    return path


def test_frozen_graph_ends(tmp_path):
    def build():
        x = tf.compat.v1.placeholder(tf.float32, [None, 4], "x")
        y = tf.nn.relu(x, name="inner")
        tf.identity(y * 2, name="out")

    path = frozen(tmp_path, build)
    model, _ = convert(path, tmp_path)
    assert [v.name for v in (*model.graph.input, *model.graph.output)] == ["x:0", "out:0"]
    model, _ = convert(path, tmp_path, inputs=["x"], outputs=["inner:0"])
    assert [v.name for v in model.graph.output] == ["inner:0"]
    refused(path, tmp_path, "invalid_argument", 'did you mean "inner:0"', outputs=["iner"])


def test_variables_that_are_not_frozen(tmp_path):
    path = frozen(tmp_path, lambda: tf.compat.v1.get_variable("weight", [4]))
    refused(path, tmp_path, "invalid_file", "weight", "frozen")


def test_unknown_operator(tmp_path):
    def build():
        x = tf.compat.v1.placeholder(tf.float32, [4], "x")
        tf.nn.relu(x, name="out")

    path = frozen(tmp_path, build)
    path.write_bytes(path.read_bytes().replace(b"Relu", b"Rule"))
    refused(path, tmp_path, "unsupported", "Rule")


def test_operator_without_onnx(tmp_path):
    path = save(lambda x: {"y": tf.raw_ops.Digamma(x=x, name="digs")}, tmp_path, X)
    refused(path, tmp_path, "unsupported", "Digamma", "digs")


def test_range_that_is_computed(tmp_path):
    def function(x):
        top = tf.reduce_max(x)
        return {"y": tf.quantization.fake_quant_with_min_max_vars(x, -top, top, name="act")}

    refused(save(function, tmp_path, X), tmp_path, "unsupported", "act", "computed while")


def test_fake_quant_in_a_loop(tmp_path):
    def function(x):
        body = lambda i, v: (i + 1, tf.quantization.fake_quant_with_min_max_args(v, -1, 1))  # noqa: E731
        return {"y": tf.while_loop(lambda i, v: i < tf.cast(v[0, 0], tf.int32), body, [0, x])[1]}

    refused(save(function, tmp_path, X), tmp_path, "unsupported", "loop")


def test_keras_weights_alone(tmp_path):
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
    file = tmp_path / "net.weights.h5"
    model.save_weights(file)
    refused(file, tmp_path, "invalid_file", "model.export")


def test_mixed_channels_warn(tmp_path):
    w = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)

    def function(x):
        q = tf.quantization.fake_quant_with_min_max_vars_per_channel
        ends = np.linspace(0.5, 2, 6).astype(np.float32)
        k = tf.reshape(q(w, -ends, ends), [8, 3])
        return {"y": tf.matmul(tf.concat([x, x], -1), k)}

    _, diagnostics = convert(save(function, tmp_path, X), tmp_path)
    assert [d.rule for d in diagnostics] == ["tensorflow/channels-mixed"]
