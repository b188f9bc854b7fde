"""Calibration data in the forms that Python users have it in."""

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from halfstep import _arrays, _core
from halfstep._errors import InvalidArgument

Sample = Mapping[str, Any] | Any
"""Arrays by input name; for a model of one input the array alone will do."""

Calibration = str | PathLike[str] | Iterable[Sample] | Mapping[str, Any] | None
"""A path (folder or .npz), samples one by one, or whole arrays that hold all samples."""


class Slices(Sequence[dict[str, _arrays.Array]]):
    """All samples as one array per input. Nothing is copied.

    Shapes: sample i is a[i] if the array has one dimension more than the input, a[i:i+1] if equal.
    """

    def __init__(self, arrays: Mapping[str, Any], inputs: Sequence[_core.TensorInfo]) -> None:
        if not arrays:
            raise InvalidArgument("calibration: a dict of no arrays; expected one array per input")
        ranks = {info.name: len(info.shape) for info in inputs}
        self._arrays = {name: _arrays.as_array(array) for name, array in arrays.items()}
        self._keep_dims = {}
        for name, array in self._arrays.items():
            rank = ranks.get(name)
            if rank is None:
                known = ", ".join(ranks)
                raise InvalidArgument(f"calibration: no input {name!r}; the inputs are {known}")
            if array.ndim not in (rank, rank + 1) or array.ndim == 0:
                raise InvalidArgument(
                    f"calibration: input {name!r}: an array of shape {array.shape}; expected rank "
                    f"{rank + 1} (samples first) or {rank} (samples are its first axis)"
                )
            self._keep_dims[name] = array.ndim == rank
        lengths = {name: len(array) for name, array in self._arrays.items()}
        if len(set(lengths.values())) != 1:
            raise InvalidArgument(f"calibration: numbers of samples differ: {lengths}")
        self._length = next(iter(lengths.values()))

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        return {
            name: array[index : index + 1] if self._keep_dims[name] else array[index]
            for name, array in self._arrays.items()
        }


def as_samples(calibration: Calibration, inputs: Sequence[_core.TensorInfo]) -> Any:
    """What the native module takes: None, a path, or an iterable of samples."""
    if isinstance(calibration, Mapping):
        return Slices(calibration, inputs)
    if isinstance(calibration, np.ndarray) or _arrays.is_torch_tensor(calibration):
        if len(inputs) != 1:
            names = ", ".join(info.name for info in inputs)
            raise InvalidArgument(
                f"calibration: one array for {len(inputs)} inputs ({names}); expected a dict"
            )
        return Slices({inputs[0].name: calibration}, inputs)
    return calibration
