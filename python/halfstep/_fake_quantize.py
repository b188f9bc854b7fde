"""FakeQuantize: observes tensors, keeps the parameters that follow, and applies them."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from halfstep import _core
from halfstep._arrays import Array, like
from halfstep._dtypes import DtypeLike, dtype_name
from halfstep._errors import InvalidArgument
from halfstep._granularity import QuantizationGranularity
from halfstep._spec import QuantizationSpec


class FakeQuantize:
    """Observes tensors, keeps the parameters that follow, and applies them.

    `fq(x)` observes x and returns it fake-quantized: to codes and back.

    Formula: q = clamp(round(x / scale) + zero_point, quant_min, quant_max)
             x' = (q - zero_point) * scale; with minval: see QuantizationSpec
    Shapes:  parameters keep the rank of the tensor, one value for each unit; a later tensor may
             have other extents where that leaves their shape as it is
    Units:   scale in units of x per step, zero_point in steps, minval in units of x
    Edge:    with both bounds of float_range the parameters stay after the first batch. A tensor
             whose blocks do not divide is handled as the spec's uneven_blocks says: "skip" turns
             the quantizer off (`disabled`), and tensors pass through
    Errors:  InvalidArgument for an empty tensor, a type that is no float, an axis or a block that
             does not fit; Unsupported (a RuntimeError) for parameters before the first batch
    Source:  coreai_opt fake quantizers

    Args:
        spec: a QuantizationSpec, or its fields as a dict.
        role: "weight", "activation" or "lut".
        threads: the results do not depend on it.

    Takes NumPy arrays and torch tensors (float16, bfloat16, float32, float64) and returns the same
    kind. Not for use by several threads at once.
    """

    def __init__(
        self,
        spec: QuantizationSpec | Mapping[str, Any],
        role: str = "activation",
        *,
        threads: int = 1,
    ) -> None:
        if not isinstance(spec, QuantizationSpec):
            spec = QuantizationSpec.from_dict(spec)
        if threads < 1:
            raise InvalidArgument(f"threads is {threads}; expected 1 or more")
        self.spec = spec
        self.role = role
        self.threads = threads
        self._native = _core.FakeQuantizer(spec._native, role)

    def forward(self, x: Any, *, out: Any = None) -> Any:
        """Observes x if the observer is on; returns it fake-quantized if that is on, else as it is.

        The result has the type of x, and lies in `out` if that is given (x itself will do).
        """
        return like(x, self._native.forward(x, out, self.threads), out)

    def __call__(self, x: Any) -> Any:
        """The same as forward()."""
        return self.forward(x)

    def forward_with_codes(self, x: Any, *, codes: Any = None, out: Any = None) -> tuple[Any, Any]:
        """Observes x if the observer is on; returns (quantize(x), fake_quantize(x)) of one pass.

        The codes lie in `codes`, a row-major array of their type, and the values in `out`, which
        may be x, if these are given.

        Errors: also Unsupported (a RuntimeError) if there are no codes: the fake quantization is
                off, or the quantizer turned itself off (`disabled`).
        """
        q, y = self._native.forward_with_codes(x, codes, out, self.threads)
        return like(x, q, codes), like(x, y, out)

    def observe(self, x: Any) -> None:
        """Observes x and returns nothing."""
        self._native.observe(x, self.threads)

    def calculate_qparams(self) -> tuple[Array, Array | None, Array | None]:
        """(scale, zero_point, minval): float32, int32, float32 arrays; None for float formats.

        Errors: Unsupported (a RuntimeError) before the first batch.
        """
        found = self._native.calculate_qparams()
        return found.scale, found.zero_point, found.minval

    @property
    def quant_offset(self) -> int | None:
        """quant_min under the minval formulation: x' = (q - quant_offset) * scale + minval."""
        return self._native.calculate_qparams().quant_offset

    def quantize(self, x: Any, *, out: Any = None) -> Any:
        """The codes of x under the parameters found so far, one element each.

        In `out`, a row-major array of their type, if it is given.

        int8 or uint8 up to 8 bits, wider integers as they are; float formats one byte, FP4 in its
        low nibble.
        """
        return like(x, self._native.quantize(x, out, self.threads), out)

    def dequantize(self, q: Any, *, dtype: DtypeLike = "float32", out: Any = None) -> Any:
        """The values of the codes q. Formula: x' = (q - zero_point) * scale"""
        return like(q, self._native.dequantize(q, dtype_name(dtype), out, self.threads), out)

    def fake_quantize(self, x: Any, *, out: Any = None) -> Any:
        """dequantize(quantize(x)) in the type of x, without observing."""
        return like(x, self._native.fake_quantize(x, out, self.threads), out)

    def mapping(self, shape: Sequence[int]) -> _core.Mapping:
        """The parameters for a tensor of this shape, for the functions of halfstep.core."""
        return self._native.mapping(list(shape))

    def range(self) -> tuple[Array, Array]:
        """The running (min, max) of each unit, zero and float_range included.

        Errors: Unsupported (a RuntimeError) before the first batch.
        """
        found = self._native.range()
        return found.min, found.max

    def enable_observer(self) -> None:
        """Parameters follow what forward() sees."""
        self._native.enable_observer()

    def disable_observer(self) -> None:
        """Freezes the parameters."""
        self._native.disable_observer()

    def enable_fake_quant(self) -> None:
        """forward() returns fake-quantized values."""
        self._native.enable_fake_quant()

    def disable_fake_quant(self) -> None:
        """Makes forward() return its input."""
        self._native.disable_fake_quant()

    @property
    def observer_enabled(self) -> bool:
        """Whether forward() observes."""
        return self._native.observer_enabled

    @property
    def fake_quant_enabled(self) -> bool:
        """Whether forward() quantizes."""
        return self._native.fake_quant_enabled

    @property
    def disabled(self) -> bool:
        """Whether blocks did not divide a tensor and uneven_blocks is "skip"."""
        return self._native.disabled

    def set_granularity(self, granularity: QuantizationGranularity | Mapping[str, Any]) -> None:
        """Errors: Unsupported (a RuntimeError) after the first batch."""
        plain = QuantizationGranularity.from_dict(granularity).to_dict()
        self._native.set_granularity(plain)
        self.spec = self.spec.replace(granularity=plain)

    def reset(self) -> None:
        """Back to the fresh state."""
        self._native.reset()

    def state_dict(self) -> dict[str, Any]:
        """Statistics, parameters and switches, as plain values; exact."""
        return self._native.state()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from state_dict() of a quantizer of the same spec; this one may be fresh.

        Errors: InvalidArgument naming what does not fit.
        """
        self._native.load_state(dict(state))

    def merge(self, other: Self) -> None:
        """Adds the statistics of a quantizer of the same spec that saw other batches.

        Errors: Unsupported where the order of batches matters (moving_average, static).
        """
        self._native.merge(other._native)

    def __repr__(self) -> str:
        return f"FakeQuantize({self.spec!r}, role={self.role!r})"
