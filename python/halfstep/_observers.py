"""Observers with the names, arguments and numbers of torch.ao.quantization.observer."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from halfstep import _core
from halfstep._arrays import Array, is_torch_tensor, like
from halfstep._dtypes import DtypeLike, plain_name

_EPS = 2.0**-23


_ARGUMENTS = {
    "ch_axis": "the axis of the channels; negative counts from the end.",
    "averaging_constant": "weight of a new batch.",
    "bins": "bins of the histogram.",
    "dtype": "quint8, qint8, qint32, quint4x2, uint8, int8, uint16, int16 or int32: a torch dtype\n"
    "        or its name.",
    "qscheme": "affine or symmetric, per tensor or per channel as the class is, and\n"
    "        per_channel_affine_float_qparams: a torch scheme or its name.",
    "reduce_range": "one bit less.",
    "quant_min": "smallest code; given with quant_max or not at all.",
    "quant_max": "largest code.",
    "factory_kwargs": "device and dtype of torch's buffers; accepted without effect: statistics\n"
    "        are float32 on the CPU.",
    "eps": "the smallest scale, a number or an array of one.",
    "is_dynamic": "accepted where torch does; has no effect on the numbers.",
    "policy": '"reference": a NaN sticks, as with torch; "safe": NaN and infinities are left\n'
    "        out and counted.",
}
_RULES = """Formula: with min0 = min(min_val, 0), max0 = max(max_val, 0)
         affine     scale = max((max0 - min0) / (quant_max - quant_min), eps)
                    zero_point = clamp(quant_min - round(min0 / scale), quant_min, quant_max)
         symmetric  scale = max(max(-min0, max0) / ((quant_max - quant_min) / 2), eps)
                    zero_point = 0; quint8, uint8: 128, or the middle of a range that was given;
                    uint16: 32768
Units:   scale in units of x per step, zero_point in steps
Edge:    before the first batch scale is 1 and zero_point 0; an empty tensor is passed over
Errors:  InvalidArgument for an argument that does not fit, a tensor that is no float, or another
         number of channels than before
Source:  torch.ao.quantization.observer of torch 2.13. Where its page differs from its code the code
         counts: zero joins the range; equal minimum and maximum are no special case; a zero point
         is 0 but for quint8, uint8 and uint16; quint4x2 has the range [0, 15]"""


def _documented(cls: "type[ObserverBase]") -> "type[ObserverBase]":
    """Adds to the docstring of an observer what all of them share, and its arguments."""
    names = [name for name in inspect.signature(cls).parameters if name in _ARGUMENTS]
    arguments = "\n".join(f"    {name}: {_ARGUMENTS[name]}" for name in names)
    title = inspect.cleandoc(cls.__doc__ or "")
    cls.__doc__ = f"{title}\n\n{_RULES}\n\nArgs:\n{arguments}\n"
    return cls


class _With:
    """A class with some arguments given, as torch's with_args makes it."""

    def __init__(self, cls: Callable[..., Any], arguments: dict[str, Any]) -> None:
        self._cls = cls
        self._arguments = arguments

    def __call__(self, **arguments: Any) -> Any:
        return self._cls(**(self._arguments | arguments))

    def with_args(self, **arguments: Any) -> "_With":
        return _With(self._cls, self._arguments | arguments)

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self._arguments.items())
        return f"{self._cls!r}.with_args({given})"


class ObserverBase:
    """Watches tensors go by and chooses quantization parameters from what it saw.

    Takes NumPy arrays and torch tensors and answers in the same kind.
    """

    def __init__(self, arguments: dict[str, Any]) -> None:
        given = {key: value for key, value in arguments.items() if value is not None}
        given.pop("factory_kwargs", None)
        for key in ("dtype", "qscheme"):
            if key in given:
                given[key] = plain_name(given[key])
        given["eps"] = _number(given["eps"])
        self._native = _core.Observer(self._class_name(), given)
        self._eps = np.array([given["eps"]], np.float32)
        self._reduce_range = bool(given["reduce_range"])
        self._kind: Any = None
        """A small torch tensor if the last input was one: answers are of the same kind."""

    @classmethod
    def _class_name(cls) -> str:
        return next(base.__name__ for base in cls.__mro__ if base.__module__ == __name__)

    @classmethod
    def with_args(cls, **arguments: Any) -> _With:
        """A maker of observers with these arguments."""
        return _With(cls, arguments)

    def forward(self, x_orig: Any) -> Any:
        """Records the minimum and maximum of x_orig and returns it as it is.

        Errors: InvalidArgument for a type that is no float, or another number of channels than
                before.
        """
        self._native.observe(x_orig)
        if is_torch_tensor(x_orig):
            self._kind = x_orig[:0] if x_orig.ndim else x_orig.detach()
        else:
            self._kind = None
        return x_orig

    def __call__(self, x_orig: Any) -> Any:
        """The same as forward()."""
        return self.forward(x_orig)

    def calculate_qparams(self) -> tuple[Any, Any]:
        """(scale, zero_point), float32 and int32, one value each for the tensor or its channels.

        With the scheme per_channel_affine_float_qparams the zero points are float32.

        Errors: InvalidArgument if a minimum exceeds a maximum.
        """
        scale, zero_point = self._native.calculate_qparams()
        if zero_point.dtype == np.int64:
            zero_point = zero_point.astype(np.int32)
        return self._answer(scale), self._answer(zero_point)

    def reset_min_max_vals(self) -> None:
        """Back to the state before the first batch."""
        self._native.reset_min_max_vals()

    @property
    def min_val(self) -> Any:
        """float32: of the tensor (+inf before the first batch), or of each channel (then empty)."""
        return self._answer(self._shaped(self._native.min_val))

    @property
    def max_val(self) -> Any:
        """float32: of the tensor (-inf before the first batch), or of each channel (then empty)."""
        return self._answer(self._shaped(self._native.max_val))

    @property
    def eps(self) -> Any:
        """The smallest scale, an array of one element as in torch."""
        return self._answer(self._eps)

    @property
    def quant_min(self) -> int:
        """Smallest code."""
        return self._native.quant_min

    @property
    def quant_max(self) -> int:
        """Largest code."""
        return self._native.quant_max

    @property
    def dtype(self) -> str:
        """The number format, by torch's name."""
        return self._native.dtype

    @property
    def qscheme(self) -> str:
        """The scheme, by torch's name."""
        return self._native.qscheme

    @property
    def reduce_range(self) -> bool:
        """Whether the range has one bit less."""
        return self._reduce_range

    @property
    def nan_count(self) -> int:
        """NaN that were left out (policy "safe")."""
        return self._native.nan_count

    @property
    def infinity_count(self) -> int:
        """Infinities that were left out (policy "safe", and the histogram)."""
        return self._native.infinity_count

    def state_dict(self) -> dict[str, Any]:
        """What was seen, as plain values; exact."""
        return self._native.state()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues from state_dict() of the same class. Errors: InvalidArgument otherwise."""
        self._native.load_state(dict(state))

    def merge(self, other: Self) -> None:
        """Adds what an observer of the same class and arguments saw.

        Errors: Unsupported for moving averages, which depend on the order of batches.
        """
        self._native.merge(other._native)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(min_val={self.min_val}, max_val={self.max_val})"

    def _answer(self, array: Array) -> Any:
        return like(self._kind, array)

    def _shaped(self, values: Array) -> Array:
        return values.reshape(())


@_documented
class MinMaxObserver(ObserverBase):
    """Running minimum and maximum of whole tensors."""

    def __init__(
        self,
        dtype: DtypeLike = "quint8",
        qscheme: Any = "per_tensor_affine",
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: Mapping[str, Any] | None = None,
        eps: Any = _EPS,
        is_dynamic: bool = False,
        *,
        policy: str = "reference",
    ) -> None:
        super().__init__(_arguments(locals()))


@_documented
class MovingAverageMinMaxObserver(ObserverBase):
    """Moving average of the minimum and maximum of whole tensors.

    Average: min_val = min_val + averaging_constant * (batch minimum - min_val), likewise max_val;
             the first batch is copied
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        dtype: DtypeLike = "quint8",
        qscheme: Any = "per_tensor_affine",
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: Any = _EPS,
        is_dynamic: bool = False,
        factory_kwargs: Mapping[str, Any] | None = None,
        *,
        policy: str = "reference",
    ) -> None:
        super().__init__(_arguments(locals()))


@_documented
class PerChannelMinMaxObserver(ObserverBase):
    """Running minimum and maximum of each slice along ch_axis.

    Shapes:  tensors of two axes or more; parameters have one value for each channel
    """

    def __init__(
        self,
        ch_axis: int = 0,
        dtype: DtypeLike = "quint8",
        qscheme: Any = "per_channel_affine",
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: Mapping[str, Any] | None = None,
        eps: Any = _EPS,
        is_dynamic: bool = False,
        *,
        policy: str = "reference",
    ) -> None:
        super().__init__(_arguments(locals()))
        self.ch_axis = ch_axis

    def _shaped(self, values: Array) -> Array:
        return values


@_documented
class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Moving average of the minimum and maximum of each slice along ch_axis.

    Average: min_val = min_val + averaging_constant * (batch minimum - min_val), likewise max_val;
             the first batch is copied
    Shapes:  tensors of two axes or more; parameters have one value for each channel
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        ch_axis: int = 0,
        dtype: DtypeLike = "quint8",
        qscheme: Any = "per_channel_affine",
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: Any = _EPS,
        is_dynamic: bool = False,
        factory_kwargs: Mapping[str, Any] | None = None,
        *,
        policy: str = "reference",
    ) -> None:
        ObserverBase.__init__(self, _arguments(locals()))
        self.ch_axis = ch_axis


@_documented
class HistogramObserver(ObserverBase):
    """Keeps a histogram and chooses the range with the smallest estimated squared error.

    Range:   starts as [min_val, max_val]; the end whose quantile costs more bins moves inwards by
             1e-5 of the mass until the estimated error rises. Infinities are left out and counted;
             a NaN is an error under the policy "reference"
    """

    def __init__(
        self,
        bins: int = 2048,
        dtype: DtypeLike = "quint8",
        qscheme: Any = "per_tensor_affine",
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: Mapping[str, Any] | None = None,
        eps: Any = _EPS,
        *,
        policy: str = "reference",
    ) -> None:
        super().__init__(_arguments(locals()))

    @property
    def histogram(self) -> Array:
        """Counts of the bins over [min_val, max_val]."""
        return self._native.histogram

    @property
    def chosen_range(self) -> tuple[float, float]:
        """(min, max) that the parameters follow from."""
        return self._native.chosen_range


def _number(eps: Any) -> Any:
    """The only value of an array or tensor, as torch has its eps; numbers are themselves."""
    return np.asarray(eps).item() if np.size(eps) == 1 else eps


def _arguments(names: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in names.items() if k not in ("self", "__class__")}
