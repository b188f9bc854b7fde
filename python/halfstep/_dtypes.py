"""Number formats by name, whoever defines them."""

from typing import Any

import numpy as np

from halfstep import _core

DtypeLike = Any
"""A name ("int4"), or a dtype object of NumPy, ml_dtypes or torch."""


def dtype_name(dtype: DtypeLike) -> str:
    """The canonical name of a dtype.

    Edge:   aliases are known: float4_e2m1fn (float4_e2m1fn_x2), float8_e4m3 (float8_e4m3fn),
            float8_e8m0 (float8_e8m0fnu); names are case sensitive.
    Errors: InvalidArgument with the closest name.
    """
    return _core.canonical_dtype(plain_name(dtype))


def plain_name(dtype: DtypeLike) -> str:
    """The name that the maker of `dtype` gives it, without that of a package."""
    if isinstance(dtype, str):
        return dtype
    if isinstance(dtype, np.dtype) or (isinstance(dtype, type) and issubclass(dtype, np.generic)):
        return str(np.dtype(dtype).name)
    if isinstance(dtype, type):  # ml_dtypes.bfloat16 is a class
        return dtype.__name__
    return str(dtype).removeprefix("torch.")
