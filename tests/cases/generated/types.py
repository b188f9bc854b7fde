"""Element types and shapes."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper

from cases.builder import Builder, Case, mlp

from .registry import K, M, N, case, simple


def typed_net(dtype: str) -> Builder:
    b = Builder(dtype=dtype)
    b.input("x", [2, 3, 8, 8])
    b.weight("w1", 16, 3, 3, 3)
    b.weight("b1", 16)
    b.node("Conv", ["x", "w1", "b1"], "c1", pads=[1, 1, 1, 1])
    b.node("Relu", ["c1"], "r1")
    b.weight("w2", 16, 16, 3, 3)
    b.weight("b2", 16)
    b.node("Conv", ["r1", "w2", "b2"], "c2", pads=[1, 1, 1, 1])
    b.node("Add", ["c2", "r1"], "s")
    b.node("GlobalAveragePool", ["s"], "g")
    b.node("Flatten", ["g"], "f")
    b.weight("w3", 10, 16)
    b.weight("b3", 10)
    b.node("Gemm", ["f", "w3", "b3"], "y", transB=1)
    b.output("y", [2, 10])
    return b


@case
def float16_net() -> Case:
    b = typed_net("float16")
    return Case(b.model(), b.samples(x=(2, 3, 8, 8)))


@case
def float64_net() -> Case:
    b = Builder(dtype="float64")
    mlp(b)
    b.input("x", [N, K])
    b.output("y", None)
    return simple(b)


@case
def float64_convolutions() -> Case:
    b = typed_net("float64")
    return Case(b.model(), b.samples(x=(2, 3, 8, 8)), runs=False)


@case
def bfloat16_net() -> Case:
    b = Builder(dtype="bfloat16")
    b.input("x", [N, K], "float32")
    b.node("Cast", ["x"], "xb", to=TensorProto.BFLOAT16)
    mlp(b, "xb", "yb")
    b.node("Cast", ["yb"], "y", to=TensorProto.FLOAT)
    b.output("y", None, "float32")
    return simple(b, runs=False)


@case
def float16_batch_norm() -> Case:
    b = Builder(dtype="float16")
    b.input("x", [2, 3, 8, 8])
    b.weight("w", 16, 3, 3, 3)
    b.node("Conv", ["x", "w"], "c")
    for name, values in (("scale", 1.5), ("shift", 0.5), ("mean", 0.1), ("var", 2.0)):
        b.constant(name, np.full(16, values, np.float32), "float16")
    b.node("BatchNormalization", ["c", "scale", "shift", "mean", "var"], "n")
    b.node("Relu", ["n"], "y")
    b.output("y", None)
    return Case(b.model(), b.samples(x=(2, 3, 8, 8)))


@case
def float16_island() -> Case:
    b = Builder()
    b.node("Cast", ["x"], "xh", to=TensorProto.FLOAT16)
    b.weight("w", K, M, dtype="float16")
    b.node("MatMul", ["xh", "w"], "m")
    b.node("Cast", ["m"], "m32", to=TensorProto.FLOAT)
    b.weight("v", M, K)
    b.node("MatMul", ["m32", "v"], "y")
    return simple(b)


@case
def integers_and_booleans() -> Case:
    b = Builder()
    b.input("image", [1, 3, 8, 8], "uint8")
    b.input("flip", [1], "bool")
    b.node("Cast", ["image"], "f", to=TensorProto.FLOAT)
    b.constant("scale", np.float32(1 / 8))
    b.node("Mul", ["f", "scale"], "x")
    b.weight("w", 8, 3, 3, 3)
    b.node("Conv", ["x", "w"], "c")
    b.node("Neg", ["c"], "n")
    b.node("Where", ["flip", "n", "c"], "y")
    b.node("ArgMax", ["y"], "best", axis=1)
    b.output("y", None)
    b.output("best", None, "int64")
    return Case(b.model(), b.samples(image=(1, 3, 8, 8), flip=(1,)))


@case
def scalars() -> Case:
    b = Builder()
    b.input("x", [])
    b.constant("two", np.float32(2))
    b.node("Mul", ["x", "two"], "m")
    b.node("Add", ["m", "x"], "y")
    b.output("y", [])
    samples = [{"x": np.array(v, np.float32)} for v in (0.5, -1.0, 2.0)]
    return Case(b.model(), samples, codes={"w8": 3, "w4b32": 3})


@case
def zero_size() -> Case:
    b = Builder()
    b.input("x", ["n", K])
    b.weight("w", K, M)
    b.constant("none", np.zeros((0, M), np.float32))
    b.node("MatMul", ["x", "w"], "m")
    b.node("Concat", ["m", "none"], "y", axis=0)
    b.output("y", None)
    samples = [*b.samples(x=(N, K)), {"x": np.zeros((0, K), np.float32)}]
    return Case(b.model(), samples)


@case
def zero_size_weight() -> Case:
    b = Builder()
    b.weight("w", K, M)
    b.constant("empty", np.zeros((K, 0), np.float32))
    b.node("MatMul", ["x", "w"], "y")
    b.node("MatMul", ["x", "empty"], "nothing")
    b.output("y", None)
    b.output("nothing", None)
    return simple(b)


@case
def symbolic_batch_and_length() -> Case:
    b = Builder()
    b.input("x", ["batch", "length", K])
    mlp(b)
    b.output("y", ["batch", "length", K])
    samples = b.samples(2, x=(1, 5, K)) + b.samples(2, x=(3, 9, K))
    return Case(b.model(), samples)


@case
def no_shapes_at_all() -> Case:
    b = Builder()
    mlp(b)
    b.inputs = [
        onnx.ValueInfoProto(
            name="x", type=helper.make_tensor_type_proto(TensorProto.FLOAT, shape=None)
        )
    ]
    return simple(b)


@case
def stacked_weights() -> Case:
    b = Builder()
    b.input("x", [6, N, K])
    b.weight("w", 6, K, K)
    b.node("MatMul", ["x", "w"], "y")
    b.output("y", None)
    return Case(b.model(), b.samples(x=(6, N, K)))


@case
def vector_weights() -> Case:
    b = Builder()
    b.weight("w", K)
    b.node("MatMul", ["x", "w"], "y")
    return simple(b)


@case
def grouped_transposed_convolution() -> Case:
    b = Builder()
    b.input("x", [1, 8, 6, 6])
    b.weight("w", 8, 4, 3, 3)
    b.weight("bias", 8)
    b.node("ConvTranspose", ["x", "w", "bias"], "y", group=2, strides=[2, 2])
    b.output("y", None)
    return Case(b.model(), b.samples(x=(1, 8, 6, 6)))


@case
def convolutions_of_one_and_three_axes() -> Case:
    b = Builder()
    b.input("x", [1, 4, 32])
    b.weight("w1", 8, 4, 5)
    b.node("Conv", ["x", "w1"], "c1", pads=[2, 2])
    b.ints("shape", 1, 8, 4, 4, 2)
    b.node("Reshape", ["c1", "shape"], "r")
    b.weight("w3", 8, 8, 2, 2, 1)
    b.node("Conv", ["r", "w3"], "y")
    b.output("y", None)
    return Case(b.model(), b.samples(x=(1, 4, 32)))
