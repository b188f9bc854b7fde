"""What counts as an array, and how arrays travel between NumPy and the library without copies.

Called by the native module too. Frameworks are never imported: their objects are recognized by what
they offer.
"""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from halfstep._errors import InvalidArgument

Array = npt.NDArray[Any]


def dtype_named(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a name; formats that NumPy lacks are those of ml_dtypes.

    Errors: ImportError if ml_dtypes is needed and not installed.
    """
    name = "float4_e2m1fn" if name == "float4_e2m1fn_x2" else name
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes
    except ImportError as error:
        message = f"NumPy has no dtype {name}; `pip install ml_dtypes` brings it"
        raise ImportError(message) from error
    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def as_array(value: Any) -> Array:
    """`value` as a NumPy array in the machine's byte order; no copy if it is one already.

    torch tensors on the CPU are shared; of one that requires a gradient the values are taken.
    """
    if isinstance(value, np.ndarray):
        array = value
    elif is_torch_tensor(value):
        array = _from_torch(value)
    else:
        array = np.asarray(value)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def as_dense(value: Any) -> Array:
    """`as_array`, row-major; a copy only if the values lie in another order."""
    return np.asarray(as_array(value), order="C")


def from_bytes(raw: Array, dtype: str, shape: tuple[int, ...]) -> Array:
    """The bytes `raw` as an array of this dtype and shape, without a copy."""
    return raw.view(dtype_named(dtype)).reshape(shape)


def is_torch_tensor(value: Any) -> bool:
    """Whether `value` is a torch tensor. It can only be one if its maker has imported torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _from_torch(tensor: Any) -> Array:
    device = str(getattr(tensor, "device", "cpu"))
    layout = str(getattr(tensor, "layout", "torch.strided"))
    if device != "cpu" or layout != "torch.strided":
        raise InvalidArgument(
            f"a torch tensor on the device {device} with the layout {layout}; expected a dense one "
            "on the cpu: use .cpu() or .to_dense() first"
        )
    tensor = tensor.detach()
    name = str(tensor.dtype).removeprefix("torch.")
    try:
        return np.asarray(tensor.numpy())
    except TypeError:  # a format that NumPy lacks: the same bits under an integer type
        torch = sys.modules["torch"]
        bits = {1: torch.uint8, 2: torch.int16}[tensor.element_size()]
        return np.asarray(tensor.view(bits).numpy()).view(dtype_named(name))


def like(value: Any, result: Array, out: Any = None) -> Any:
    """`result` as the kind of array that `value` is; `out` itself if the result lies in it."""
    if out is not None:
        return out
    if not is_torch_tensor(value):
        return result
    torch = sys.modules["torch"]
    if result.dtype.kind in "fiub":
        return torch.from_numpy(result)
    name = result.dtype.name  # a format that NumPy lacks
    return torch.from_numpy(result.view(f"i{result.itemsize}")).view(getattr(torch, name))
