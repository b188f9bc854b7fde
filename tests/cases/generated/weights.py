"""Weights behind nodes, on either side, computed from constants."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from cases.builder import Builder, Case, tensor

from .registry import K, M, N, case, simple


@case
def weight_behind_chain() -> Case:
    b = Builder()
    b.weight("w", M * K)
    b.ints("shape", 1, M, K)
    b.node("Reshape", ["w", "shape"], "w3")
    b.node("Identity", ["w3"], "w3i")
    b.ints("axes", 0)
    b.node("Squeeze", ["w3i", "axes"], "w2")
    b.node("Transpose", ["w2"], "wt", perm=[1, 0])
    b.node("MatMul", ["x", "wt"], "y")
    return simple(b)


@case
def weight_half_behind_cast() -> Case:
    b = Builder()
    b.weight("w", K, M, dtype="float16")
    b.node("Cast", ["w"], "w32", to=TensorProto.FLOAT)
    b.node("MatMul", ["x", "w32"], "y")
    return simple(b)


@case
def integer_weight_behind_cast() -> Case:
    b = Builder()
    b.constant("w", b.random.integers(-9, 9, (K, M)).astype(np.int32))
    b.node("Cast", ["w"], "w32", to=TensorProto.FLOAT)
    b.node("MatMul", ["x", "w32"], "y")
    return simple(b)


@case
def constant_node_behind_transpose_shared() -> Case:
    b = Builder()
    b.nodes.append(
        helper.make_node("Constant", [], ["w"], name="c", value=tensor("w", b.values(K, K)))
    )
    b.node("Transpose", ["w"], "wt1")
    b.node("Transpose", ["w"], "wt2")
    b.node("MatMul", ["x", "wt1"], "m")
    b.node("Relu", ["m"], "r")
    b.node("MatMul", ["r", "wt2"], "y")
    return simple(b)


@case
def gemm_flattened_weight() -> Case:
    b = Builder()
    b.weight("w", M, K, 1, 1)
    b.weight("bias", M)
    b.node("Flatten", ["w"], "w2")
    b.node("Gemm", ["x", "w2", "bias"], "y", transB=1)
    return simple(b)


@case
def unsqueezed_conv1d_weight() -> Case:
    b = Builder()
    b.input("x", [2, 8, 1, 16])
    b.weight("w", 16, 8, 3)
    b.ints("axes", 2)
    b.node("Unsqueeze", ["w", "axes"], "w4")
    b.node("Conv", ["x", "w4"], "y", pads=[0, 1, 0, 1])
    b.output("y", None)
    return Case(b.model(), b.samples(x=(2, 8, 1, 16)))


@case
def tied_embedding() -> Case:
    b = Builder()
    b.input("ids", ["batch", "length"], "int64")
    b.weight("table", 128, K)
    b.node("Gather", ["table", "ids"], "e")
    b.weight("w", K, K)
    b.node("MatMul", ["e", "w"], "h")
    b.node("Transpose", ["table"], "head", perm=[1, 0])
    b.node("MatMul", ["h", "head"], "y")
    b.output("y", None)
    return Case(b.model(), b.samples(ids=(2, 6)))


@case
def weight_is_output_behind_identity() -> Case:
    b = Builder()
    b.weight("w", K, M)
    b.node("Identity", ["w"], "kept")
    b.node("MatMul", ["x", "kept"], "y")
    b.output("y", None)
    b.output("kept", None)
    return simple(b, largest_float=K * M)


@case
def weight_on_the_left() -> Case:
    b = Builder()
    b.input("x", [K, N])
    b.weight("w", M, K)
    b.node("MatMul", ["w", "x"], "y")
    b.output("y", None)
    return Case(b.model(), b.samples(x=(K, N)))


@case
def scaled_weight() -> Case:
    b = Builder()
    b.weight("w", K, M)
    b.constant("c", np.float32(0.125))
    b.node("Mul", ["w", "c"], "ws")
    b.node("MatMul", ["x", "ws"], "y")
    return simple(b)


@case
def concatenated_and_sliced_weight() -> Case:
    b = Builder()
    b.weight("q", K, M)
    b.weight("k", K, M)
    b.node("Concat", ["q", "k"], "qk", axis=1)
    for name, number in (("starts", 8), ("ends", 72), ("axes", 1)):
        b.ints(name, number)
    b.node("Slice", ["qk", "starts", "ends", "axes"], "part")
    b.node("MatMul", ["x", "part"], "y")
    return simple(b)
