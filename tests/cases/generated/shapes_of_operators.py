"""Operators in their less usual forms: optional outputs, broadcast biases, odd ranks and axes."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import TensorProto, helper

from cases.builder import Builder, Case, mlp

from .registry import K, M, N, case, simple


@case
def gemm_in_all_forms() -> Case:
    b = Builder()
    b.input("x", [K, N])
    b.weight("w1", K, M)
    b.weight("row", 1, M)
    b.node("Gemm", ["x", "w1", "row"], "g1", transA=1, alpha=0.5, beta=2.0)
    b.weight("w2", M, M)
    b.weight("column", N, 1)
    b.node("Gemm", ["g1", "w2", "column"], "g2", transB=1)
    b.constant("one", np.float32(0.25))
    b.weight("w3", M, K)
    b.node("Gemm", ["g2", "w3", "one"], "y")
    b.output("y", None)
    return Case(b.model(), b.samples(x=(K, N)))


@case
def matmul_of_vectors_and_broadcast_weights() -> Case:
    b = Builder()
    b.input("x", [K])
    b.weight("w1", K, M)
    b.node("MatMul", ["x", "w1"], "m1")
    b.weight("w2", 1, M, K)
    b.node("MatMul", ["m1", "w2"], "m2")
    b.weight("w3", 2, 3, K, M)
    b.node("MatMul", ["m2", "w3"], "y")
    b.output("y", None)
    return Case(b.model(), b.samples(x=(K,)))


@case
def unused_and_empty_outputs() -> Case:
    b = Builder()
    b.input("x", [2, 4, 8, 8])
    b.weight("w", 8, 4, 3, 3)
    b.node("Conv", ["x", "w"], "c")
    b.nodes.append(helper.make_node("MaxPool", ["c"], ["p", "where"], "pool", kernel_shape=[2, 2]))
    b.ints("k", 2)
    b.nodes.append(helper.make_node("TopK", ["p", "k"], ["most", "best"], "top"))
    b.nodes.append(helper.make_node("Dropout", ["p"], ["d", ""], "drop"))
    b.nodes.append(helper.make_node("Split", ["d"], ["other", "half"], "split", axis=1))
    b.node("Relu", ["half"], "y")
    b.output("y", None)
    b.output("best", None, "int64")
    return Case(b.model(), b.samples(x=(2, 4, 8, 8)))


@case
def gather_on_other_axes() -> Case:
    b = Builder()
    b.input("ids", [3], "int64")
    b.weight("table", K, 64)
    b.node("Gather", ["table", "ids"], "column", axis=1)
    b.weight("w", 3, K)
    b.node("MatMul", ["column", "w"], "y")
    b.output("y", None)
    return Case(b.model(), b.samples(ids=(3,)))


@case
def bias_that_is_computed() -> Case:
    b = Builder()
    b.input("x", [1, 4, 8, 8])
    b.input("shift", [8])
    b.weight("w", 8, 4, 3, 3)
    b.node("Tanh", ["shift"], "bias")
    b.node("Conv", ["x", "w", "bias"], "y")
    b.output("y", None)
    return Case(b.model(), b.samples(x=(1, 4, 8, 8), shift=(8,)))


@case
def bounds_that_are_computed() -> Case:
    b = Builder()
    b.input("x", [1, 4, 8, 8])
    b.input("top", [])
    b.weight("w", 8, 4, 3, 3)
    b.node("Conv", ["x", "w"], "c")
    b.node("Abs", ["top"], "limit")
    b.node("Clip", ["c", "", "limit"], "k")
    b.ints("pads", 0, 0, 1, 1, 0, 0, 1, 1)
    b.constant("value", np.float32(-1))
    b.node("Pad", ["k", "pads", "value"], "y")
    b.output("y", None)
    return Case(b.model(), b.samples(x=(1, 4, 8, 8), top=()))


@case
def shapes_that_depend_on_data() -> Case:
    b = Builder()
    b.weight("w", K, K)
    b.node("MatMul", ["x", "w"], "m")
    b.node("Relu", ["m"], "r")
    b.node("NonZero", ["r"], "where")
    b.node("Transpose", ["where"], "index", perm=[1, 0])
    b.node("GatherND", ["m", "index"], "picked")
    b.node("ReduceSum", ["picked"], "s", keepdims=0)
    b.node("Add", ["m", "s"], "y")
    return simple(b, sqnr_db=10)


@case
def domain_spelled_out() -> Case:
    b = Builder()
    mlp(b)
    b.input("x", [N, K])
    b.output("y", [N, K])
    model = b.model()
    model.opset_import[0].domain = "ai.onnx"
    for node in model.graph.node:
        node.domain = "ai.onnx"
    return Case(model, b.samples(x=(N, K)))


@case
def depthwise_and_grouped_convolutions() -> Case:
    b = Builder()
    b.input("x", [1, 8, 8, 8])
    b.weight("w1", 8, 1, 3, 3)
    b.weight("b1", 8)
    b.node("Conv", ["x", "w1", "b1"], "c1", group=8, pads=[1, 1, 1, 1])
    b.node("HardSwish", ["c1"], "h")
    b.weight("w2", 16, 4, 1, 1)
    b.node("Conv", ["h", "w2"], "c2", group=2)
    b.weight("slope", 16, 1, 1)
    b.node("PRelu", ["c2", "slope"], "p")
    b.constant("scales", np.array([1, 1, 2, 2], np.float32))
    b.node("Resize", ["p", "", "scales"], "y", mode="linear")
    b.output("y", None)
    return Case(b.model(), b.samples(x=(1, 8, 8, 8)))


@case
def einsum_and_other_products() -> Case:
    b = Builder()
    b.weight("w", K, M)
    b.node("Einsum", ["x", "w"], "e", equation="nk,km->nm")
    b.weight("v", M, K)
    b.node("MatMul", ["e", "v"], "y")
    return simple(b, largest_float=K * M)


@case
def strings_and_trees() -> Case:
    b = Builder()
    b.weight("w", K, K)
    b.node("MatMul", ["x", "w"], "y")
    b.node("ArgMax", ["y"], "best", axis=1, keepdims=0)
    b.nodes.append(
        helper.make_node(
            "LabelEncoder", ["best"], ["label"], "names", domain="ai.onnx.ml",
            keys_int64s=list(range(K)), values_strings=[f"class {i}" for i in range(K)],
        )
    )  # fmt: skip
    b.output("y", None)
    kind = helper.make_tensor_type_proto(TensorProto.STRING, [N])
    b.outputs.append(onnx.ValueInfoProto(name="label", type=kind))
    return simple(b, domains={"ai.onnx.ml": 3})


@case
def layers_of_one_attention() -> Case:
    b = Builder()
    b.input("x", ["batch", "length", K])
    b.ints("heads", 0, 0, 4, K // 4)
    b.ints("joined", 0, 0, K)
    for part in "qkv":
        b.weight(f"w{part}", K, K)
        b.weight(f"b{part}", K)
        b.node("MatMul", ["x", f"w{part}"], f"m{part}")
        b.node("Add", [f"b{part}", f"m{part}"], f"a{part}")
        b.node("Reshape", [f"a{part}", "heads"], f"r{part}")
        perm = [0, 2, 3, 1] if part == "k" else [0, 2, 1, 3]
        b.node("Transpose", [f"r{part}"], f"t{part}", perm=perm)
    b.node("MatMul", ["tq", "tk"], "scores")
    b.constant("low", np.float32(np.finfo(np.float32).min))
    b.input("mask", ["batch", 1, 1, "length"], "bool")
    b.node("Where", ["mask", "scores", "low"], "masked")
    b.node("Softmax", ["masked"], "soft", axis=-1)
    b.node("MatMul", ["soft", "tv"], "mixed")
    b.node("Transpose", ["mixed"], "back", perm=[0, 2, 1, 3])
    b.node("Reshape", ["back", "joined"], "flat")
    b.weight("wo", K, K)
    b.node("MatMul", ["flat", "wo"], "o")
    b.node("Add", ["o", "x"], "sum")
    b.constant("gamma", np.ones(K, np.float32))
    b.node("LayerNormalization", ["sum", "gamma"], "y")
    b.output("y", None)
    samples = b.samples(x=(2, 6, K), mask=(2, 1, 1, 6))
    for sample in samples:
        sample["mask"][..., 0] = True
    return Case(b.model(), samples)


@case
def nothing_to_quantize() -> Case:
    b = Builder()
    b.input("x", [N, K], "int64")
    b.node("Abs", ["x"], "a")
    b.node("Identity", ["a"], "y")
    b.output("y", [N, K], "int64")
    codes = dict.fromkeys(("a8w8", "a16w8", "w8", "w4b32"), 3)
    return Case(b.model(), b.samples(x=(N, K)), codes=codes, words=("nothing to quantize",))


@case
def no_nodes_at_all() -> Case:
    b = Builder()
    b.input("x", [N, K])
    b.output("x", [N, K])
    codes = dict.fromkeys(("a8w8", "a16w8", "w8", "w4b32"), 3)
    return Case(b.model(), b.samples(x=(N, K)), codes=codes)
