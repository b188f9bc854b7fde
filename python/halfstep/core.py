"""The numbers behind the rest: functions on arrays, with the names they have in C++.

    mapping = core.fit(x, spec, role="weight")      # units and parameters that fit x
    q = core.quantize(x, mapping)                   # codes
    y = core.dequantize(q, mapping)                 # values again

Arrays are NumPy arrays or torch tensors of float16, bfloat16, float32 or float64; results are of
the same kind. Nothing is copied on the way in, whatever the strides.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Mapping as _Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from halfstep import _core
from halfstep._arrays import like
from halfstep._core import Mapping, Ranges, UnitGrid
from halfstep._dtypes import DtypeLike, dtype_name
from halfstep._granularity import QuantizationGranularity
from halfstep._spec import QuantizationSpec

__all__ = [
    "Mapping",
    "Ranges",
    "UnitGrid",
    "active_kernels",
    "choose_qparams",
    "dequantize",
    "fake_quantize",
    "fake_quantize_affine",
    "fit",
    "forced_kernels",
    "gradient_mask",
    "kernel_names",
    "make_mapping",
    "measure_range",
    "pack",
    "quantize",
    "quantize_affine",
    "quantize_and_fake_quantize",
    "unit_grid",
    "unpack",
]


def kernel_names() -> list[str]:
    """The instruction sets this machine has kernels for; their results are the same bits."""
    return _core.kernel_names()


def active_kernels() -> str:
    """The one in use: the last of kernel_names() unless another is forced."""
    return _core.active_kernels()


@contextmanager
def forced_kernels(name: str) -> Iterator[None]:
    """`with forced_kernels("avx2"):` makes the whole process use this instruction set.

    Errors: InvalidArgument if this machine cannot run it.
    """
    forced = _core.ForcedKernels(name)
    try:
        yield
    finally:
        forced.release()


def unit_grid(
    granularity: QuantizationGranularity | _Mapping[str, Any],
    shape: Sequence[int],
    role: str = "weight",
    *,
    pad: bool = False,
) -> UnitGrid:
    """How a tensor of `shape` splits into units that share parameters.

    pad lets the last block of an axis be shorter.

    Errors: InvalidArgument for an axis out of range, or a block that does not divide, naming axis,
            extent and block.
    """
    plain = QuantizationGranularity.from_dict(granularity).to_dict()
    return UnitGrid(plain, list(shape), role, pad)


def measure_range(x: Any, grid: UnitGrid, *, policy: str = "reference", threads: int = 1) -> Ranges:
    """The smallest and largest value of each unit of x. Zero is not joined.

    Edge: policy "reference": a unit with a NaN has the range NaN; "safe": NaN and infinities are
          left out and counted. An empty unit has [0, 0].
    """
    return _core.measure_range(x, grid, policy=policy, threads=threads)


def choose_qparams(
    ranges: Ranges, spec: QuantizationSpec, grid: UnitGrid, role: str = "weight"
) -> Mapping:
    """The parameters for these ranges, zero and the float_range of the spec joined first.

    Formula: symmetric   scale = max(max_abs / ((quant_max - quant_min) / 2), eps)
             asymmetric  scale = max((max - min) / (quant_max - quant_min), eps)
                         zero_point = clamp(quant_min - round(min / scale), quant_min, quant_max)
             e8m0        scale = 2^e, e from max_abs by e8m0_mode
    Source:  coreai_opt QuantizationSpec, "ZP formulation" and "MINVAL formulation"
    """
    return _core.choose_qparams(ranges, spec._native, role, grid)


def fit(x: Any, spec: QuantizationSpec, role: str = "weight", *, threads: int = 1) -> Mapping:
    """The mapping that fits x itself: unit_grid, measure_range and choose_qparams in a row.

    Errors: InvalidArgument for an axis or a block that does not fit, or a type that is no float.
    """
    return _core.fit(x, spec._native, role, threads)


def make_mapping(
    spec: QuantizationSpec,
    shape: Sequence[int],
    scale: Any,
    zero_point: Any = (),
    minval: Any = (),
    role: str = "weight",
) -> Mapping:
    """The mapping of given parameters for a tensor of `shape`: one value for each unit.

    Errors: InvalidArgument if the counts do not fit.
    """
    flat = [np.asarray(values).ravel().tolist() for values in (scale, zero_point, minval)]
    return Mapping(spec._native, role, list(shape), *flat)


def quantize(x: Any, mapping: Mapping, *, out: Any = None, threads: int = 1) -> Any:
    """The codes of x, one element each; in `out`, a row-major array of their type, if it is given.

    Formula: q = clamp(round(x / scale) + zero_point, quant_min, quant_max)
             minval: q = clamp(round((x - minval) / scale) + quant_min, quant_min, quant_max)
    Shapes:  that of x; int8 or uint8 up to 8 bits, wider integers as they are; float formats one
             byte, FP4 in its low nibble
    Edge:    ties round to even; infinities become the end codes
    """
    return like(x, _core.quantize_array(x, mapping, out, threads), out)


def dequantize(
    q: Any, mapping: Mapping, *, dtype: DtypeLike = "float32", out: Any = None, threads: int = 1
) -> Any:
    """The values of the codes q.

    Formula: x = (q - zero_point) * scale; minval: x = (q - quant_min) * scale + minval
    Errors:  InvalidArgument if q is not of the type that quantize() gives.
    """
    return like(q, _core.dequantize_array(q, mapping, dtype_name(dtype), out, threads), out)


def fake_quantize(x: Any, mapping: Mapping, *, out: Any = None, threads: int = 1) -> Any:
    """dequantize(quantize(x)) in one pass, in the type of x; `out` may be x."""
    return like(x, _core.fake_quantize_array(x, mapping, out, threads), out)


def quantize_and_fake_quantize(
    x: Any, mapping: Mapping, *, codes: Any = None, out: Any = None, threads: int = 1
) -> tuple[Any, Any]:
    """(quantize(x), fake_quantize(x)) in one pass over memory.

    The codes lie in `codes`, a row-major array of their type, and the values in `out`, which may be
    x, if these are given.
    """
    q, y = _core.quantize_and_fake_quantize_array(x, mapping, codes, out, threads)
    return like(x, q, codes), like(x, y, out)


def gradient_mask(x: Any, mapping: Mapping) -> Any:
    """Straight-through gradient of fake_quantize with respect to x, as booleans.

    Formula: true where the rounded code before clamping lies in [quant_min, quant_max]; float
             formats: where |x / scale| <= the largest value
    Edge:    false for NaN
    Source:  coreai_opt fake quantizer, backward
    """
    return like(x, _core.gradient_mask(x, mapping))


def pack(q: Any, dtype: DtypeLike) -> Any:
    """Codes below 8 bits packed into bytes, the first in the low bits, as ONNX stores them.

    Shapes: q in any shape, row-major; the result is one-dimensional uint8. Wider codes: their
            bytes.
    Errors: InvalidArgument if q is not of the type that quantize() gives.
    """
    return like(q, _core.pack(q, dtype_name(dtype)))


def unpack(packed: Any, dtype: DtypeLike, shape: Sequence[int]) -> Any:
    """The codes that pack() packed.

    Errors: InvalidArgument if `packed` does not hold as many bytes as `shape` takes.
    """
    return like(packed, _core.unpack(packed, dtype_name(dtype), list(shape)))


def fake_quantize_affine(
    x: Any,
    scale: Any,
    zero_point: Any,
    quant_min: int,
    quant_max: int,
    *,
    axis: int | None = None,
    rounding: str = "reciprocal",
    out: Any = None,
) -> Any:
    """What torch.fake_quantize_per_tensor_affine and _per_channel_affine (with an axis) give.

    Formula: y = (clamp(q, quant_min, quant_max) - zero_point) * scale, with q by `rounding`:
             division             rint(x / scale) + zero_point
             reciprocal           rint(x * (1 / scale)) + zero_point, 1 / scale in float32
             reciprocal_then_add  rint(x * (1 / scale) + zero_point)
             reciprocal_fused     rint(fma(x, 1 / scale, zero_point))
    Shapes:  scale and zero_point: one value, or one for each index of the axis
    Edge:    NaN becomes quant_min, infinities the ends
    Errors:  InvalidArgument for quant_min > quant_max, a zero point outside of them, a wrong axis
             or counts
    Source:  torch 2.13 on the CPU
    """
    scale, zero_point = _values(scale), _values(zero_point)
    done = _core.fake_quantize_affine(
        x, scale, zero_point, quant_min, quant_max, axis, rounding, out
    )
    return like(x, done, out)


def quantize_affine(
    x: Any,
    scale: Any,
    zero_point: Any,
    quant_min: int,
    quant_max: int,
    *,
    axis: int | None = None,
    rounding: str = "reciprocal_then_add",
) -> Any:
    """The codes of torch.quantize_per_channel (or, rounding "reciprocal_fused", _per_tensor).

    Returns int64. NaN becomes the zero point. Otherwise as fake_quantize_affine().
    """
    scale, zero_point = _values(scale), _values(zero_point)
    return like(
        x, _core.quantize_affine(x, scale, zero_point, quant_min, quant_max, axis, rounding)
    )


def _values(numbers: Any) -> list[Any]:
    return list(np.asarray(numbers).ravel().tolist())
