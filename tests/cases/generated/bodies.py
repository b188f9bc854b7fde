"""Weights in bodies and functions."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

from cases.builder import Builder, Case, tensor

from .registry import K, N, case, simple


def branch(name: str, b: Builder, weight: str, shift: str) -> onnx.GraphProto:
    body = Builder(seed=len(name))
    body.node("MatMul", ["h", weight], f"{name}_m", name=f"{name}_matmul")
    body.node("Add", [f"{name}_m", shift], f"{name}_y", name=f"{name}_add")
    body.output(f"{name}_y", None)
    if weight not in ("shared",):
        body.weight(weight, K, K)
    return body.graph(name)


@case
def weights_in_if_bodies() -> Case:
    b = Builder()
    b.input("x", [N, K])
    b.weight("w", K, K)
    b.weight("shift", K)
    b.node("MatMul", ["x", "w"], "h")
    b.node("ReduceSum", ["x"], "sum", keepdims=0)
    b.constant("zero", np.float32(0))
    b.node("Greater", ["sum", "zero"], "positive")
    # Both bodies call their weight by one name.
    b.node(
        "If",
        ["positive"],
        "y",
        then_branch=branch("then", b, "inner", "shift"),
        else_branch=branch("else", b, "inner", "shift"),
    )
    return simple(b)


def loop_body(weight_node: bool) -> onnx.GraphProto:
    body = Builder(seed=5)
    body.input("i", [], "int64")
    body.input("go", [], "bool")
    body.input("state", [N, K])
    if weight_node:
        body.nodes.append(
            helper.make_node("Constant", [], ["lw"], value=tensor("v", body.values(K, K)))
        )
    else:
        body.weight("lw0", K, K)
        body.node("Transpose", ["lw0"], "lw", perm=[1, 0])
    body.node("MatMul", ["state", "lw"], "lm")
    body.node("Tanh", ["lm"], "next")
    body.node("Identity", ["go"], "go_out")
    body.output("go_out", [], "bool")
    body.output("next", [N, K])
    return body.graph("loop_body")


@case
def weight_in_loop_body() -> Case:
    b = Builder()
    b.constant("count", np.array(3, np.int64))
    b.constant("true", np.array(True))
    b.weight("w", K, K)
    b.node("MatMul", ["x", "w"], "h")
    b.node("Loop", ["count", "true", "h"], "y", body=loop_body(False))
    return simple(b)


@case
def constant_node_in_loop_body() -> Case:
    b = Builder()
    b.constant("count", np.array(2, np.int64))
    b.constant("true", np.array(True))
    b.node("Loop", ["count", "true", "x"], "y", body=loop_body(True))
    return simple(b)


@case
def computed_weight_in_body() -> Case:
    body = Builder(seed=9)
    for name in ("inner_a", "inner_b"):
        body.weight(name, K // 2, K)
    body.node("Concat", ["inner_a", "inner_b"], "inner_ab", axis=0)
    body.constant("inner_half", np.float32(0.5))
    body.node("Mul", ["inner_ab", "inner_half"], "inner_w")
    body.node("MatMul", ["x", "inner_w"], "then_y")
    body.output("then_y", None)
    other = Builder()
    other.node("Identity", ["x"], "else_y")
    other.output("else_y", None)
    b = Builder()
    b.input("go", [], "bool")
    b.input("x", [N, K])
    b.output("y", None)
    b.node("If", ["go"], "y", then_branch=body.graph("then"), else_branch=other.graph("else"))
    samples = b.samples(x=(N, K))
    for sample in samples:
        sample["go"] = np.array(True)
    return Case(b.model(), samples)


@case
def weight_of_outer_body_computed_in_inner_body() -> Case:
    def branch(name: str) -> onnx.GraphProto:
        inner = Builder()
        inner.node("Slice", ["mid", "from", "to"], f"{name}_part")
        inner.node("MatMul", ["x", f"{name}_part"], f"{name}_y")
        inner.output(f"{name}_y", None)
        return inner.graph(name)

    body = Builder(seed=9)
    body.weight("mid", 2 * K, K)
    body.ints("from", K // 2)
    body.ints("to", K // 2 + K)
    body.node("Not", ["go"], "stop")
    body.node("If", ["stop"], "then_y", then_branch=branch("p"), else_branch=branch("q"))
    body.output("then_y", None)
    other = Builder()
    other.node("Identity", ["x"], "else_y")
    other.output("else_y", None)
    b = Builder()
    b.input("go", [], "bool")
    b.input("x", [N, K])
    b.output("y", None)
    b.node("If", ["go"], "y", then_branch=body.graph("then"), else_branch=other.graph("else"))
    samples = b.samples(x=(N, K))
    for sample in samples:
        sample["go"] = np.array(True)
    return Case(b.model(), samples)


@case
def weight_in_scan_body() -> Case:
    body = Builder(seed=7)
    body.input("state", [K])
    body.input("row", [K])
    body.weight("sw", K, K)
    body.node("Add", ["state", "row"], "sum")
    body.node("MatMul", ["sum", "sw"], "next")
    body.node("Identity", ["next"], "seen")
    body.output("next", [K])
    body.output("seen", [K])
    b = Builder()
    b.input("x", [N, K])
    b.constant("start", np.zeros(K, np.float32))
    b.nodes.append(
        helper.make_node(
            "Scan", ["start", "x"], ["last", "y"], name="scan", num_scan_inputs=1,
            body=body.graph("scan_body"),
        )
    )  # fmt: skip
    b.output("y", None)
    return simple(b)


def linear_function(opset: int) -> onnx.FunctionProto:
    nodes = [
        helper.make_node("Transpose", ["w"], ["wt"], perm=[1, 0]),
        helper.make_node("MatMul", ["x", "wt"], ["m"]),
        helper.make_node("Add", ["m", "b"], ["y"]),
    ]
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_function("local", "Linear", ["x", "w", "b"], ["y"], nodes, opsets)


@case
def weights_through_function() -> Case:
    b = Builder()
    for layer, x, y in ((1, "x", "h"), (2, "h", "y")):
        b.weight(f"w{layer}", K, K)
        b.weight(f"b{layer}", K)
        b.node("Linear", [x, f"w{layer}", f"b{layer}"], y, domain="local")
    return simple(b, functions=[linear_function(17)], domains={"local": 1})


@case
def weight_inside_nested_function() -> Case:
    b = Builder()
    weight = tensor("v", b.values(K, K))
    inner = helper.make_function(
        "local",
        "Inner",
        ["x"],
        ["y"],
        [
            helper.make_node("Constant", [], ["w"], value=weight),
            helper.make_node("MatMul", ["x", "w"], ["y"]),
        ],
        [helper.make_opsetid("", 17)],
    )
    outer = helper.make_function(
        "local",
        "Outer",
        ["x"],
        ["y"],
        [
            helper.make_node("Inner", ["x"], ["h"], domain="local"),
            helper.make_node("Relu", ["h"], ["r"]),
            helper.make_node("Inner", ["r"], ["y"], domain="local"),
        ],
        [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)],
    )
    b.node("Outer", ["x"], "y", domain="local")
    return simple(b, functions=[inner, outer], domains={"local": 1})
