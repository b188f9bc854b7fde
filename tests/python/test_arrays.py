import ml_dtypes
import numpy as np
import pytest

from halfstep import _arrays


def test_an_array_is_not_copied():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert _arrays.as_array(array) is array
    assert np.shares_memory(_arrays.as_dense(array), array)


def test_other_orders_become_row_major():
    array = np.arange(6, dtype=np.float32).reshape(2, 3).T
    dense = _arrays.as_dense(array)
    assert dense.flags.c_contiguous
    np.testing.assert_array_equal(dense, array)


def test_foreign_byte_order_is_turned():
    array = _arrays.as_array(np.array([1.5, -2.0], dtype=">f4"))
    assert array.dtype.isnative
    np.testing.assert_array_equal(array, np.float32([1.5, -2.0]))


def test_lists_become_arrays():
    np.testing.assert_array_equal(_arrays.as_array([[1, 2], [3, 4]]), np.array([[1, 2], [3, 4]]))


@pytest.mark.parametrize("name", ["float32", "bool", "int4", "bfloat16", "float8_e4m3fn"])
def test_dtypes_by_name(name):
    expected = np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)
    assert _arrays.dtype_named(name) == expected


def test_names_of_the_library():
    assert _arrays.dtype_named("float4_e2m1fn_x2") == np.dtype(ml_dtypes.float4_e2m1fn)


def test_bytes_become_an_array_without_a_copy():
    raw = np.arange(8, dtype=np.uint8)
    array = _arrays.from_bytes(raw, "int16", (2, 2))
    assert array.shape == (2, 2)
    assert array.dtype == np.int16
    assert np.shares_memory(array, raw)


def test_without_torch_nothing_is_a_torch_tensor(monkeypatch):
    monkeypatch.delitem(_arrays.sys.modules, "torch", raising=False)
    assert not _arrays.is_torch_tensor(np.zeros(2))
