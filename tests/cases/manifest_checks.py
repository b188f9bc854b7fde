"""Checks of the manifest in public/: each public complaint says what a right result is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from .builder import Sample
from .verify import LEVELS, renamed, run, sqnr_db

WEIGHT_SLOT = {"Conv": 1, "ConvTranspose": 1, "MatMul": 1, "Gemm": 1}
MOVES = ("Transpose", "Identity", "Cast", "Reshape", "Unsqueeze", "Squeeze")


class Graph:
    """A model with its constants and producers at hand."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.model = onnx.load(path)
        graph = self.model.graph
        self.nodes = list(graph.node)
        self.constants = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
        self.types = {item.name: item.data_type for item in graph.initializer}
        for node in self.nodes:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self.constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
        self.producer = {name: node for node in self.nodes for name in node.output if name}

    def is_constant(self, name: str) -> bool:
        node = self.producer.get(name)
        if name in self.constants or node is None:
            return name in self.constants
        return bool(node.input) and all(self.is_constant(i) for i in node.input if i)

    def quantizers(self, tensor: str) -> list[onnx.NodeProto]:
        """QuantizeLinear nodes on a tensor; a quantized output's producer writes `<y>_float`."""
        names = (tensor, f"{tensor}_float")
        return [n for n in self.nodes if n.op_type == "QuantizeLinear" and n.input[0] in names]

    def encoding(self, node: onnx.NodeProto) -> tuple[np.ndarray, np.ndarray]:
        scale = self.constants[node.input[1]]
        return scale, self.constants.get(node.input[2], np.zeros_like(scale, np.uint8))

    def integer_weight(self, name: str) -> onnx.NodeProto | None:
        """The DequantizeLinear behind a weight, through nodes that only move values."""
        while name in self.producer and self.producer[name].op_type in MOVES:
            name = self.producer[name].input[0]
        node = self.producer.get(name)
        return node if node is not None and node.op_type == "DequantizeLinear" else None

    def weights(self, op: str = "") -> Iterator[tuple[onnx.NodeProto, str]]:
        for node in self.nodes:
            slot = WEIGHT_SLOT.get(node.op_type)
            if slot is not None and op in ("", node.op_type) and self.is_constant(node.input[slot]):
                yield node, node.input[slot]

    def value(self, name: str) -> np.ndarray:
        """What a constant tensor holds when the model runs."""
        if name in self.constants:
            return self.constants[name].astype(np.float64)
        node = self.producer[name]
        value = self.value(node.input[0])
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        if node.op_type == "Transpose":
            return np.transpose(value, attributes.get("perm"))
        if node.op_type == "DequantizeLinear":
            scale, zero = (np.asarray(p, np.float64) for p in self.encoding(node))
            if scale.size > 1:
                shape = [1] * value.ndim
                shape[attributes.get("axis", 1)] = -1
                scale, zero = scale.reshape(shape), zero.reshape(shape)
            return (value - zero) * scale
        return value


@dataclass
class Result:
    """What a run of the command left behind."""

    source: Path
    samples: list[Sample]
    code: int
    text: str
    output: Path
    graph: Graph | None

    @property
    def made(self) -> Graph:
        assert self.graph is not None, f"no model was written: {self.text}"
        return self.graph

    def answers(self) -> tuple[list[list], list[list]]:
        feeds = [s for s in self.samples if all(v.size for v in s.values())]
        wanted = run(renamed(onnx.load(self.source)), feeds, LEVELS[0])
        return wanted, run(self.made.model, feeds, LEVELS[0])

    def single_encoding(self, tensor: str) -> tuple[float, int, np.dtype]:
        scale, zero = self.made.encoding(self.made.quantizers(tensor)[0])
        return float(scale.ravel()[0]), int(zero.ravel()[0]), zero.dtype

    def range_of(self, tensor: str) -> tuple[float, float]:
        scale, zero, kind = self.single_encoding(tensor)
        limits = np.iinfo(kind)
        return (limits.min - zero) * scale, (limits.max - zero) * scale


CHECKS: dict[str, Callable[[Result, dict[str, Any]], None]] = {}


def check(make: Callable[[Result, dict[str, Any]], None]) -> Callable:
    CHECKS[make.__name__] = make
    return make


@check
def exit_ok(result: Result, _: dict) -> None:
    assert result.code == 0 and result.output.exists(), result.text


@check
def exit_error(result: Result, _: dict) -> None:
    assert result.code != 0


@check
def no_traceback(result: Result, _: dict) -> None:
    for word in ("Traceback", "terminate called", "Aborted", "Segmentation"):
        assert word not in result.text


@check
def no_output_file(result: Result, _: dict) -> None:
    assert not result.output.exists()


@check
def message_names(result: Result, wanted: dict) -> None:
    assert any(word in result.text for word in wanted["any_of"]), result.text


@check
def checker_ok(result: Result, _: dict) -> None:
    onnx.checker.check_model(result.output)


@check
def runs_in_ort(result: Result, _: dict) -> None:
    feeds = [s for s in result.samples if all(v.size for v in s.values())]
    for level in LEVELS:
        run(result.made.model, feeds, level)


@check
def io_unchanged(result: Result, _: dict) -> None:
    def ports(model: onnx.ModelProto) -> list[list[tuple[str, int]]]:
        filled = {item.name for item in model.graph.initializer}
        return [
            [(v.name, v.type.tensor_type.elem_type) for v in values if v.name not in filled]
            for values in (model.graph.input, model.graph.output)
        ]

    assert ports(onnx.load(result.source)) == ports(result.made.model)


@check
def finite_positive_scales(result: Result, _: dict) -> None:
    for node in result.made.nodes:
        if node.op_type in ("QuantizeLinear", "DequantizeLinear"):
            scale = result.made.constants.get(node.input[1], np.ones(1))
            assert np.all(np.isfinite(scale)) and np.all(scale > 0), node.name


@check
def unique_node_names(result: Result, _: dict) -> None:
    names = [node.name for node in result.made.nodes if node.name]
    assert len(names) == len(set(names))


@check
def min_sqnr_db(result: Result, wanted: dict) -> None:
    found = sqnr_db(*result.answers())
    assert found >= wanted["value"], f"{found:.1f} dB"


@check
def max_abs_rel_error(result: Result, wanted: dict) -> None:
    for floats, quantized in zip(*result.answers(), strict=True):
        for a, b in zip(floats, quantized, strict=True):
            assert np.max(np.abs(a - b)) <= wanted["value"] * np.max(np.abs(a))


@check
def min_weight_channel_sqnr_db(result: Result, wanted: dict) -> None:
    axis = wanted["axis"]
    before, after = Graph(result.source), result.made
    pairs = zip(before.weights(wanted["op"]), after.weights(wanted["op"]), strict=True)
    for (_, name), (_, quantized) in pairs:
        x, y = before.value(name), after.value(quantized)
        others = tuple(i for i in range(x.ndim) if i != axis)
        error = np.maximum(np.sum((x - y) ** 2, others), 1e-300)
        worst = float(np.min(10 * np.log10(np.sum(x**2, others) / error)))
        assert worst >= wanted["value"], f"{quantized}: {worst:.1f} dB"


@check
def max_size_ratio(result: Result, wanted: dict) -> None:
    assert os.path.getsize(result.output) <= wanted["value"] * os.path.getsize(result.source)


@check
def int_weight_share(result: Result, wanted: dict) -> None:
    found = [result.made.integer_weight(name) is not None for _, name in result.made.weights()]
    assert not found or sum(found) / len(found) >= wanted["value"]


@check
def weight_quantized(result: Result, wanted: dict) -> None:
    names = [name for _, name in result.made.weights(wanted["op"])]
    assert names and all(result.made.integer_weight(name) is not None for name in names)


@check
def weight_axis(result: Result, wanted: dict) -> None:
    for _, name in result.made.weights(wanted["op"]):
        node = result.made.integer_weight(name)
        assert node is not None
        axis = next((a.i for a in node.attribute if a.name == "axis"), 1)
        assert result.made.constants[node.input[1]].size > 1 and axis == wanted["axis"]


@check
def bias_scale_matches_product(result: Result, _: dict) -> None:
    graph = result.made
    for node in graph.nodes:
        if node.op_type not in ("Conv", "ConvTranspose", "Gemm") or len(node.input) < 3:
            continue
        parts = [graph.integer_weight(name) for name in node.input]
        if parts[2] is None:
            continue
        assert None not in parts, f"{node.name}: int32 bias beside a float operand"
        scales = [np.ravel(graph.constants[p.input[1]]).astype(np.float64) for p in parts if p]
        assert np.allclose(scales[2], scales[0] * scales[1], rtol=1e-5)


@check
def not_quantized(result: Result, wanted: dict) -> None:
    assert not result.made.quantizers(wanted["tensor"])


@check
def single_qdq_on(result: Result, wanted: dict) -> None:
    assert len(result.made.quantizers(wanted["tensor"])) == 1


@check
def encoding(result: Result, wanted: dict) -> None:
    scale, zero, _ = result.single_encoding(wanted["tensor"])
    assert abs(scale / wanted["scale"] - 1) < 1e-5 and zero == wanted["zero_point"]


@check
def encoding_dtype(result: Result, wanted: dict) -> None:
    assert result.single_encoding(wanted["tensor"])[2].name == wanted["dtype"]


@check
def same_encoding(result: Result, wanted: dict) -> None:
    found = [result.single_encoding(t) for t in wanted["tensors"] if result.made.quantizers(t)]
    assert len(set(found)) <= 1


@check
def max_range(result: Result, wanted: dict) -> None:
    if result.made.quantizers(wanted["tensor"]):
        low, high = wanted["value"]
        slack = 0.05 * (high - low)
        found = result.range_of(wanted["tensor"])
        assert found[0] >= low - slack and found[1] <= high + slack


@check
def range_contains_zero(result: Result, _: dict) -> None:
    for node in result.made.nodes:
        if node.op_type == "QuantizeLinear":
            _, zero = result.made.encoding(node)
            limits = np.iinfo(zero.dtype)
            assert np.all((limits.min <= zero) & (zero <= limits.max))


@check
def op_present_or_range_starts_at_zero(result: Result, wanted: dict) -> None:
    present = any(node.op_type == wanted["op"] for node in result.made.nodes)
    tensors = [t for t in ("r", "c") if result.made.quantizers(t)]
    assert present or any(result.range_of(t)[0] >= -1e-9 for t in tensors)


@check
def bit_exact_qdq(result: Result, wanted: dict) -> None:
    graph, tensor = result.made, wanted["tensor"]
    quantizer = graph.quantizers(tensor)[0]
    scale, zero = graph.encoding(quantizer)
    limits, x = np.iinfo(zero.dtype), result.samples[0][tensor]
    shift = zero.astype(np.float32)
    expected = (np.clip(np.rint(x / scale) + shift, limits.min, limits.max) - shift) * scale
    dequantize = next(
        n for n in graph.nodes
        if n.op_type == "DequantizeLinear" and n.input[0] == quantizer.output[0]
    )  # fmt: skip
    probe = onnx.ModelProto()
    probe.CopyFrom(graph.model)
    value = onnx.helper.make_tensor_value_info(dequantize.output[0], 1, None)
    probe.graph.output.insert(0, value)
    assert np.array_equal(run(probe, result.samples[:1], LEVELS[0])[0][0], expected)
