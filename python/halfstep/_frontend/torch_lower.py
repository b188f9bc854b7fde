"""From the graph that torch.onnx.export made to one with QuantizeLinear and DequantizeLinear.

Constants are folded with the names of the parameters they were made of, and constants that are
quantized become integers: the codes that torch computes, whatever rounding it uses.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir
from onnx_ir.passes import common as passes

from halfstep._errors import InternalError, InvalidFile, Unsupported
from halfstep._frontend.torch_fold import fold, rename
from halfstep._frontend.torch_ops import DOMAIN
from halfstep._frontend.torch_patterns import FLOAT8, recognize
from halfstep._frontend.torch_program import Notes

_LAYERS = ("torch.nn.modules.conv.", "torch.nn.modules.linear.Linear")
_CONTAINERS = {
    (True, 4): (ir.DataType.INT4, ml_dtypes.int4),
    (False, 4): (ir.DataType.UINT4, ml_dtypes.uint4),
    (True, 8): (ir.DataType.INT8, np.int8),
    (False, 8): (ir.DataType.UINT8, np.uint8),
    (True, 16): (ir.DataType.INT16, np.int16),
    (False, 16): (ir.DataType.UINT16, np.uint16),
    (True, 32): (ir.DataType.INT32, np.int32),
    (False, 32): (ir.DataType.UINT32, np.uint32),
}
_FLOAT8_KINDS = {
    ir.DataType.FLOAT8E4M3FN: ml_dtypes.float8_e4m3fn,
    ir.DataType.FLOAT8E5M2: ml_dtypes.float8_e5m2,
}


def lowered(model: Any, notes: Notes) -> Any:
    """The model, changed in place. Its initializers are the source's parameters and buffers."""
    fold(model, set(model.graph.initializers))
    recognize(model.graph)
    _Lowering(model, notes).run()
    passes.RemoveUnusedNodesPass()(model)
    passes.RemoveUnusedOpsetsPass()(model)
    passes.OutputFixPass()(model)
    passes.NameFixPass()(model)
    return model


# Quantization.


@dataclass
class _Scheme:
    """Parameters in ONNX's terms: one scale, one for each index of an axis, or blocks on it."""

    scale: Any
    zero_point: Any
    quant_min: int
    quant_max: int
    wide: bool
    axis: int | None = None
    block: int = 0
    dtype: str = ""
    container: tuple[Any, Any] = field(default=(None, None))

    def expanded(self, shape: tuple[int, ...]) -> tuple[Any, Any]:
        """Scale and zero point that broadcast against a tensor of `shape`."""
        if self.axis is None:
            return self.scale, self.zero_point
        if not self.block:
            form = [1] * len(shape)
            form[self.axis] = -1
            return self.scale.reshape(form), self.zero_point.reshape(form)
        scale, point = (np.repeat(v, self.block, self.axis) for v in (self.scale, self.zero_point))
        return scale, point

    def codes(self, x: Any) -> Any:
        """As torch computes them: the product with the inverse, which is of double if `wide`."""
        scale, zero_point = self.expanded(x.shape)
        inverse = np.float32(1) / scale.astype(np.float32)
        if self.wide:
            inverse = (1.0 / scale).astype(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            rounded = np.rint(x.astype(np.float32) * inverse).astype(np.float64) + zero_point
        return np.clip(rounded, self.quant_min, self.quant_max)

    def transposed(self, order: list[int]) -> "_Scheme":
        if self.axis is None:
            return self
        moved = order.index(self.axis)
        values = (self.scale, self.zero_point)
        scale, point = (v.transpose(order) for v in values) if self.block else values
        limits = (self.quant_min, self.quant_max, self.wide)
        return _Scheme(scale, point, *limits, moved, self.block, self.dtype, self.container)


def _limits_of(dtype: str) -> tuple[int, int] | None:
    """Of int5, uint7 and the like; None for no name."""
    kind, _, bits = dtype.rpartition("int")
    if not bits:
        return None
    n = int(bits)
    return (0, 2**n - 1) if kind == "u" else (-(2 ** (n - 1)), 2 ** (n - 1) - 1)


class _Lowering:
    def __init__(self, model: Any, notes: Notes) -> None:
        self.model = model
        self.graph = model.graph
        self.notes = notes
        self.names = {value.name for value in self.graph.inputs}
        self.names |= set(self.graph.initializers)
        for node in self.graph:
            self.names |= {value.name for value in node.outputs}

    def run(self) -> None:
        for node in list(self.graph):
            if node.domain == DOMAIN and node.op_type == "Dequantize":
                self._dequantize(node)
        for node in list(self.graph):
            if node.domain == DOMAIN and node.op_type == "Quantize":
                self._quantize_alone(node)
        passes.RemoveUnusedNodesPass()(self.model)
        for node in self.graph:
            if node.domain == DOMAIN:
                raise InternalError(f"node {node.name}: {node.op_type} was not lowered")

    # Reading.

    @staticmethod
    def _constant(value: Any) -> Any:
        if value is None or value.const_value is None or value.is_graph_input():
            return None
        return value.const_value.numpy()

    def _scheme(self, node: Any, shape: tuple[Any, ...]) -> _Scheme:
        a = node.attributes
        scale = np.array(float(a["s"].as_string()), dtype=np.float64)
        point = np.array(a["z"].as_int(), dtype=np.int64)
        given = [node.inputs[i] if len(node.inputs) > i else None for i in (1, 2)]
        for i, value in enumerate(given):
            if value is None:
                continue
            constant = self._constant(value)
            if constant is None:
                raise Unsupported(
                    f"node {node.name}: its {'zero point' if i else 'scale'} {value.name} is "
                    "computed at run time; expected a constant"
                )
            if constant.size == 0:
                continue
            if i == 0:
                scale = constant.astype(np.float64)
            else:
                point = self._integers(node, constant)
        if not (np.isfinite(scale).all() and (scale > 0).all()):
            raise InvalidFile(f"node {node.name}: a scale is {scale.min()}; expected more than 0")
        limits = (a["quant_min"].as_int(), a["quant_max"].as_int())
        scheme = _Scheme(scale, point, *limits, bool(a["wide"].as_int()))
        axis, block = a["axis"].as_int(), list(a["block"].as_ints())
        self._arrange(node, scheme, axis, block, shape)
        stored = node.inputs[0].const_value
        if stored is not None and stored.dtype in FLOAT8:
            scheme.container = (stored.dtype, _FLOAT8_KINDS[stored.dtype])
        else:
            self._choose_type(node, scheme)
        return scheme

    @staticmethod
    def _integers(node: Any, values: Any) -> Any:
        whole = np.rint(values.astype(np.float64)).astype(np.int64)
        if not np.array_equal(whole, values.astype(np.float64)):
            raise Unsupported(f"node {node.name}: a zero point is no integer")
        return whole

    @staticmethod
    def _arrange(
        node: Any, scheme: _Scheme, axis: int, block: list[int], shape: tuple[Any, ...]
    ) -> None:
        size = scheme.scale.size
        if size == 1 and axis < 0:
            scheme.scale = scheme.scale.reshape(())
            scheme.zero_point = scheme.zero_point.reshape(-1)[0].reshape(())
            return
        if axis >= 0:
            if isinstance(shape[axis], int) and shape[axis] != size:
                raise InvalidFile(
                    f"node {node.name}: {size} scales for axis {axis} of extent {shape[axis]}"
                )
            scheme.axis = axis
            scheme.scale = scheme.scale.reshape(-1)
            scheme.zero_point = np.broadcast_to(scheme.zero_point.reshape(-1), (size,))
            return
        fits = len(block) == len(shape) and all(isinstance(extent, int) for extent in shape)
        if not fits or any(extent % b for extent, b in zip(shape, block, strict=True)):
            raise Unsupported(f"node {node.name}: blocks of {block} do not divide {list(shape)}")
        counts = [extent // b for extent, b in zip(shape, block, strict=True)]
        if math.prod(counts) != size:
            raise InvalidFile(f"node {node.name}: {size} scales for {math.prod(counts)} blocks")
        point = np.broadcast_to(scheme.zero_point.reshape(-1), (size,)).reshape(counts)
        scale = scheme.scale.reshape(counts)
        split = [i for i, count in enumerate(counts) if count > 1]
        if len(split) == 1 and block[split[0]] == 1:
            scheme.axis = split[0]
            scheme.scale, scheme.zero_point = scale.reshape(-1), point.reshape(-1)
            return
        wide = [i for i in split if block[i] > 1] or split
        scheme.axis = wide[-1]
        scheme.block = block[scheme.axis]
        for i, b in enumerate(block):  # ONNX has blocks along one axis
            if i != scheme.axis and b > 1:
                scale, point = np.repeat(scale, b, axis=i), np.repeat(point, b, axis=i)
        scheme.scale, scheme.zero_point = scale, point

    @staticmethod
    def _choose_type(node: Any, scheme: _Scheme) -> None:
        """The narrowest type that holds the limits and the zero points."""
        low = min(scheme.quant_min, int(scheme.zero_point.min()))
        high = max(scheme.quant_max, int(scheme.zero_point.max()))
        signed = low < 0
        bits = next(
            (
                n
                for n in range(1, 33)
                if (-(2 ** (n - 1)) <= low and high < 2 ** (n - 1) if signed else high < 2**n)
            ),
            None,
        )
        if bits is None or scheme.quant_min > scheme.quant_max:
            raise Unsupported(f"node {node.name}: no integer type has the limits {low} and {high}")
        width = next(n for n in (4, 8, 16, 32) if bits <= n)
        scheme.container = _CONTAINERS[signed, width]
        if bits not in (4, 8, 32) and not 8 < bits <= 32:
            scheme.dtype = f"{'' if signed else 'u'}int{max(bits, 2)}"

    # Writing.

    def _fresh(self, name: str) -> str:
        chosen, i = name, 1
        while chosen in self.names:
            chosen, i = f"{name}_{i}", i + 1
        self.names.add(chosen)
        return chosen

    def _initializer(self, name: str, array: Any, dtype: Any = None) -> Any:
        name = self._fresh(name)
        tensor = ir.tensor(np.ascontiguousarray(array).reshape(array.shape), dtype, name=name)
        value = ir.Value(
            name=name, type=ir.TensorType(tensor.dtype), shape=tensor.shape, const_value=tensor
        )
        self.graph.register_initializer(value)
        return value

    def _shared(self, base: str, scheme: _Scheme) -> list[Any]:
        dtype, kind = scheme.container
        scale = self._initializer(f"{base}_scale", scheme.scale.astype(np.float32))
        point = self._initializer(f"{base}_zero_point", scheme.zero_point.astype(kind), dtype)
        return [scale, point]

    def _give_way(self, node: Any, slot: int, name: str) -> None:
        """A parameter that only this node reads leaves its name to what it becomes."""
        value = node.inputs[slot] if len(node.inputs) > slot else None
        if value is not None and value.name == name and value.is_initializer():
            readers = {use.node for use in value.uses()}
            if readers <= {node, node.inputs[0].producer()}:
                self.names.discard(name)
                rename(self.graph, value, self._fresh(f"{name}_source"))

    @staticmethod
    def _attributes(scheme: _Scheme) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if scheme.axis is not None:
            found["axis"] = scheme.axis
        if scheme.block:
            found["block_size"] = scheme.block
        return found

    def _node(self, before: Any, kind: str, inputs: list[Any], name: str, scheme: _Scheme) -> Any:
        node = ir.node(kind, inputs, self._attributes(scheme), name=f"node_{name}")
        node.outputs[0].name = name
        if scheme.dtype:
            node.metadata_props["halfstep.dtype"] = scheme.dtype
        self.graph.insert_before(before, node)
        return node

    def _take_over(self, old: Any, new: Any) -> None:
        """`new` for `old`, also where it is an output of the model."""
        new.type, new.shape = old.type, old.shape
        ir.convenience.replace_all_uses_with(old, new, replace_graph_outputs=True)

    def _dequantize(self, node: Any) -> None:
        q = node.inputs[0]
        quantize = q.producer()
        behind = quantize is not None and quantize.domain == DOMAIN
        source = quantize.inputs[0] if behind else q
        shape = tuple(source.shape) if source.shape is not None else ()
        scheme = self._scheme(node, shape)
        stored = self._constant(source)
        if stored is not None:
            if not np.isfinite(stored.astype(np.float64)).all():
                raise InvalidFile(f"tensor {source.name} holds NaN or infinity")
            given = self._scheme(quantize, shape) if behind else None
            codes = given.codes(stored) if given else self._stored(node, stored, scheme)
            self._write_constant(node, source, codes, scheme)
        elif behind:
            self._write_pair(node, quantize, scheme)
        else:
            self._write_back(node, q, scheme)

    @staticmethod
    def _stored(node: Any, stored: Any, scheme: _Scheme) -> Any:
        if scheme.container[0] in FLOAT8:
            return stored
        codes = stored.astype(np.int64)
        if codes.size and (codes.min() < scheme.quant_min or codes.max() > scheme.quant_max):
            raise InvalidFile(
                f"node {node.name}: stored integers from {codes.min()} to {codes.max()} leave the "
                f"limits {scheme.quant_min} and {scheme.quant_max}"
            )
        return codes

    def _write_constant(self, node: Any, source: Any, codes: Any, scheme: _Scheme) -> None:
        last, codes, scheme = self._through_transposes(node, codes, scheme)
        readers = {use.node for use in source.uses()}
        behind = node.inputs[0].producer()
        alone = readers <= {node, behind} and not source.is_graph_output()
        base = _parameter_name(source.name, self._consumer(last), self.names)
        dtype, kind = scheme.container
        if alone and source.name in (base, f"{base}_quantized"):
            self.names.discard(source.name)
            rename(self.graph, source, self._fresh(f"{base}_source"))
        for i in (1, 2):
            self._give_way(node, i, f"{base}_{'scale' if i == 1 else 'zero_point'}")
        integers = self._initializer(f"{base}_quantized", codes.astype(kind), dtype)
        name = self._fresh(base if base not in self.names else f"{base}_dequantized")
        inputs = [integers, *self._shared(base, scheme)]
        new = self._node(node, "DequantizeLinear", inputs, name, scheme)
        self._take_over(last.outputs[0], self._in_type(node, new.outputs[0], last.outputs[0]))

    def _through_transposes(
        self, node: Any, codes: Any, scheme: _Scheme
    ) -> tuple[Any, Any, _Scheme]:
        """A constant that is only read transposed is stored so."""
        last = node
        while True:
            value = last.outputs[0]
            users = list(value.uses())
            if len(users) != 1 or value.is_graph_output():
                return last, codes, scheme
            user = users[0].node
            if user.op_type != "Transpose" or user.domain not in ("", "ai.onnx"):
                return last, codes, scheme
            order = list(user.attributes["perm"].as_ints()) if "perm" in user.attributes else None
            order = order or list(range(codes.ndim))[::-1]
            codes, scheme = codes.transpose(order), scheme.transposed(order)
            last = user

    @staticmethod
    def _consumer(node: Any) -> Any:
        users = list(node.outputs[0].uses())
        return users[0].node if users else None

    def _in_type(self, node: Any, value: Any, old: Any) -> Any:
        """Parameters are float32; a Cast takes values of another float type there and back."""
        dtype = old.dtype
        if dtype in (None, ir.DataType.FLOAT):
            return value
        cast = ir.node("Cast", [value], {"to": dtype}, name=f"node_{value.name}_cast")
        cast.outputs[0].name = self._fresh(f"{value.name}_cast")
        self.graph.insert_before(node, cast)
        value.type = ir.TensorType(ir.DataType.FLOAT)
        value.shape = old.shape
        return cast.outputs[0]

    def _write_pair(self, node: Any, quantize: Any, scheme: _Scheme) -> None:
        x, old = quantize.inputs[0], node.outputs[0]
        base = x.name
        if old.is_graph_output() and not x.is_graph_input() and not x.is_graph_output():
            old.name = self._fresh(f"{old.name}_old")
            x.name = self._fresh(f"{base}_float")
            name = base
        else:
            name = self._fresh(f"{base}_dequantized")
        if x.dtype not in (None, ir.DataType.FLOAT):
            cast = ir.node("Cast", [x], {"to": ir.DataType.FLOAT}, name=f"node_{base}_float32")
            cast.outputs[0].name = self._fresh(f"{base}_float32")
            self.graph.insert_before(node, cast)
            x = cast.outputs[0]
        x = self._saturated(node, x, base, scheme)
        shared = self._shared(base, scheme)
        codes = self._node(
            node, "QuantizeLinear", [x, *shared], self._fresh(f"{base}_quantized"), scheme
        )
        new = self._node(
            node, "DequantizeLinear", [codes.outputs[0], *shared], name, scheme
        ).outputs[0]
        self._take_over(old, self._in_type(node, new, old))

    def _saturated(self, before: Any, x: Any, base: str, scheme: _Scheme) -> Any:
        """Limits that are narrower than the integer type, as a Clip before it.

        A type that ONNX lacks (5 bits) is the two together, which halfstep reads as that type;
        other limits ([-127, 127]) are a Clip of the model.
        """
        if scheme.container[1] in (np.int32, np.uint32):
            raise Unsupported(
                f"node {before.name}: {base} is quantized to {scheme.container[0].name.lower()} at "
                "run time, which ONNX can't say"
            )
        whole: Any = ml_dtypes.iinfo(scheme.container[1])  # type: ignore[no-untyped-call]
        limits = (scheme.quant_min, scheme.quant_max)
        named = _limits_of(scheme.dtype) == limits and scheme.axis is None
        if not named:
            scheme.dtype = ""
        if limits == (whole.min, whole.max):
            return x
        ends = [(end - scheme.zero_point) * scheme.scale for end in limits]
        if scheme.axis is None:
            values = [self._initializer(f"{base}_limit", end.astype(np.float32)) for end in ends]
            return self._before(before, "Clip", [x, *values], f"{base}_saturated", named)
        form = [1] * len(x.shape)
        form[scheme.axis] = -1
        for kind, end in zip(("Max", "Min"), ends, strict=True):
            value = self._initializer(f"{base}_limit", end.astype(np.float32).reshape(form))
            x = self._before(before, kind, [x, value], f"{base}_saturated", named)
        return x

    def _before(self, node: Any, kind: str, inputs: list[Any], name: str, saturates: bool) -> Any:
        new = ir.node(kind, inputs, name=f"node_{name}")
        value = new.outputs[0]
        value.name = self._fresh(name)
        value.type, value.shape = inputs[0].type, inputs[0].shape
        if saturates:
            new.metadata_props["halfstep.op"] = "Saturate"
        self.graph.insert_before(node, new)
        return value

    def _write_back(self, node: Any, q: Any, scheme: _Scheme) -> None:
        """Integers that come from somewhere else, such as a Reshape of quantized values."""
        shared = self._shared(node.outputs[0].name, scheme)
        name = self._fresh(f"{node.outputs[0].name}_value")
        new = self._node(node, "DequantizeLinear", [q, *shared], name, scheme)
        self._take_over(node.outputs[0], new.outputs[0])

    def _quantize_alone(self, node: Any) -> None:
        """Integers that go somewhere else than to a dequantization."""
        old = node.outputs[0]
        if not list(old.uses()) and not old.is_graph_output():
            return
        x = node.inputs[0]
        scheme = self._scheme(node, tuple(x.shape) if x.shape is not None else ())
        x = self._saturated(node, x, x.name, scheme)
        name = self._fresh(f"{old.name}_codes")
        new = self._node(node, "QuantizeLinear", [x, *self._shared(name, scheme)], name, scheme)
        self._take_over(old, new.outputs[0])


def _parameter_name(name: str, reader: Any, taken: set[str]) -> str:
    """The source's name of a parameter whose integers are called `name`."""
    head, mark, tail = name.partition(".parametrizations.")
    if mark:
        return f"{head}.{tail.split('.')[0]}"
    if name.endswith("_quantized"):
        return name.removesuffix("_quantized")
    if name.startswith("_frozen_param") and reader is not None:
        return _by_reader(reader, taken) or name
    return name


def _by_reader(reader: Any, taken: set[str]) -> str:
    """`conv1.weight` where a convolution or linear layer conv1 runs the node, as torch recorded it.

    Of programs without records: where the bias beside it is `conv1.bias`. convert_pt2e drops the
    names of weights that it folds.
    """
    scopes, kinds = (
        [entry.strip(" '[]") for entry in reader.metadata_props.get(key, "").split(",")]
        for key in ("pkg.torch.onnx.name_scopes", "pkg.torch.onnx.class_hierarchy")
    )
    layer = len(kinds) > 1 and kinds[-2].startswith(_LAYERS)
    owners = scopes[-2:-1] if layer and len(scopes) == len(kinds) else []
    uses = [use.node for use in reader.outputs[0].uses()] if reader.op_type == "MatMul" else []
    values = [x for node in uses if node.op_type == "Add" for x in node.inputs]
    values += reader.inputs[2:3]
    biases: list[str] = [x.name for x in values if x is not None and x.name.endswith(".bias")]
    owners += [bias.removesuffix(".bias") for bias in biases]
    names = (f"{owner}.weight" for owner in owners if owner)
    return next((name for name in names if name not in taken), "")
