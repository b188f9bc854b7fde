"""Operators that tf2onnx lacks, written with those of ONNX."""

from typing import Any

import numpy as np
from tf2onnx import utils


def negated(ctx: Any, node: Any) -> str:
    """A tensor that holds minus what `node` writes, if the graph has one at hand; else empty."""
    if node.type == "Neg":
        return str(node.input[0])
    if node.type == "Mul":
        for slot in (0, 1):
            if node.inputs[slot].type == "Neg":
                other = node.inputs[slot].input[0]
                return str(ctx.make_node("Mul", [other, node.input[1 - slot]]).output[0])
    return ""


def erfc(ctx: Any, node: Any, name: str, args: Any) -> None:
    """Formula: erfc(x) = 1 - erf(x); of x = -t 1 + erf(t), as other exporters write Gelu."""
    dtype, shape = ctx.get_dtype(node.output[0]), ctx.get_shape(node.output[0])
    source, outputs = node.input[0], list(node.output)
    opposite = negated(ctx, node.inputs[0])
    ctx.remove_node(node.name)
    one = ctx.make_const(utils.make_name("one"), np.array(1, utils.ONNX_TO_NUMPY_DTYPE[dtype]))
    erf = ctx.make_node("Erf", [opposite or source], dtypes=[dtype], shapes=[shape]).output[0]
    operands = [erf, one.output[0]] if opposite else [one.output[0], erf]
    ctx.make_node(
        "Add" if opposite else "Sub",
        operands,
        outputs=outputs,
        name=node.name,
        dtypes=[dtype],
        shapes=[shape],
    )


HANDLERS: dict[str, tuple[Any, list[Any]]] = {"Erfc": (erfc, [])}
