"""QuantizationSpec: what is wanted for a tensor."""

import copy
import inspect
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, ClassVar, Self

from halfstep import _core
from halfstep._dtypes import DtypeLike, dtype_name, plain_name
from halfstep._errors import InvalidArgument
from halfstep._granularity import PerTensorGranularity, QuantizationGranularity
from halfstep._registry import FakeQuantizeImplBase, QParamsCalculatorBase, RangeCalculatorBase


class QuantizationScheme(StrEnum):
    """How a range is laid on the codes."""

    SYMMETRIC = "symmetric"
    SYMMETRIC_WITH_CLIPPING = "symmetric_with_clipping"
    ASYMMETRIC = "asymmetric"
    SYMMETRIC_AIMET = "symmetric_aimet"


class QuantizationFormulation(StrEnum):
    """How codes become values: through a zero point, or from the smallest value on."""

    ZP = "zp"
    MINVAL = "minval"


class CompressionSpec:
    """Base of the specs: immutable values with named fields that compare by value.

    A subclass may add fields as annotations, with or without a default; they are given by keyword,
    hold what JSON can hold, and are handed to the constructors of the spec's components.
    """

    _extra_defaults: ClassVar[dict[str, Any]] = {}
    """Fields beyond the base ones, in order; inspect.Parameter.empty where there is no default."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        added = {}
        for name, annotation in inspect.get_annotations(cls).items():
            if not name.startswith("_") and "ClassVar" not in str(annotation):
                added[name] = cls.__dict__.get(name, inspect.Parameter.empty)
                if name in cls.__dict__:
                    delattr(cls, name)  # the values are those of the instances
        cls._extra_defaults = cls._extra_defaults | added

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable; use replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values; from_dict() is the reverse."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The spec of the fields in a dict. Errors: InvalidArgument, also for unknown fields."""
        return cls(**fields)

    def to_json(self, *, indent: int | None = None) -> str:
        """The fields as a JSON object."""
        return json.dumps(self.to_dict(), indent=indent)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The spec of a JSON object. Errors: InvalidArgument with line and column."""
        return cls.from_dict(_core.parse_config(text, "spec.json"))

    def to_yaml(self) -> str:
        """The fields as a YAML mapping, one line each."""
        return "".join(f"{key}: {_yaml_value(value)}\n" for key, value in self.to_dict().items())

    @classmethod
    def from_yaml(cls, text: str) -> Self:
        """The spec of a YAML mapping. Errors: InvalidArgument with line and column."""
        return cls.from_dict(_core.parse_config(text, "spec.yaml"))

    def replace(self, **changes: Any) -> Self:
        """The same spec with other values in some fields."""
        return type(self)(**(self.to_dict() | changes))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((type(self), self.to_json()))

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.to_dict())

    def __repr__(self) -> str:
        values = {key: getattr(self, key) for key in self.to_dict()}
        fields = ", ".join(
            f"{key}={(value.value if isinstance(value, StrEnum) else value)!r}"
            for key, value in values.items()
        )
        return f"{type(self).__name__}({fields})"


class QuantizationSpec(CompressionSpec):
    """What is wanted for a tensor: number format, scheme, granularity, how the range is found.

    Formula: zp      q = clamp(round(x / scale) + zero_point, quant_min, quant_max)
                     x' = (q - zero_point) * scale
             minval  q = clamp(round((x - minval) / scale) + quant_min, quant_min, quant_max)
                     x' = (q - quant_min) * scale + minval
             symmetric   scale = max_abs / ((quant_max - quant_min) / 2)
             asymmetric  scale = (max - min) / (quant_max - quant_min)
             symmetric_aimet  scale = max(max / (quant_max - z), min / (quant_min - z)) with the
                         zero point z of symmetric, so that both ends of the range fit
             max_abs, min and max of a unit, zero joined; round is to nearest, ties to even
    Units:   scale in units of x per step, zero_point in steps, minval in units of x
    Errors:  InvalidArgument that lists all broken rules at once, each with field, value, rule
    Source:  coreai_opt.quantization.QuantizationSpec; eps, averaging_constant, policy, e8m0_mode
             and uneven_blocks are fields of our own, symmetric_aimet is AIMET's

    Args:
        dtype: int1 to int8, uint1 to uint8, int16, uint16, int32, uint32, float8_e4m3fn,
            float8_e5m2, float4_e2m1fn_x2, as a name or as a dtype of NumPy, ml_dtypes or torch.
        qscheme: "symmetric"; integers also "symmetric_with_clipping", "asymmetric",
            "symmetric_aimet".
        qformulation: "zp" or "minval" (integers).
        granularity: a QuantizationGranularity or its dict.
        fake_quantize_cls: "default", or a registered name or class.
        qparam_calculator_cls: "default" (static for weights, moving_average for activations),
            "static", "moving_average", "global_minmax", "dynamic", or a registered name or class.
        range_calculator_cls: "minmax", or a registered name or class.
        float_range: [min, max], None for a bound that is measured. min <= 0 <= max, min < max.
        scale_dtype: None, or "float8_e8m0fnu" for powers of two (float formats and int8).
        eps: the smallest scale; 0 for the bare formula.
        averaging_constant: weight of a new batch in "moving_average".
        policy: "reference" gives the bits of coreai_opt; "safe" leaves NaN and infinity out of
            statistics, counts them, and keeps ranges from overflowing.
        e8m0_mode: "floor", "ceil", "fit" or "even": how a scale becomes a power of two.
        uneven_blocks: what happens to a tensor that blocks do not divide: "error"; "skip", it is
            left as it is; "pad", its last block is shorter. None: "skip" under the policy
            "reference", "error" under "safe".

    Classes are given by name or as the class, and read back as the name.
    """

    def __init__(
        self,
        *,
        dtype: DtypeLike = "int8",
        qscheme: str = QuantizationScheme.SYMMETRIC,
        qformulation: str = QuantizationFormulation.ZP,
        granularity: QuantizationGranularity | Mapping[str, Any] = PerTensorGranularity(),  # noqa: B008
        fake_quantize_cls: str | type[FakeQuantizeImplBase] = "default",
        qparam_calculator_cls: str | type[QParamsCalculatorBase] = "default",
        range_calculator_cls: str | type[RangeCalculatorBase] = "minmax",
        float_range: Sequence[float | None] = (None, None),
        scale_dtype: DtypeLike | None = None,
        eps: float = 2.0**-23,
        averaging_constant: float = 0.01,
        policy: str = "reference",
        e8m0_mode: str = "floor",
        uneven_blocks: str | None = None,
        **extra: Any,
    ) -> None:
        problems: list[str] = []
        fields = {
            "dtype": plain_name(dtype),
            "qscheme": qscheme,
            "qformulation": qformulation,
            "granularity": _plain_granularity(granularity),
            "fake_quantize_cls": FakeQuantizeImplBase.field_of(
                "fake_quantize_cls", fake_quantize_cls, problems
            ),
            "qparam_calculator_cls": QParamsCalculatorBase.field_of(
                "qparam_calculator_cls", qparam_calculator_cls, problems
            ),
            "range_calculator_cls": RangeCalculatorBase.field_of(
                "range_calculator_cls", range_calculator_cls, problems
            ),
            "float_range": float_range,
            "scale_dtype": None if scale_dtype is None else plain_name(scale_dtype),
            "eps": eps,
            "averaging_constant": averaging_constant,
            "policy": policy,
            "e8m0_mode": e8m0_mode,
            "uneven_blocks": uneven_blocks,
        }
        native = self._checked(fields | self._with_defaults(extra, problems), problems)
        object.__setattr__(self, "_native", native)
        object.__setattr__(self, "_fields", native.to_dict())

    @classmethod
    def _checked(cls, fields: dict[str, Any], problems: list[str]) -> _core.Spec:
        """The native spec. Errors: InvalidArgument with its problems and those found before."""
        title = "quantization spec:"
        try:
            native = _core.Spec(fields, list(cls._extra_defaults))
            if not problems:
                return native
        except InvalidArgument as error:
            problems = [*str(error).removeprefix(title).strip().split("\n  "), *problems]
        raise InvalidArgument(
            "\n  ".join([title, *problems]) if problems[1:] else f"{title} {problems[0]}"
        )

    @classmethod
    def _with_defaults(cls, extra: dict[str, Any], problems: list[str]) -> dict[str, Any]:
        values = dict(extra)
        for name, default in cls._extra_defaults.items():
            if name not in values:
                if default is inspect.Parameter.empty:
                    problems.append(f"{name}: is missing; {cls.__name__} has no default for it")
                    continue
                values[name] = default
        return values

    @property
    def dtype(self) -> str:
        """Canonical name of the number format."""
        return str(self._fields["dtype"])

    @property
    def qscheme(self) -> QuantizationScheme:
        """How a range is laid on the codes."""
        return QuantizationScheme(self._fields["qscheme"])

    @property
    def qformulation(self) -> QuantizationFormulation:
        """Whether a zero point or the smallest value anchors the grid."""
        return QuantizationFormulation(self._fields["qformulation"])

    @property
    def granularity(self) -> QuantizationGranularity:
        """Which values share a scale."""
        return QuantizationGranularity.from_dict(self._fields["granularity"])

    @property
    def float_range(self) -> list[float | None]:
        """The fixed bounds [min, max]; None where the bound is measured."""
        return list(self._fields["float_range"])

    @property
    def n_bits(self) -> int:
        """Bits of a code."""
        return self.get_n_bits_from_dtype(self.dtype)

    @property
    def target_dtype(self) -> str:
        """What a stored tensor holds, see get_target_dtype."""
        return self.get_target_dtype(self.dtype)

    @property
    def quant_min(self) -> int | float:
        """Smallest code (of float formats: value)."""
        return self.get_quant_range(self.dtype, self.qscheme)[0]

    @property
    def quant_max(self) -> int | float:
        """Largest code (of float formats: value)."""
        return self.get_quant_range(self.dtype, self.qscheme)[1]

    def __getattr__(self, name: str) -> Any:
        # The fields without a property above, which need no conversion.
        fields = self.__dict__.get("_fields", {})
        if name in fields:
            return fields[name]
        raise AttributeError(f"{type(self).__name__} has no field {name!r}")

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values: strings, numbers, lists, dicts, None."""
        return copy.deepcopy(self._fields)

    def get_extra_args(self) -> dict[str, Any]:
        """The fields that a subclass added, by name. They are passed to the components.

        Source: coreai_opt QuantizationSpec.get_extra_args
        """
        return {name: self._fields[name] for name in self._extra_defaults}

    def check_export(self, backend: str, role: str) -> None:
        """Returns if `backend` ("coreml", "coreai", "onnx", "qnn") can express this spec.

        Errors: Unsupported, listing every reason with field, value, rule.
        """
        self._native.check_export(backend, role)

    @classmethod
    def get_n_bits_from_dtype(cls, dtype: DtypeLike) -> int:
        """Bits of a value of this number format; float4_e2m1fn_x2 has 4.

        Errors: Unsupported (a RuntimeError) for bool; InvalidArgument for an unknown name.
        Source: coreai_opt QuantizationSpec.get_n_bits_from_dtype
        """
        return _core.get_n_bits_from_dtype(plain_name(dtype))

    @classmethod
    def get_quant_range(cls, dtype: DtypeLike, qscheme: str) -> tuple[int | float, int | float]:
        """The smallest and the largest code under a scheme; floats for float formats.

        Formula: intN   [-2^(N-1), 2^(N-1) - 1], with clipping [-(2^(N-1) - 1), 2^(N-1) - 1]
                 uintN  [0, 2^N - 1]
        Errors:  InvalidArgument for an unknown name.
        Source:  coreai_opt QuantizationSpec.get_quant_range
        """
        low, high = _core.get_quant_range(plain_name(dtype), qscheme)
        name = dtype_name(dtype)
        if name.startswith("uint"):
            return 0, 2 ** cls.get_n_bits_from_dtype(name) - 1
        return (int(low), int(high)) if name.startswith("int") else (low, high)

    @classmethod
    def get_target_dtype(cls, dtype: DtypeLike) -> str:
        """The type of one element of a stored tensor.

        Formula: integers of up to 8 bits -> int8 or uint8; float4_e2m1fn_x2 -> float8_e4m3fn, which
                 holds all its values; others unchanged
        Errors:  Unsupported (a RuntimeError) for bool; InvalidArgument for an unknown name.
        Source:  coreai_opt QuantizationSpec.get_target_dtype
        """
        return _core.get_target_dtype(plain_name(dtype))


def _rebuild(cls: type[CompressionSpec], fields: dict[str, Any]) -> CompressionSpec:
    return cls.from_dict(fields)


def _plain_granularity(granularity: Any) -> Any:
    if isinstance(granularity, QuantizationGranularity):
        return granularity.to_dict()
    return granularity


def _yaml_value(value: Any) -> str:
    """JSON is YAML, but for numbers like 1e-07, which YAML 1.1 reads as text."""
    if isinstance(value, float) and "e" in (text := repr(value)) and "." not in text:
        return text.replace("e", ".0e")
    return json.dumps(value)
