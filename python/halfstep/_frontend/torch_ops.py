"""The two operators that every quantization in torch is written as on the way to ONNX.

In a program they are torch.ops.halfstep_export.quantize and .dequantize, which no decomposition
takes apart; in ONNX, until torch_lower.py writes QuantizeLinear and DequantizeLinear, nodes of the
domain halfstep.torch.
"""

from typing import Any

import torch
from onnx.defs import OpSchema, get_schema
from onnxscript import values

DOMAIN = "halfstep.torch"
OPSET = 21  # the first with 4-bit and 16-bit integers and blocks

_PARAMETERS = (
    "Tensor? scale, Tensor? zero_point, float s, int z, int quant_min, int quant_max, int axis, "
    "int[] block, ScalarType dtype, bool wide"
)
_library = torch.library.Library("halfstep_export", "DEF")
for _name in ("quantize", "dequantize"):
    _library.define(f"{_name}(Tensor x, {_PARAMETERS}) -> Tensor")


def _empty(x: Any, *parameters: Any) -> Any:
    return torch.empty_like(x, dtype=parameters[8])


def _not_run(x: Any, *parameters: Any) -> Any:
    raise RuntimeError("halfstep_export operators are only for export")


for _name in ("quantize", "dequantize"):
    torch.library.register_fake(f"halfstep_export::{_name}", _empty, lib=_library)
    _library.impl(_name, _not_run, "CPU")

QUANTIZE = torch.ops.halfstep_export.quantize.default
DEQUANTIZE = torch.ops.halfstep_export.dequantize.default


def quantize_dequantize(
    x: Any,
    scale: Any,
    zero_point: Any,
    quant_min: int,
    quant_max: int,
    axis: int = -1,
    block: tuple[int, ...] = (),
) -> Any:
    """Fake quantization with tensors as parameters, in a module that is exported."""
    shared = (scale, zero_point, 0.0, 0, quant_min, quant_max, axis, list(block))
    codes = QUANTIZE(x, *shared, torch.int32, False)
    return DEQUANTIZE(codes, *shared, x.dtype, False)


def _onnx_operator(name: str) -> Any:
    parameter, attribute, types = OpSchema.FormalParameter, OpSchema.Attribute, OpSchema.AttrType
    optional = OpSchema.FormalParameterOption.Optional
    every = list(get_schema("Identity", OPSET).type_constraints[0].allowed_type_strs)
    every = [kind for kind in every if kind.startswith("tensor")]
    schema = OpSchema(
        name,
        DOMAIN,
        1,
        inputs=[
            parameter("x", "X"),
            parameter("scale", "S", param_option=optional),
            parameter("zero_point", "Z", param_option=optional),
        ],
        outputs=[parameter("y", "Y")],
        type_constraints=[(kind, every, "") for kind in "XSZY"],
        attributes=[
            attribute("s", types.STRING, required=False),
            *(
                attribute(number, types.INT, required=False)
                for number in ("z", "quant_min", "quant_max", "axis", "wide", "dtype")
            ),
            attribute("block", types.INTS, required=False),
        ],
    )
    return values.Op(values.Opset(DOMAIN, 1), name, schema)


def _translation(name: str) -> Any:
    operator = _onnx_operator(name)

    def translate(
        x: Any,
        scale: Any,
        zero_point: Any,
        s: float,
        z: int,
        quant_min: int,
        quant_max: int,
        axis: int,
        block: list[int],
        dtype: int,
        wide: bool,
    ) -> Any:
        return operator(
            x,
            scale,
            zero_point,
            s=repr(float(s)),
            z=z,
            quant_min=quant_min,
            quant_max=quant_max,
            axis=axis,
            block=list(block),
            dtype=int(dtype),
            wide=int(wide),
        )

    return translate


def translation_table() -> dict[Any, Any]:
    """For torch.onnx.export(custom_translation_table=...)."""
    return {QUANTIZE: _translation("Quantize"), DEQUANTIZE: _translation("Dequantize")}
