"""Small models and data that several tests use."""

import signal
import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


def make_model(nodes, inputs, outputs, initializers=None, opset=17):
    """A checked model of float32 inputs and outputs, given as {name: shape}."""

    def infos(tensors):
        return [
            helper.make_tensor_value_info(n, TensorProto.FLOAT, list(s)) for n, s in tensors.items()
        ]

    constants = [numpy_helper.from_array(a, n) for n, a in (initializers or {}).items()]
    graph = helper.make_graph(nodes, "graph", infos(inputs), infos(outputs), constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


@pytest.fixture(scope="session")
def conv_proto():
    """Conv, Relu, pooling, Gemm: one input `image` [1, 3, 8, 8], one output `logits` [1, 5]."""
    rng = np.random.default_rng(1)
    weights = {
        "conv.weight": rng.normal(0, 0.3, (8, 3, 3, 3)).astype(np.float32),
        "conv.bias": rng.normal(0, 0.1, 8).astype(np.float32),
        "fc.weight": rng.normal(0, 0.3, (5, 8)).astype(np.float32),
        "fc.bias": rng.normal(0, 0.1, 5).astype(np.float32),
    }
    nodes = [
        helper.make_node(
            "Conv", ["image", "conv.weight", "conv.bias"], ["conv"], "conv", pads=[1] * 4
        ),
        helper.make_node("Relu", ["conv"], ["relu"], "relu"),
        helper.make_node("GlobalAveragePool", ["relu"], ["pool"], "pool"),
        helper.make_node("Flatten", ["pool"], ["flat"], "flatten"),
        helper.make_node("Gemm", ["flat", "fc.weight", "fc.bias"], ["logits"], "fc", transB=1),
    ]
    return make_model(nodes, {"image": (1, 3, 8, 8)}, {"logits": (1, 5)}, weights)


@pytest.fixture(scope="session")
def two_input_proto():
    """sum = left + right, both [2, 4]."""
    nodes = [helper.make_node("Add", ["left", "right"], ["sum"], "add")]
    return make_model(nodes, {"left": (2, 4), "right": (2, 4)}, {"sum": (2, 4)})


@pytest.fixture
def conv_path(conv_proto, tmp_path):
    path = tmp_path / "conv.onnx"
    onnx.save(conv_proto, path)
    return path


@pytest.fixture(scope="session")
def images():
    """Six samples for the convolution model, samples first: [6, 1, 3, 8, 8]."""
    return np.random.default_rng(2).normal(size=(6, 1, 3, 8, 8)).astype(np.float32)


@pytest.fixture(scope="session")
def samples(images):
    return [{"image": image} for image in images]


@pytest.fixture
def run_python():
    """Runs a program in a fresh interpreter and returns what it printed; it must succeed."""

    def run(program):
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


# A run started in the background ignores Ctrl-C, and so would every child that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
