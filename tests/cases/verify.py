"""What must hold for every quantized model, whatever it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper

from .builder import Case, Sample

LEVELS = (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
PAIR = ("QuantizeLinear", "DequantizeLinear")
FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16,
          onnx.TensorProto.DOUBLE)  # fmt: skip


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph and every body below it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for body in [attribute.g] if attribute.HasField("g") else list(attribute.graphs):
                yield from graphs(body)


def constants(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    for graph in graphs(model.graph):
        yield from graph.initializer
        for node in graph.node:
            if node.op_type == "Constant":
                yield from (a.t for a in node.attribute if a.name == "value")
    for function in model.functions:
        for node in function.node:
            yield from (a.t for a in node.attribute if a.HasField("t"))


def run(model: onnx.ModelProto, samples: list[Sample], level: object) -> list[list]:
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    wanted = {item.name for item in session.get_inputs()}
    return [
        session.run(None, {name: value for name, value in sample.items() if name in wanted})
        for sample in samples
    ]


def renamed(model: onnx.ModelProto) -> onnx.ModelProto:
    """ONNX Runtime refuses repeated names of nodes."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for i, node in enumerate(copy.graph.node):
        node.name = f"{node.name}_{i}"
    return copy


def sqnr_db(wanted: list[list], found: list[list]) -> float:
    """The worst output: 10 log10(sum x^2 / sum (x - y)^2) over all samples."""
    worst = np.inf
    for i in range(len(wanted[0])):
        power = error = 0.0
        for a, b in zip(wanted, found, strict=True):
            if not isinstance(a[i], np.ndarray) or a[i].dtype.kind != "f":
                continue
            x, y = np.asarray(a[i], np.float64), np.asarray(b[i], np.float64)
            assert x.shape == y.shape
            finite = np.isfinite(x)
            power += float(np.sum(x[finite] ** 2))
            error += float(np.sum((x[finite] - y[finite]) ** 2))
        if error > 0:
            worst = min(worst, 10 * np.log10(max(power, 1e-300) / error))
    return float(worst)


def ports(values: list[onnx.ValueInfoProto], model: onnx.ModelProto) -> list[tuple]:
    filled = {item.name for item in model.graph.initializer} if model.ir_version < 4 else set()
    return [(v.name, v.type.SerializeToString()) for v in values if v.name not in filled]


def problem(model: onnx.ModelProto) -> str | None:
    """What the checker has against a model."""
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        return str(error)
    return None


def check_structure(case: Case, made: onnx.ModelProto) -> None:
    if problem(case.model) is None:
        assert problem(made) is None
    assert [p[0] for p in ports(made.graph.input, made)] == [
        p[0] for p in ports(case.model.graph.input, case.model)
    ]
    assert [v.name for v in made.graph.output] == [v.name for v in case.model.graph.output]
    for before, after in zip(case.model.graph.output, made.graph.output, strict=True):
        kind = before.type.tensor_type.elem_type
        assert not kind or after.type.tensor_type.elem_type == kind
    names = [node.name for node in made.graph.node if node.name]
    assert len(names) == len(set(names))
    values = {item.name: item for item in made.graph.initializer}
    for node in made.graph.node:
        if node.op_type in PAIR and node.input[1] in values:
            scale = numpy_helper.to_array(values[node.input[1]]).astype(np.float64)
            assert np.all(np.isfinite(scale)) and np.all(scale > 0), node.name


def left_float(made: onnx.ModelProto) -> list[str]:
    """Float constants but scales, the largest first."""
    scales = {n.input[1] for n in made.graph.node if n.op_type in PAIR}
    found = [
        (int(np.prod(t.dims)), t.name)
        for t in constants(made)
        if t.data_type in FLOATS and t.name not in scales
    ]
    return [f"{name}: {size}" for size, name in sorted(found, reverse=True)]


def check(case: Case, path: Path, recipe: str, levels: tuple = LEVELS) -> float:
    """Returns the worst SQNR of an output."""
    made = onnx.load(path)
    check_structure(case, made)
    biggest = left_float(made)
    size = int(biggest[0].rsplit(": ", 1)[1]) if biggest else 0
    assert size <= case.largest_float, f"weights left float: {biggest[:4]}"
    if not case.runs:
        return np.inf
    samples = [s for s in case.samples if all(v.size for v in s.values())]
    wanted = run(renamed(case.model), samples, LEVELS[0])
    limit = case.sqnr_db - (12 if recipe == "w4b32" else 0)
    worst = np.inf
    for level in levels:
        worst = min(worst, sqnr_db(wanted, run(made, samples, level)))
        assert worst >= limit, f"{worst:.1f} dB at {level}"
    return worst
