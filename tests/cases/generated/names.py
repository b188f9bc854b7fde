"""Names, and opsets from the oldest to the newest."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from cases.builder import Builder, Case, mlp

from .registry import CASES, K, M, N, case, simple


@case
def nodes_without_names() -> Case:
    b = Builder()
    mlp(b)
    for node in b.nodes:
        node.name = ""
    return simple(b)


@case
def nodes_with_one_name() -> Case:
    b = Builder()
    mlp(b)
    for node in b.nodes:
        node.name = "same"
    return simple(b)


@case
def names_that_we_would_add() -> Case:
    b = Builder()
    for tail in (
        "_quantized",
        "_dequantized",
        "_scale",
        "_zero_point",
        "_float",
        "_QuantizeLinear",
    ):
        b.constant(f"w{tail}", b.values(K, K))
        b.constant(f"x{tail}", b.values(K))
    b.weight("w", K, K)
    b.node("MatMul", ["x", "w"], "m0", name="x_QuantizeLinear")
    for i, tail in enumerate(("_quantized", "_dequantized", "_scale", "_zero_point", "_float")):
        b.node("MatMul", [f"m{i}", f"w{tail}"], f"t{i}", name=f"m{i}_DequantizeLinear")
        b.node("Add", [f"t{i}", f"x{tail}"], f"m{i + 1}")
    b.node("MatMul", ["m5", "w_QuantizeLinear"], "y")
    return simple(b)


@case
def strange_names() -> Case:
    b = Builder()
    b.weight("a/b.c:0", K, K)
    b.weight("größe ", K, K)
    b.node("MatMul", ["x", "a/b.c:0"], "m\t1", name="with space")
    b.node("MatMul", ["m\t1", "größe "], "y", name="::")
    return simple(b)


def old_mlp(opset: int, ir: int) -> Case:
    b = Builder()
    b.input("x", [N, K])
    b.weight("w1", K, M)
    b.weight("b1", M)
    b.node("Gemm", ["x", "w1", "b1"], "g", **({} if opset >= 7 else {"broadcast": 1}))
    b.node("Relu", ["g"], "r")
    b.weight("w2", M, K)
    b.node("Transpose", ["w2"], "w2t")
    b.node("Transpose", ["w2t"], "w2tt")
    b.node("MatMul", ["r", "w2tt"], "y")
    b.output("y", [N, K])
    if ir < 4:
        for item in list(b.initializers):
            b.inputs.append(
                helper.make_tensor_value_info(item.name, item.data_type, list(item.dims))
            )
    return Case(b.model(opset, ir), b.samples(x=(N, K)))


for OPSET, IR in ((7, 3), (8, 3), (9, 4), (10, 5), (11, 6), (12, 7), (13, 7), (15, 8), (18, 8),
                  (19, 9), (20, 9), (21, 10), (22, 10), (23, 11), (24, 12), (25, 12)):  # fmt: skip
    CASES[f"opset_{OPSET}"] = lambda opset=OPSET, ir=IR: old_mlp(opset, ir)


@case
def overridable_weight() -> Case:
    b = Builder()
    mlp(b)
    b.input("x", [N, K])
    b.input("w2", [64, K])
    b.output("y", None)
    return Case(b.model(), b.samples(x=(N, K)), largest_float=64 * K, words=("w2",))


@case
def already_quantized_weight() -> Case:
    b = Builder()
    b.constant("wq", b.random.integers(-127, 127, (K, M)).astype(np.int8))
    b.constant("ws", np.float32(0.002))
    b.constant("wz", np.int8(0))
    b.node("DequantizeLinear", ["wq", "ws", "wz"], "w")
    b.node("MatMul", ["x", "w"], "m")
    b.weight("v", M, K)
    b.node("MatMul", ["m", "v"], "y")
    return simple(b)


@case
def already_quantized_input() -> Case:
    b = Builder()
    b.constant("xs", np.float32(0.03))
    b.constant("xz", np.uint8(128))
    b.node("QuantizeLinear", ["x", "xs", "xz"], "xq")
    b.node("DequantizeLinear", ["xq", "xs", "xz"], "xd")
    mlp(b, "xd")
    return simple(b)


@case
def integer_kernels_in_between() -> Case:
    b = Builder()
    b.constant("wq", b.random.integers(-127, 127, (K, K)).astype(np.int8))
    b.nodes.append(
        helper.make_node("DynamicQuantizeLinear", ["x"], ["xq", "xs", "xz"], name="dynamic")
    )
    b.node("MatMulInteger", ["xq", "wq", "xz"], "mi")
    b.node("Cast", ["mi"], "mf", to=TensorProto.FLOAT)
    b.constant("ws", np.float32(0.002))
    b.node("Mul", ["xs", "ws"], "s")
    b.node("Mul", ["mf", "s"], "h")
    b.weight("v", K, K)
    b.node("MatMul", ["h", "v"], "y")
    return simple(b)
