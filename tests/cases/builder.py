"""A short way to write small ONNX models."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

ELEMENT_TYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "float64": TensorProto.DOUBLE,
    "int64": TensorProto.INT64,
    "int32": TensorProto.INT32,
    "uint8": TensorProto.UINT8,
    "int8": TensorProto.INT8,
    "bool": TensorProto.BOOL,
}

Sample = dict[str, np.ndarray]


@dataclass
class Case:
    """A model with samples, and what must come out."""

    model: onnx.ModelProto
    samples: list[Sample]
    # At most so many values of a constant may stay float: biases and other small things.
    largest_float: int = 64
    sqnr_db: float = 20.0
    codes: dict[str, int] = field(default_factory=dict)  # exit code by recipe where it is not 0
    # The engine cannot run the float model either: the result only has to be valid.
    runs: bool = True
    words: tuple[str, ...] = ()  # the report (-v) must hold all of these


@dataclass
class Builder:
    """Collects a graph. `weight` makes constants with values of a plausible size."""

    seed: int = 0
    dtype: str = "float32"
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    outputs: list[onnx.ValueInfoProto] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    def values(self, *shape: int, scale: float = 0.0) -> np.ndarray:
        spread = scale or 1.0 / np.sqrt(max(1, int(np.prod(shape[1:]))))
        return (self.random.standard_normal(shape) * spread).astype(np.float32)

    def constant(self, name: str, array: np.ndarray, dtype: str = "") -> str:
        self.initializers.append(tensor(name, array, dtype))
        return name

    def weight(self, name: str, *shape: int, dtype: str = "") -> str:
        return self.constant(name, self.values(*shape), dtype or self.dtype)

    def ints(self, name: str, *numbers: int) -> str:
        return self.constant(name, np.array(numbers, np.int64))

    def input(self, name: str, shape: list, dtype: str = "") -> str:
        kind = ELEMENT_TYPES[dtype or self.dtype]
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, name: str, shape: list | None = None, dtype: str = "") -> str:
        kind = ELEMENT_TYPES[dtype or self.dtype]
        self.outputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def node(self, op: str, inputs: list[str], output: str, **attributes: object) -> str:
        name = attributes.pop("name", f"{op.lower()}_{len(self.nodes)}")
        self.nodes.append(helper.make_node(op, inputs, [output], name=str(name), **attributes))
        return output

    def graph(self, name: str = "graph") -> onnx.GraphProto:
        return helper.make_graph(self.nodes, name, self.inputs, self.outputs, self.initializers)

    def model(self, opset: int = 17, ir: int = 8, **more: object) -> onnx.ModelProto:
        domains = more.pop("domains", {})
        imports = [helper.make_opsetid("", opset)]
        imports += [helper.make_opsetid(domain, version) for domain, version in domains.items()]
        model = helper.make_model(self.graph(), opset_imports=imports, **more)
        model.ir_version = ir
        give_shapes(model)
        return model

    def samples(self, count: int = 4, **shapes: tuple[int, ...]) -> list[Sample]:
        kinds = {value.name: value.type.tensor_type.elem_type for value in self.inputs}
        made = []
        for _ in range(count):
            sample = {}
            for name, shape in shapes.items():
                kind = helper.tensor_dtype_to_np_dtype(kinds[name])
                drawn = self.random.standard_normal(shape)
                if np.issubdtype(kind, np.integer):
                    drawn = np.abs(drawn * 3)
                sample[name] = (drawn > 0 if kind == np.bool_ else drawn).astype(kind)
            made.append(sample)
        return made


def give_shapes(model: onnx.ModelProto) -> None:
    """The checker wants shapes of outputs; those that inference finds are filled in."""
    inferred = onnx.shape_inference.infer_shapes(model).graph
    found = {value.name: value for value in [*inferred.output, *inferred.value_info]}
    for value in model.graph.output:
        if value.type.WhichOneof("value") == "tensor_type" and not value.type.tensor_type.HasField(
            "shape"
        ):
            value.CopyFrom(found.get(value.name, value))


def tensor(name: str, array: np.ndarray, dtype: str = "") -> onnx.TensorProto:
    """An initializer; bfloat16 is rounded by ONNX's own helper."""
    if dtype == "bfloat16":
        return helper.make_tensor(name, TensorProto.BFLOAT16, array.shape, array.ravel().tolist())
    return numpy_helper.from_array(np.asarray(array, dtype or array.dtype), name)


def mlp(builder: Builder, x: str = "x", y: str = "y", features: int = 32, opset: int = 17) -> None:
    """x -> MatMul -> Add -> Relu -> MatMul -> y"""
    builder.weight("w1", features, 64)
    builder.weight("b1", 64)
    builder.weight("w2", 64, features)
    builder.node("MatMul", [x, "w1"], "m1")
    builder.node("Add", ["m1", "b1"], "a1")
    builder.node("Relu", ["a1"], "r1")
    builder.node("MatMul", ["r1", "w2"], y)
