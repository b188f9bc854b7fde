"""Weights that a program dequantizes by arithmetic of its own, as operators that say so.

torchao's Int8Tensor and Float8Tensor are no operators any more in an exported program:

    y = (x @ float(q)) * scale          scale: one, or one for each column of q
    w = float(q) * scale                scale: one, or one for each index of an axis of q
"""

from typing import Any

import numpy as np
import onnx_ir as ir

from halfstep._errors import Unsupported
from halfstep._frontend.torch_ops import DOMAIN

FLOAT8 = {ir.DataType.FLOAT8E4M3FN, ir.DataType.FLOAT8E5M2}
_MOVING = {"Gather", "Reshape", "Transpose", "Slice", "Squeeze", "Unsqueeze", "Identity", "Split"}
NARROW = {ir.DataType.INT8, ir.DataType.UINT8, ir.DataType.INT4, ir.DataType.UINT4, *FLOAT8}


def turns_integers_to_floats(node: Any) -> bool:
    """A Cast of stored narrow values, which must not be folded away in silence."""
    return stored_narrow_values(node) is not None


def stored_narrow_values(node: Any) -> Any:
    """The constant of narrow values that a Cast turns into floats, or rows of it; else None."""
    if node.op_type != "Cast":
        return None
    if not ir.DataType(node.attributes["to"].as_int()).is_floating_point():
        return None
    x = node.inputs[0]
    while x is not None and x.producer() is not None and x.producer().op_type in _MOVING:
        x = x.producer().inputs[0]
    stored = x is not None and x.const_value is not None and x.const_value.dtype in NARROW
    return x if stored else None


def recognize(graph: Any) -> None:
    """Writes Dequantize (torch_ops.py) for both forms; refuses what is left."""
    for node in list(graph):
        x = stored_narrow_values(node)
        whole = x is not None and x is node.inputs[0]
        if x is not None and not (whole and (_of_weight(graph, node) or _of_product(graph, node))):
            raise Unsupported(
                f"tensor {x.name} holds {x.const_value.dtype.name.lower()} values that the program "
                "turns into floats by arithmetic of its own: a form of quantization that is not "
                "known to halfstep. Give the module itself to halfstep.from_torch"
            )


def _only_reader(value: Any) -> tuple[Any, int] | None:
    uses = list(value.uses())
    if len(uses) != 1 or value.is_graph_output():
        return None
    return uses[0].node, uses[0].idx


def _constant(value: Any) -> Any:
    return None if value is None or value.const_value is None else value.const_value.numpy()


def _of_weight(graph: Any, cast: Any) -> bool:
    reader = _only_reader(cast.outputs[0])
    if reader is None or reader[0].op_type != "Mul":
        return False
    multiply, slot = reader
    factor = multiply.inputs[1 - slot]
    scale, q = _constant(factor), cast.inputs[0]
    shape = q.const_value.numpy().shape
    if scale is None:
        return False
    axis = _axis(scale, shape)
    if axis is None:
        return False
    new = _dequantize(graph, cast, multiply, factor, axis)
    new.type, new.shape = multiply.outputs[0].type, multiply.outputs[0].shape
    ir.convenience.replace_all_uses_with(multiply.outputs[0], new, replace_graph_outputs=True)
    return True


def _of_product(graph: Any, cast: Any) -> bool:
    reader = _only_reader(cast.outputs[0])
    if reader is None or reader[0].op_type != "MatMul" or reader[1] != 1:
        return False
    product = reader[0]
    behind = _only_reader(product.outputs[0])
    if behind is None or behind[0].op_type != "Mul":
        return False
    multiply, slot = behind
    factor = multiply.inputs[1 - slot]
    scale = _constant(factor)
    columns = cast.inputs[0].const_value.numpy().shape[-1]
    if (
        scale is None
        or scale.size not in (1, columns)
        or scale.shape[-1:] not in ((), (scale.size,))
    ):
        return False
    new = _dequantize(graph, cast, cast, factor, 1 if scale.size > 1 else -1)
    new.type, new.shape = cast.outputs[0].type, cast.outputs[0].shape
    product.replace_input_with(1, new)
    ir.convenience.replace_all_uses_with(
        multiply.outputs[0], product.outputs[0], replace_graph_outputs=True
    )
    return True


def _axis(scale: Any, shape: tuple[int, ...]) -> int | None:
    """-1 for one scale, the axis for one each of its indices; None for anything else."""
    if scale.size == 1:
        return -1
    aligned = (1,) * (len(shape) - scale.ndim) + scale.shape
    split = [i for i, extent in enumerate(aligned) if extent > 1]
    fits = len(aligned) == len(shape) and len(split) == 1
    return split[0] if fits and aligned[split[0]] == shape[split[0]] else None


def _dequantize(graph: Any, cast: Any, before: Any, scale: Any, axis: int) -> Any:
    q = cast.inputs[0]
    dtype = q.const_value.dtype
    limits = (0, 0)
    if dtype not in FLOAT8:
        info = ir.DataType(dtype)
        signed = "U" not in info.name
        bits = info.bitwidth
        limits = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    attributes = {"s": "0.0", "z": 0, "quant_min": limits[0], "quant_max": limits[1]}
    attributes |= {"axis": axis, "wide": 0, "dtype": 1}
    node = ir.node(
        "Dequantize", [q, scale], attributes, domain=DOMAIN, name=f"{cast.name}_dequantize"
    )
    node.attributes.add(ir.AttrInt64s("block", np.empty(0, np.int64).tolist()))
    node.outputs[0].name = f"{cast.outputs[0].name}_dequantize"
    graph.insert_before(before, node)
    return node.outputs[0]
