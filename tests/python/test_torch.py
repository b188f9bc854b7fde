"""Tensors of torch go in and come out without a copy and without importing torch.

The tests use a stand-in that offers what is asked of it; those with torch itself are in
tests/torch.
"""

import sys
import types

import ml_dtypes
import numpy as np
import pytest

import halfstep
from halfstep import _arrays


class Dtype:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


class Tensor:
    """An array under another name, which NumPy cannot read by itself."""

    def __init__(self, array, *, requires_grad=False):
        self.array = np.asarray(array)
        self.requires_grad = requires_grad

    __array__ = None

    @property
    def dtype(self):
        return Dtype(self.array.dtype.name)

    @property
    def ndim(self):
        return self.array.ndim

    def __getitem__(self, index):
        return Tensor(self.array[index])

    def detach(self):
        return Tensor(self.array)

    def element_size(self):
        return self.array.itemsize

    def numpy(self):
        if self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        if self.array.dtype == ml_dtypes.bfloat16:
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.array

    def view(self, dtype):
        return Tensor(self.array.view(dtype))


@pytest.fixture
def torch(monkeypatch):
    module = types.ModuleType("torch")
    module.Tensor = Tensor
    module.from_numpy = Tensor
    module.uint8, module.int16, module.bfloat16 = np.uint8, np.int16, ml_dtypes.bfloat16
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)


def test_tensors_are_shared(torch, x):
    assert _arrays.as_array(Tensor(x, requires_grad=True)) is x
    half = x.astype(ml_dtypes.bfloat16)
    array = _arrays.as_array(Tensor(half))
    assert array.dtype == ml_dtypes.bfloat16
    assert np.shares_memory(array, half)


@pytest.mark.parametrize("dtype", [np.float32, ml_dtypes.bfloat16])
def test_fake_quantize_answers_in_kind(torch, x, dtype):
    spec = halfstep.QuantizationSpec(dtype=Dtype("int4"))
    expected = halfstep.FakeQuantize(spec, role="weight")(x.astype(dtype))
    fq = halfstep.FakeQuantize(spec, role="weight")
    y = fq(Tensor(x.astype(dtype)))
    assert isinstance(y, Tensor)
    assert y.array.dtype == dtype
    np.testing.assert_array_equal(y.array, expected)
    codes = fq.quantize(Tensor(x))
    assert isinstance(codes, Tensor)
    assert isinstance(fq.dequantize(codes), Tensor)


def test_results_can_lie_in_a_tensor(torch, x):
    expected = halfstep.FakeQuantize(halfstep.QuantizationSpec(), role="weight")(x)
    tensor = Tensor(x)
    fq = halfstep.FakeQuantize(halfstep.QuantizationSpec(), role="weight")
    assert fq.forward(tensor, out=tensor) is tensor
    np.testing.assert_array_equal(x, expected)


def test_observers_answer_in_kind(torch, x):
    observer = halfstep.MinMaxObserver(dtype=Dtype("qint8"), qscheme=Dtype("per_tensor_symmetric"))
    tensor = Tensor(x)
    assert observer(tensor) is tensor
    scale, zero_point = observer.calculate_qparams()
    assert isinstance(scale, Tensor)
    assert isinstance(zero_point, Tensor)
    assert isinstance(observer.min_val, Tensor)
    assert observer.max_val.array == x.max()
    observer(x)
    assert isinstance(observer.calculate_qparams()[0], np.ndarray)


def test_samples_may_be_tensors(torch, conv_proto, images):
    expected = halfstep.quantize(conv_proto, images).model.serialize()
    samples = [{"image": Tensor(image)} for image in images]
    assert halfstep.quantize(conv_proto, samples).model.serialize() == expected
    assert halfstep.quantize(conv_proto, Tensor(images)).model.serialize() == expected
