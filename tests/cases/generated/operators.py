"""Operators: recurrent, contributed, unknown; sequences; shared and broken constants."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper

from cases.builder import Builder, Case, mlp

from .registry import CASES, K, M, N, case, simple


def recurrent(op: str, gates: int) -> Case:
    b = Builder()
    b.input("x", [5, 2, K])
    b.weight("w", 2, gates * 16, K)
    b.weight("r", 2, gates * 16, 16)
    b.weight("b", 2, 2 * gates * 16)
    b.nodes.append(
        helper.make_node(
            op, ["x", "w", "r", "b", "", ""][: 4 + (op != "RNN")], ["y", "h"], name="cell",
            hidden_size=16, direction="bidirectional",
        )
    )  # fmt: skip
    b.output("y", None)
    b.output("h", None)
    return Case(b.model(), b.samples(x=(5, 2, K)), largest_float=2 * 2 * gates * 16)


CASES["lstm"] = lambda: recurrent("LSTM", 4)
CASES["gru"] = lambda: recurrent("GRU", 3)
CASES["rnn"] = lambda: recurrent("RNN", 1)


@case
def contributed_operators() -> Case:
    b = Builder()
    b.weight("w", K, K)
    b.node("MatMul", ["x", "w"], "m")
    b.node("Gelu", ["m"], "g", domain="com.microsoft")
    b.weight("v", K, K)
    b.node("FusedMatMul", ["g", "v"], "f", domain="com.microsoft", alpha=0.5)
    b.node("Add", ["f", "x"], "y")
    return simple(b, domains={"com.microsoft": 1})


@case
def unknown_operator() -> Case:
    b = Builder()
    b.weight("w", K, K)
    b.node("MatMul", ["x", "w"], "m")
    b.node("Magic", ["m"], "g", domain="somewhere.else")
    b.weight("v", K, K)
    b.node("MatMul", ["g", "v"], "y")
    return simple(b, domains={"somewhere.else": 1}, runs=False, words=("Magic",),
                  codes={"a8w8": 5, "a16w8": 5})  # fmt: skip


@case
def empty_optional_inputs() -> Case:
    b = Builder()
    b.input("x", [1, 4, 8, 8])
    b.weight("w", 8, 4, 3, 3)
    b.node("Conv", ["x", "w", ""], "c", pads=[1, 1, 1, 1])
    b.constant("six", np.float32(6))
    b.node("Clip", ["c", "", "six"], "k")
    b.constant("scales", np.array([1, 1, 2, 2], np.float32))
    b.node("Resize", ["k", "", "scales"], "y", mode="nearest")
    b.output("y", None)
    return Case(b.model(), b.samples(x=(1, 4, 8, 8)))


@case
def sequences_and_optionals() -> Case:
    b = Builder()
    b.weight("w", K, K)
    b.node("MatMul", ["x", "w"], "m")
    b.node("SequenceConstruct", ["m", "x"], "s")
    b.constant("zero", np.array(0, np.int64))
    b.node("SequenceAt", ["s", "zero"], "e")
    b.node("Optional", ["e"], "o")
    b.node("OptionalGetElement", ["o"], "g")
    b.weight("v", K, K)
    b.node("MatMul", ["g", "v"], "y")
    return simple(b)


@case
def sequence_output() -> Case:
    b = Builder()
    b.weight("w", K, K)
    b.node("MatMul", ["x", "w"], "y")
    b.node("SplitToSequence", ["y"], "parts", axis=0)
    b.output("y", None)
    kind = helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.FLOAT, None))
    b.outputs.append(onnx.ValueInfoProto(name="parts", type=kind))
    return simple(b)


@case
def outputs_also_consumed() -> Case:
    b = Builder()
    mlp(b)
    for name in ("m1", "a1", "r1", "y"):
        b.output(name, None)
    return simple(b)


@case
def input_is_output() -> Case:
    b = Builder()
    mlp(b)
    b.output("y", None)
    b.output("x", [N, K])
    return simple(b)


@case
def constant_is_output() -> Case:
    b = Builder()
    mlp(b)
    b.output("y", None)
    b.output("w1", [K, 64])
    return simple(b)


@case
def shared_bias_with_different_needs() -> Case:
    b = Builder()
    b.input("x", [1, 16, 8, 8])
    b.weight("w1", 16, 16, 3, 3)
    b.constant("w2", b.values(16, 16, 3, 3) * 50)
    b.weight("bias", 16)
    b.node("Conv", ["x", "w1", "bias"], "c1", pads=[1, 1, 1, 1])
    b.node("Conv", ["c1", "w2", "bias"], "c2", pads=[1, 1, 1, 1])
    b.ints("shape", 1, 16, 1, 1)
    b.node("Reshape", ["bias", "shape"], "b4")
    b.node("Add", ["c2", "b4"], "y")
    b.output("y", None)
    return Case(b.model(), b.samples(x=(1, 16, 8, 8)))


@case
def one_weight_for_different_operators() -> Case:
    b = Builder()
    b.weight("w", K, K)
    b.node("Gemm", ["x", "w"], "g", transB=1)
    b.node("MatMul", ["g", "w"], "m")
    b.input("ids", [3], "int64")
    b.node("Gather", ["w", "ids"], "e")
    b.node("MatMul", ["e", "w"], "y2")
    b.node("Identity", ["m"], "y")
    b.input("x", [N, K])
    b.output("y", None)
    b.output("y2", None)
    return Case(b.model(), b.samples(x=(N, K), ids=(3,)))


@case
def constants_feed_activations() -> Case:
    b = Builder()
    b.constant("position", b.values(N, K, scale=0.5))
    b.node("Add", ["x", "position"], "p")
    b.node("Concat", ["p", "position"], "c", axis=1)
    b.weight("w", 2 * K, K)
    b.node("MatMul", ["c", "w"], "m")
    b.node("MatMul", ["position", "w2"], "q")
    b.weight("w2", K, K)
    b.node("Add", ["m", "q"], "y")
    return simple(b, largest_float=N * K)


@case
def weights_with_nan_and_infinity() -> Case:
    b = Builder()
    bad = b.values(K, M)
    bad[0, 0], bad[3, 5] = np.nan, np.inf
    b.constant("w", bad)
    b.weight("v", K, M)
    b.node("MatMul", ["x", "w"], "bad")
    b.node("MatMul", ["x", "v"], "y")
    b.output("y", None)
    b.output("bad", None)
    return simple(b, words=("'w'", "NaN"), sqnr_db=-1)


@case
def weights_of_zero_and_extremes() -> Case:
    b = Builder()
    w = b.values(K, M)
    w[:, 0], w[:, 1], w[:, 2] = 0, 1e-42, 1e30
    b.constant("w", w)
    b.node("MatMul", ["x", "w"], "m")
    b.node("Softmax", ["m"], "y")
    return simple(b, sqnr_db=-1)


@case
def dropout_and_training_leftovers() -> Case:
    b = Builder()
    b.constant("ratio", np.float32(0.5))
    b.node("Dropout", ["x", "ratio"], "d")
    mlp(b, "d")
    return simple(b)


@case
def large_graph() -> Case:
    b = Builder()
    b.input("x", [1, 8])
    last = "x"
    for i in range(1250):
        b.weight(f"w{i}", 8, 8)
        b.node("MatMul", [last, f"w{i}"], f"m{i}")
        b.node("Relu", [f"m{i}"], f"r{i}")
        b.node("Add", [f"r{i}", "x"], f"a{i}")
        last = b.node("Tanh", [f"a{i}"], f"t{i}")
    b.node("Identity", [last], "y")
    b.output("y", None)
    return Case(b.model(), b.samples(2, x=(1, 8)), sqnr_db=5)
