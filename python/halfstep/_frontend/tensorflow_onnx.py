"""The graph that tf2onnx wrote, with what FakeQuant said put back as Q/DQ."""

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from halfstep._frontend.fake_quant import Grid, Markers, Weight
from halfstep._frontend.report import Diagnostic, FrontendError
from halfstep._frontend.tensorflow_files import SourceGraph

CONTRIB = "com.microsoft"  # has Q/DQ of 4 and 16 bits at every opset
IR_VERSION = 10  # 4-bit tensors, metadata of nodes
# Operators whose results are not below 0: a bound at or below 0 is no bound.
NOT_NEGATIVE = {"Relu", "Softmax", "Sigmoid", "Abs", "Sqrt", "Exp"}

FLOAT = TensorProto.FLOAT
Array = npt.NDArray[Any]


class Names:
    def __init__(self, graph: onnx.GraphProto) -> None:
        self._taken = {name for node in graph.node for name in (*node.input, *node.output)}
        self._taken |= {t.name for t in (*graph.initializer, *graph.input, *graph.output)}
        self._taken |= {node.name for node in graph.node}

    def fresh(self, base: str) -> str:
        name, number = base, 1
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name


def storage(bits: int, signed: bool) -> tuple[int, str]:
    """The type of ONNX that holds codes of `bits`, and the type they are, if it is another one.

    9 to 15 bits have no type of their own: they are 16-bit codes that stay in their range.
    """
    sign = "" if signed else "u"
    if bits > 8:
        return (TensorProto.INT16 if signed else TensorProto.UINT16), ""
    if bits <= 4:
        kind = TensorProto.INT4 if signed else TensorProto.UINT4
        return kind, "" if bits == 4 else f"{sign}int{bits}"
    kind = TensorProto.INT8 if signed else TensorProto.UINT8
    return kind, "" if bits == 8 else f"{sign}int{bits}"


def mark(node: onnx.NodeProto, key: str, value: str) -> None:
    node.metadata_props.append(onnx.StringStringEntryProto(key=key, value=value))


class Writer:
    """Changes a graph node by node; `apply` puts the new list of nodes in."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.graph = model.graph
        self.names = Names(model.graph)
        self.before: dict[int, list[onnx.NodeProto]] = {}  # in front of the node of that number
        self.removed: set[int] = set()
        self.initializers = {t.name: t for t in model.graph.initializer}

    def add(self, name: str, array: Array, kind: int) -> str:
        name = self.names.fresh(name)
        if kind in (TensorProto.INT4, TensorProto.UINT4):
            flat = (array.astype(np.int64).reshape(-1) & 15).astype(np.uint8)
            flat = np.append(flat, np.zeros(flat.size % 2, np.uint8))
            data = (flat[::2] | (flat[1::2] << 4)).tobytes()
        else:
            data = array.astype(helper.tensor_dtype_to_np_dtype(kind)).tobytes()
        tensor = helper.make_tensor(name, kind, array.shape, data, raw=True)
        self.graph.initializer.append(tensor)
        return name

    def node(
        self, op: str, inputs: list[str], output: str, kind: int, axis: int | None, dtype: str
    ) -> onnx.NodeProto:
        plain = kind in (TensorProto.INT8, TensorProto.UINT8)
        node = helper.make_node(
            op,
            inputs,
            [output],
            self.names.fresh(f"{output}_{op}"),
            domain="" if plain else CONTRIB,
        )
        if axis is not None:
            node.attribute.append(helper.make_attribute("axis", axis))
        if dtype:
            mark(node, "halfstep.dtype", dtype)
        return node

    def apply(self) -> None:
        nodes: list[onnx.NodeProto] = []
        for number, node in enumerate(self.graph.node):
            nodes += self.before.get(number, [])
            if number not in self.removed:
                nodes.append(node)
        del self.graph.node[:]
        self.graph.node.extend(nodes)

    def renamable(self, tensor: str) -> bool:
        """Is it written by a node, and neither an output nor read in the body of a loop?"""
        ends = {value.name for value in (*self.graph.input, *self.graph.output)}
        inner = {
            name
            for node in self.graph.node
            for attribute in node.attribute
            for graph in (attribute.g, *attribute.graphs)
            for name in names_in(graph)
        }
        written = any(tensor in node.output for node in self.graph.node)
        return written and tensor not in ends and tensor not in inner

    def rename(self, tensor: str) -> str:
        """Gives it another name, everywhere; returns that."""
        name = self.names.fresh(tensor.removesuffix(":0") + "_wide")
        added = [node for nodes in self.before.values() for node in nodes]
        for node in [*self.graph.node, *added]:
            for names in (node.input, node.output):
                for slot, found in enumerate(names):
                    if found == tensor:
                        names[slot] = name
        return name

    def constant(self, name: str) -> Array | None:
        tensor = self.initializers.get(name)
        return None if tensor is None else numpy_helper.to_array(tensor)

    def readers(self, tensor: str) -> list[tuple[int, int]]:
        return [
            (number, slot)
            for number, node in enumerate(self.graph.node)
            for slot, name in enumerate(node.input)
            if name == tensor
        ]


def moved(node: onnx.NodeProto, slot: int, arrays: list[Array], writer: Writer) -> list[Array]:
    """What an operator that only moves values makes of arrays; empty: it is another one."""
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    second = writer.constant(node.input[1]) if len(node.input) > 1 else None
    if slot != 0 or (len(node.input) > 1 and second is None):
        return []
    if node.op_type == "Identity":
        return arrays
    if node.op_type == "Transpose":
        return [np.transpose(array, attributes.get("perm")) for array in arrays]
    if node.op_type == "Reshape" and second is not None:
        shape = [
            arrays[0].shape[i] if d == 0 and not attributes.get("allowzero") else int(d)
            for i, d in enumerate(second)
        ]
        return [array.reshape(shape) for array in arrays]
    if node.op_type == "Squeeze":
        axes = None if second is None else tuple(int(a) for a in second)
        return [np.squeeze(array, axes) for array in arrays]
    if node.op_type == "Unsqueeze" and second is not None:
        return [np.expand_dims(array, tuple(int(a) for a in second)) for array in arrays]
    return []


def channels_along(index: Array) -> tuple[int | None, Array] | None:
    """The axis along which `index` varies and its values there; None if it varies along several."""
    varying = [
        axis
        for axis in range(index.ndim)
        if index.shape[axis] > 1 and (index != index.take([0], axis)).any()
    ]
    if len(varying) > 1:
        return None
    if not varying:
        return None, index.reshape(-1)[:1]
    axis = varying[0]
    first = tuple(slice(None) if i == axis else 0 for i in range(index.ndim))
    return axis, index[first]


class WeightWriter:
    """One weight: integers and a DequantizeLinear wherever an operator computes with it."""

    def __init__(self, writer: Writer, weight: Weight, diagnostics: list[Diagnostic]) -> None:
        self.writer, self.weight, self.diagnostics = writer, weight, diagnostics
        grid = weight.grid
        middle = 2 ** (grid.bits - 1)
        self.signed = bool((grid.zero_point == middle).all())
        self.offset = middle if self.signed else 0

    def write(self) -> None:
        codes = self.weight.codes - self.offset
        channels = np.arange(max(self.weight.grid.scale.size, 1))
        self.follow(self.weight.tensor, codes, np.broadcast_to(channels, codes.shape))

    def follow(self, tensor: str, codes: Array, index: Array) -> None:
        """Through the operators that only move values."""
        computing: list[tuple[int, int]] = []
        for number, slot in self.writer.readers(tensor):
            node = self.writer.graph.node[number]
            result = moved(node, slot, [codes, index], self.writer)
            if not result:
                computing.append((number, slot))
                continue
            self.writer.removed.add(number)
            self.follow(node.output[0], result[0], result[1])
        output = any(value.name == tensor for value in self.writer.graph.output)
        if computing or output:
            self.place(tensor, codes, index, computing, output)

    def place(
        self, tensor: str, codes: Array, index: Array, readers: list[tuple[int, int]], output: bool
    ) -> None:
        writer, grid = self.writer, self.weight.grid
        found = channels_along(index)
        base = writer.names.fresh(self.weight.name)
        first = min((number for number, _ in readers), default=len(writer.graph.node))
        name = tensor if output else writer.names.fresh(base + "_dequantized")
        if found is None:
            scale, zero = grid.scale[index], (grid.zero_point - self.offset)[index]
            values = ((codes - zero) * scale.astype(np.float64)).astype(np.float32)
            name = writer.add(base, values, FLOAT)
            self.diagnostics.append(
                Diagnostic(
                    "warning",
                    "tensorflow/channels-mixed",
                    base,
                    f'the channels of FakeQuant "{grid.node}" lie along several axes of the weight '
                    "as ONNX reads it; it keeps its rounded values, without an encoding",
                )
            )
        else:
            self.dequantize(codes, found, base, name, first)
        for number, slot in readers:
            writer.graph.node[number].input[slot] = name

    def dequantize(
        self, codes: Array, found: tuple[int | None, Array], base: str, name: str, place: int
    ) -> None:
        writer, grid = self.writer, self.weight.grid
        kind, dtype = storage(grid.bits, self.signed)
        axis, channels = found
        scale = grid.scale.reshape(-1)[channels]
        zero = (grid.zero_point.reshape(-1) - self.offset)[channels]
        if axis is None:
            scale, zero = scale.reshape(()), zero.reshape(())
        inputs = [
            writer.add(base + "_quantized", codes, kind),
            writer.add(base + "_scale", scale, FLOAT),
            writer.add(base + "_zero_point", zero, kind),
        ]
        node = writer.node("DequantizeLinear", inputs, name, kind, axis, dtype)
        writer.before.setdefault(place, []).append(node)


class ActivationWriter:
    """One FakeQuant of an activation: a pair, and a Clip where codes of its type are left out."""

    def __init__(self, writer: Writer, number: int, grid: Grid) -> None:
        self.writer, self.number, self.grid = writer, number, grid
        self.node = writer.graph.node[number]
        self.kind, self.dtype = storage(grid.bits, signed=False)
        if grid.bits < 4:  # ONNX Runtime refuses a Clip in front of 4-bit codes
            self.kind = TensorProto.UINT8
        self.nodes: list[onnx.NodeProto] = []
        self.tensor_rank = 0  # known per channel

    def write(self) -> None:
        output = self.node.output[0]
        source, axis = self.place(output)
        base = output.removesuffix(":0")
        source = self.clipped(source, base, axis)
        parameters = [
            self.writer.add(base + "_scale", self.grid.scale, FLOAT),
            self.writer.add(base + "_zero_point", self.grid.zero_point, self.kind),
        ]
        codes = self.writer.names.fresh(base + "_quantized")
        if self.kind in (TensorProto.UINT16, TensorProto.UINT4):  # no inference for their domain
            info = helper.make_tensor_value_info(codes, self.kind, None)
            self.writer.graph.value_info.append(info)
        for op, tensor, result in (
            ("QuantizeLinear", source, codes),
            ("DequantizeLinear", codes, output),
        ):
            self.nodes.append(
                self.writer.node(op, [tensor, *parameters], result, self.kind, axis, self.dtype)
            )
        self.writer.removed.add(self.number)
        self.writer.before.setdefault(self.number, []).extend(self.nodes)

    def place(self, output: str) -> tuple[str, int | None]:
        """The tensor that is quantized, and the axis of its channels."""
        if not self.grid.per_channel:
            return self.node.input[0], None
        for tensor in self.node.input:
            constant = self.writer.constant(tensor)
            if constant is not None:
                source = next(name for name in self.node.input if name != tensor)
                shape = constant.shape
                self.tensor_rank = self.rank(source, output)
                return source, int(np.argmax(shape)) + self.tensor_rank - len(shape)
        raise AssertionError("a marker has a constant")

    def rank(self, *tensors: str) -> int:
        infos = (*self.writer.graph.value_info, *self.writer.graph.input, *self.writer.graph.output)
        for info in infos:
            if info.name in tensors and info.type.tensor_type.HasField("shape"):
                return len(info.type.tensor_type.shape.dim)
        raise FrontendError(
            "unsupported",
            f'FakeQuant "{self.grid.node}": the rank of its tensor is not known, so neither is the '
            "axis of its channels; give the model's inputs a shape",
        )

    def clipped(self, source: str, base: str, axis: int | None) -> str:
        """Bounds that the type of the codes does not have."""
        grid = self.grid
        low = ((grid.quant_min - grid.zero_point) * grid.scale).astype(np.float32)
        lowest = (-grid.zero_point * grid.scale).astype(np.float32)
        high = ((grid.quant_max - grid.zero_point) * grid.scale).astype(np.float32)
        if grid.narrow and not self.bounded_below(source, float(low.min())):
            source = self.left_out(source, base, low, axis)
        if grid.bits in (4, 8, 16):  # the type ends where the codes do
            return source
        # Of uint3 or uint6 the bounds are part of the type; others stay operators of the model.
        saturate = bool(self.dtype) and axis is None
        self.dtype = self.dtype if saturate else ""
        if axis is None:
            name = self.writer.names.fresh(base + "_clipped")
            marks = {"halfstep.op": "Saturate"} if saturate else {}
            self.add("Clip", [source, *self.bounds(name, lowest, high)], name, marks)
            return name
        for op, bound in (("Max", lowest), ("Min", high)):
            name = self.writer.names.fresh(f"{base}_{op.lower()}")
            self.add(op, [source, *self.bounds(name, self.along(bound, axis))], name, {})
            source = name
        return source

    def left_out(self, source: str, base: str, low: Array, axis: int | None) -> str:
        """narrow_range leaves out one code. Targets do without it: the node is marked."""
        writer = self.writer
        before = writer.rename(source) if writer.renamable(source) else ""
        name = source if before else writer.names.fresh(base + "_narrow")
        marks = {"halfstep.arithmetic": "result" if before else "operand"}
        bound = low if axis is None else self.along(low, axis)
        op = "Clip" if axis is None else "Max"
        self.add(op, [before or source, *self.bounds(name, bound)], name, marks)
        return name

    def bounds(self, name: str, *values: Array) -> list[str]:
        return [self.writer.add(name + "_bound", value, FLOAT) for value in values]

    def along(self, bound: Array, axis: int) -> Array:
        """One bound per channel, with axes of extent 1 behind it."""
        return bound.reshape([-1] + [1] * (self.tensor_rank - 1 - axis))

    def add(self, op: str, inputs: list[str], name: str, marks: dict[str, str]) -> None:
        node = helper.make_node(op, inputs, [name], self.writer.names.fresh(f"{name}_{op}"))
        for key, value in marks.items():
            mark(node, key, value)
        self.nodes.append(node)

    def bounded_below(self, source: str, low: float) -> bool:
        """Is what is quantized never below `low` anyway?"""
        producer = next((n for n in self.writer.graph.node if source in n.output), None)
        if producer is None:
            return False
        if producer.op_type == "Clip" and len(producer.input) > 1:
            bound = self.writer.constant(producer.input[1])
            return bound is not None and float(bound) >= low
        return low <= 0 and producer.op_type in NOT_NEGATIVE


def grid_number(node: onnx.NodeProto, writer: Writer, markers: Markers) -> int | None:
    if node.op_type not in ("Clip", "Max"):
        return None
    for tensor in node.input:
        values = writer.constant(tensor)
        if values is not None and values.size > 0 and values.dtype == np.float32:
            return markers.number_of(float(values.reshape(-1)[0]))
    return None


def drop_unread(graph: onnx.GraphProto) -> None:
    read = {name for node in graph.node for name in node.input}
    read |= {value.name for value in graph.output}
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                read |= names_in(inner)
    kept = [tensor for tensor in graph.initializer if tensor.name in read]
    del graph.initializer[:]
    graph.initializer.extend(kept)


def names_in(graph: onnx.GraphProto) -> set[str]:
    names = {value.name for value in graph.output}
    for node in graph.node:
        names |= set(node.input)
        for attribute in node.attribute:
            for inner in [attribute.g, *attribute.graphs]:
                names |= names_in(inner)
    return names


def name_free_extents(graph: onnx.GraphProto) -> None:
    """Open extents of inputs get names that say something; those of outputs follow from them."""
    for value in graph.input:
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if not dim.HasField("dim_value"):
                alone = len(graph.input) == 1 and axis == 0
                dim.dim_param = "batch" if alone else f"{value.name.removesuffix(':0')}_{axis}"
    for value in graph.output:
        for dim in value.type.tensor_type.shape.dim:
            if dim.HasField("dim_param"):
                dim.Clear()
    del graph.value_info[:]


def finish(
    model: onnx.ModelProto, source: SourceGraph, markers: Markers, diagnostics: list[Diagnostic]
) -> onnx.ModelProto:
    graph = model.graph
    inputs = [value for value in graph.input if value.name not in weight_tensors(markers)]
    weights = [value for value in graph.input if value.name in weight_tensors(markers)]
    del graph.input[:]
    graph.input.extend(inputs)
    name_free_extents(graph)
    graph.input.extend(weights)
    model = onnx.shape_inference.infer_shapes(model)
    graph = model.graph
    del graph.input[len(inputs) :]
    writer = Writer(model)
    for weight in markers.weights.values():
        WeightWriter(writer, weight, diagnostics).write()
    for number, node in enumerate(graph.node):
        grid = grid_number(node, writer, markers)
        if grid is not None:
            ActivationWriter(writer, number, markers.grids[grid]).write()
    writer.apply()
    drop_unread(graph)
    tidy_header(model)
    return model


def weight_tensors(markers: Markers) -> set[str]:
    return {weight.tensor for weight in markers.weights.values()}


def tidy_header(model: onnx.ModelProto) -> None:
    used = {node.domain for node in model.graph.node}
    kept = [opset for opset in model.opset_import if opset.domain in used or not opset.domain]
    if CONTRIB in used and all(opset.domain != CONTRIB for opset in kept):
        kept.append(helper.make_opsetid(CONTRIB, 1))
    del model.opset_import[:]
    model.opset_import.extend(kept)
    model.ir_version = max(model.ir_version, IR_VERSION)
    model.doc_string = ""
    produced = {name for node in model.graph.node for name in node.output}
    infos = [info for info in model.graph.value_info if info.name in produced]
    del model.graph.value_info[:]
    model.graph.value_info.extend(infos)
