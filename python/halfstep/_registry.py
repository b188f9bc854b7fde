"""The open families of a spec: how ranges are measured, kept, and how values become codes.

Each family has one registry for the process, shared with C++. A class is written as

    @RangeCalculatorBase.register("percentile")
    class Percentile(RangeCalculatorBase):
        def __init__(self, percentile: float = 99.9) -> None: ...
        def measure(self, x, grid): ...

and used by its name or as the class. Constructors get those of `spec`, `role` and the extra fields
of the spec that they have parameters for.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from halfstep import _core
from halfstep._arrays import Array
from halfstep._errors import InvalidArgument

Class = TypeVar("Class", bound="type[_Member]")


class _Member:
    """What the three families have in common: the registry and the constructor."""

    _family: ClassVar[str]
    _classes: ClassVar[dict[str, type]]

    def __init__(self, *, spec: Any, role: str = "activation", **extra: Any) -> None:
        self.spec = spec
        self.role = role
        del extra  # fields of the spec for other components

    @classmethod
    def register(cls, name: str) -> Callable[[Class], Class]:
        """A decorator that registers a subclass under `name`, for the life of the process.

        Errors: InvalidArgument if the name is taken or the class is not of this family.
        """

        def decorate(subclass: Class) -> Class:
            family = cls._base()
            if not (isinstance(subclass, type) and issubclass(subclass, family)):
                raise InvalidArgument(f"{subclass!r} is no subclass of {family.__name__}")
            _core.register_component(cls._family, name)
            cls._classes[name] = subclass
            return subclass

        return decorate

    @classmethod
    def registered(cls) -> list[str]:
        """The names of this family, those of C++ included."""
        return _core.registered_components(cls._family)

    @classmethod
    def field_of(cls, field: str, value: Any, problems: list[str]) -> Any:
        """The registered name of a class; anything else is left to the checks of the spec.

        What is wrong with a class is added to `problems`.
        """
        if not isinstance(value, type):
            return value
        try:
            return cls.name_of(value)
        except InvalidArgument as error:
            problems.append(f"{field}: {error}")
            return cls.registered()[0]

    @classmethod
    def name_of(cls, value: "str | type") -> str:
        """The registered name of a class; a name is itself.

        Errors: InvalidArgument for what is neither a name nor a registered class.
        """
        if isinstance(value, str):
            return value
        for name, known in cls._classes.items():
            if known is value:
                return name
        shown = value.__name__ if isinstance(value, type) else repr(value)
        raise InvalidArgument(
            f"{shown} is not registered; use @{cls._base().__name__}.register('name') or a name of "
            f"{', '.join(cls.registered())}"
        )

    @classmethod
    def _base(cls) -> type:
        return next(base for base in cls.__mro__ if "_classes" in base.__dict__)


class QParamsCalculatorBase(_Member):
    """Turns the range of each batch into the range that parameters are chosen from.

    To override: update, range, reset; state, load_state and merge if they are wanted. Zero and the
    float_range of the spec have not been joined into what update() gets; to honour float_range is
    up to the class.
    """

    _family = "qparams_calculator"
    _classes: ClassVar[dict[str, type]] = {}

    def update(self, batch: _core.Ranges) -> None:
        """One batch was seen; `batch.min` and `batch.max` have one value for each unit."""
        raise NotImplementedError

    def range(self) -> "_core.Ranges | tuple[Array, Array]":
        """The range so far: smallest and largest value of each unit.

        Errors: a RuntimeError before the first batch.
        """
        raise NotImplementedError

    def reset(self) -> None:
        """Back to the state before the first batch."""
        raise NotImplementedError

    def state(self) -> dict[str, Any]:
        """What was seen, as plain values, for load_state() of the same class."""
        raise NotImplementedError

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Continues from what state() returned."""
        raise NotImplementedError

    def merge(self, other: Self) -> None:
        """Adds what `other` saw of other batches, where their order does not matter."""
        raise NotImplementedError


class RangeCalculatorBase(_Member):
    """Finds the range of one batch.

    To override: measure.
    """

    _family = "range_calculator"
    _classes: ClassVar[dict[str, type]] = {}

    def measure(self, x: Array, grid: _core.UnitGrid) -> "_core.Ranges | tuple[Array, Array]":
        """Smallest and largest value of each unit of `grid`, zero not joined.

        Shapes: x has grid.shape, the results grid.counts; split(x, grid) helps.
        """
        raise NotImplementedError

    @staticmethod
    def split(x: Array, grid: _core.UnitGrid) -> Array:
        """The values of each unit in a row of their own.

        Shapes: (*grid.counts, values of a unit); a unit's values in row-major order. A shorter last
                unit is filled up with its last values.
        """
        rank = len(grid.shape)
        missing = [n * s - e for n, s, e in zip(grid.counts, grid.sizes, grid.shape, strict=True)]
        if any(missing):
            x = np.pad(x, [(0, count) for count in missing], mode="edge")
        pairs = [extent for pair in zip(grid.counts, grid.sizes, strict=True) for extent in pair]
        blocks = x.reshape(pairs).transpose([*range(0, 2 * rank, 2), *range(1, 2 * rank, 2)])
        return blocks.reshape(*grid.counts, -1) if rank else x.reshape(1)


class FakeQuantizeImplBase(_Member):
    """Turns values into codes and back.

    To override: quantize, dequantize and fake_quantize; the base class has the ordinary ones.
    """

    _family = "fake_quantize"
    _classes: ClassVar[dict[str, type]] = {}

    def quantize(self, x: Array, mapping: _core.Mapping) -> Array:
        """Codes of `x`, one element each.

        Formula: q = clamp(round(x / scale) + zero_point, quant_min, quant_max)
        """
        return np.asarray(_core.quantize_array(x, mapping))

    def dequantize(self, q: Array, mapping: _core.Mapping) -> Array:
        """Values of the codes `q`. Formula: x = (q - zero_point) * scale"""
        return np.asarray(_core.dequantize_array(q, mapping))

    def fake_quantize(self, x: Array, mapping: _core.Mapping) -> Array:
        """dequantize(quantize(x)), in the type of x."""
        return np.asarray(_core.fake_quantize_array(x, mapping))


class _NativeCalculator(QParamsCalculatorBase):
    """A calculator of the library."""

    _name: ClassVar[str]

    def __init__(self, *, spec: Any, role: str = "activation", **extra: Any) -> None:
        super().__init__(spec=spec, role=role, **extra)
        named = spec.replace(qparam_calculator_cls=self._name)
        self._native = _core.QParamsCalculator(named._native, role)

    def update(self, batch: _core.Ranges) -> None:
        self._native.update(batch)

    def range(self) -> _core.Ranges:
        return self._native.range()

    def reset(self) -> None:
        self._native.reset()

    def state(self) -> dict[str, Any]:
        return self._native.state()

    def load_state(self, state: Mapping[str, Any]) -> None:
        self._native.load_state(dict(state))

    def merge(self, other: Self) -> None:
        self._native.merge(other._native)


class StaticQParamsCalculator(_NativeCalculator):
    """The range of the latest batch alone."""

    _name = "static"


class MovingAverageQParamsCalculator(_NativeCalculator):
    """The first batch sets the range, later ones move it.

    Formula: running = c * batch + (1 - c) * running, c = averaging_constant
    """

    _name = "moving_average"


class GlobalMinMaxQParamsCalculator(_NativeCalculator):
    """The smallest and largest value of all batches."""

    _name = "global_minmax"


class DynamicQParamsCalculator(_NativeCalculator):
    """As static, for activations whose parameters are found anew at run time."""

    _name = "dynamic"


class MinMaxRangeCalculator(RangeCalculatorBase):
    """The smallest and largest value themselves."""

    def __init__(self, *, spec: Any = None, role: str = "activation", **extra: Any) -> None:
        super().__init__(spec=spec, role=role, **extra)

    def measure(self, x: Array, grid: _core.UnitGrid) -> _core.Ranges:
        """NaN and infinity: as the policy of the spec says; "reference" without a spec."""
        policy = "reference" if self.spec is None else self.spec.policy
        return _core.measure_range(x, grid, policy=policy)


QParamsCalculatorBase._classes.update(
    {
        kind._name: kind
        for kind in (
            StaticQParamsCalculator,
            MovingAverageQParamsCalculator,
            GlobalMinMaxQParamsCalculator,
            DynamicQParamsCalculator,
        )
    }
)
RangeCalculatorBase._classes["minmax"] = MinMaxRangeCalculator
FakeQuantizeImplBase._classes["default"] = FakeQuantizeImplBase

_FAMILIES: dict[str, type[_Member]] = {
    family._family: family
    for family in (QParamsCalculatorBase, RangeCalculatorBase, FakeQuantizeImplBase)
}


def make_component(family: str, name: str, fields: dict[str, Any], role: str) -> Any:
    """An object of a class that was registered in Python; called by the library.

    `fields` are those of the spec, its extra ones under "extra".
    """
    from halfstep._spec import QuantizationSpec

    extra = fields.pop("extra", {})
    given = extra | {"spec": QuantizationSpec(**fields), "role": role}
    cls = _FAMILIES[family]._classes[name]
    parameters = inspect.signature(cls).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return cls(**given)
    wanted = {parameter.name for parameter in parameters}
    return cls(**{key: value for key, value in given.items() if key in wanted})


def as_ranges(value: Any) -> _core.Ranges:
    """What a class of the user returned as a range; called by the library.

    Errors: InvalidArgument if it is neither Ranges nor a pair of arrays.
    """
    if isinstance(value, _core.Ranges):
        return value
    try:
        low, high = value
    except (TypeError, ValueError):
        message = f"a range is of type {type(value).__name__}; expected Ranges or (min, max)"
        raise InvalidArgument(message) from None
    return _core.Ranges(np.asarray(low, np.float32).ravel(), np.asarray(high, np.float32).ravel())
