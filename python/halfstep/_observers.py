"""Observers with the names, arguments and numbers of torch.ao.quantization.observer."""

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np

from halfstep import _core
from halfstep._arrays import Array, is_torch_tensor, like
from halfstep._dtypes import DtypeLike, plain_name

_EPS = 2.0**-23


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

    Formula: with min0 = min(min_val, 0), max0 = max(max_val, 0)
             affine     scale = max((max0 - min0) / (quant_max - quant_min), eps)
                        zero_point = clamp(quant_min - round(min0 / scale), quant_min, quant_max)
             symmetric  scale = max(max(-min0, max0) / ((quant_max - quant_min) / 2), eps)
                        zero_point = 0; quint8, uint8: 128, or the middle of a range that was given;
                        uint16: 32768
    Units:   scale in units of x per step, zero_point in steps
    Edge:    before the first batch scale is 1 and zero_point 0; an empty tensor is passed over; a
             NaN sticks (policy "reference") or is left out and counted ("safe")
    Source:  torch.ao.quantization.observer of torch 2.13. Where its page differs from its code the
             code counts: zero joins the range; equal minimum and maximum are no special case; a
             zero point is 0 but for quint8, uint8 and uint16; quint4x2 has the range [0, 15]

    Takes NumPy arrays and torch tensors and answers in the same kind. dtype and qscheme are torch
    objects or strings of the same name. quant_min and quant_max are given both or not at all.
    factory_kwargs (a device and a dtype for torch's buffers) are accepted and have no effect:
    everything is on the CPU, statistics are float32.
    """

    def __init__(self, arguments: dict[str, Any]) -> None:
        given = {key: value for key, value in arguments.items() if value is not None}
        given.pop("factory_kwargs", None)
        for key in ("dtype", "qscheme"):
            if key in given:
                given[key] = plain_name(given[key])
        given["eps"] = float(given["eps"])
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
        return self._native.quant_min

    @property
    def quant_max(self) -> int:
        return self._native.quant_max

    @property
    def dtype(self) -> str:
        return self._native.dtype

    @property
    def qscheme(self) -> str:
        return self._native.qscheme

    @property
    def reduce_range(self) -> bool:
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


class MinMaxObserver(ObserverBase):
    __doc__ = "Running minimum and maximum of whole tensors.\n\n" + str(ObserverBase.__doc__)

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


class MovingAverageMinMaxObserver(ObserverBase):
    __doc__ = (
        "Moving average of the minimum and maximum of whole tensors.\n\n"
        "    Formula: min_val = min_val + averaging_constant * (batch minimum - min_val),\n"
        "             likewise max_val; the first batch is copied\n\n    "
    ) + str(ObserverBase.__doc__)

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


class PerChannelMinMaxObserver(ObserverBase):
    __doc__ = "Running minimum and maximum of each slice along ch_axis.\n\n    " + str(
        ObserverBase.__doc__
    )

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


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    __doc__ = (
        "Moving average of the minimum and maximum of each slice along ch_axis.\n\n    "
        + str(ObserverBase.__doc__)
    )

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


class HistogramObserver(ObserverBase):
    __doc__ = (
        "Keeps a histogram and chooses the range with the smallest estimated squared error.\n\n"
        "    Edge:    infinities are left out and counted.\n"
        '    Errors:  InvalidArgument for a NaN under the policy "reference".\n\n    '
    ) + str(ObserverBase.__doc__)

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


def _arguments(names: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in names.items() if k not in ("self", "__class__")}
