"""Which values share a scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

from halfstep import _core


class QuantizationGranularity:
    """Base of the granularities; a dict such as {"type": "per_channel", "axis": 0} means the same.

    Shapes: parameters have the rank of the tensor, one value for each unit.
    """

    type: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """The dict form, with a key "type"."""
        raise NotImplementedError

    @staticmethod
    def from_dict(
        value: "Mapping[str, Any] | QuantizationGranularity",
    ) -> "QuantizationGranularity":
        """The granularity of a dict.

        Errors: InvalidArgument listing everything that is wrong: type, unknown keys, values.
        """
        plain = value.to_dict() if isinstance(value, QuantizationGranularity) else value
        checked = dict(_core.check_granularity(plain))
        return _TYPES[checked.pop("type")](**checked)


class _Fields(QuantizationGranularity):
    """Checks after construction and turns into a dict, for the dataclasses below."""

    def __post_init__(self) -> None:
        checked = _core.check_granularity(self.to_dict())
        for field in fields(self):  # type: ignore[arg-type]
            value = checked[field.name]
            object.__setattr__(self, field.name, tuple(value) if isinstance(value, list) else value)

    def to_dict(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {"type": self.type} | values


@dataclass(frozen=True)
class PerTensorGranularity(_Fields):
    """One scale for the whole tensor."""

    type: ClassVar[str] = "per_tensor"


@dataclass(frozen=True)
class PerChannelGranularity(_Fields):
    """One scale for each slice along `axis`.

    A negative axis counts from the end; None leaves the choice to the operator that uses the
    tensor.
    """

    axis: int | None = None
    type: ClassVar[str] = "per_channel"


@dataclass(frozen=True)
class PerBlockGranularity(_Fields):
    """One scale for each block of values.

    Shapes: with an axis, blocks of `block_size` (an integer or a tuple of one) along it; weights:
            axes 0 and 1 other than the block axis are split into single values, later ones stay
            whole; activations: all other axes are split. Without an axis, a tuple with one size for
            each axis, -1 for the whole axis.
    Errors: InvalidArgument for a size that is neither positive nor -1; at use: an axis or a rank
            that the tensor does not have, an extent that its block does not divide.
    """

    axis: int | None = None
    block_size: int | Sequence[int] = ()
    type: ClassVar[str] = "per_block"


@dataclass(frozen=True)
class LpbqGranularity(_Fields):
    """Low-power blockwise: an integer scale for each block on a float scale for each channel.

    Formula: scale = block_scale * channel_scale, block_scale in 1..2^(decompressed_bits - bits)
    Source:  QAIRT quantization specification, appendix A
    """

    axis: int | None = None
    block_size: int = 0
    channel_axis: int | None = None
    decompressed_bits: int = 8
    type: ClassVar[str] = "lpbq"


_TYPES: dict[str, type[_Fields]] = {
    kind.type: kind
    for kind in (PerTensorGranularity, PerChannelGranularity, PerBlockGranularity, LpbqGranularity)
}
