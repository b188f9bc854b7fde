"""halfstep on the tensors of torch itself, run by `./dev torch`.

The numbers are those of the same torch, the memory is shared, and halfstep never imports torch.
"""

import itertools
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.ao.quantization import observer as theirs

import halfstep
from halfstep import _arrays

CLASSES = [
    "MinMaxObserver",
    "PerChannelMinMaxObserver",
    "MovingAverageMinMaxObserver",
    "MovingAveragePerChannelMinMaxObserver",
]
DTYPES = [torch.quint8, torch.qint8, torch.qint32, torch.int8, torch.uint8, torch.int16]


def batches():
    generator = torch.Generator().manual_seed(0)
    return [torch.randn(4, 6, generator=generator) * scale + 0.3 for scale in (1, 3, 0.1)]


def schemes(name):
    family = "per_channel" if "Channel" in name else "per_tensor"
    return [getattr(torch, f"{family}_{kind}") for kind in ("affine", "symmetric")]


@pytest.mark.parametrize("name", CLASSES)
def test_observers_give_the_numbers_of_torch(name):
    """The same script with another import: every class, dtype, scheme and reduced range."""
    compared = 0
    for dtype, qscheme, reduce in itertools.product(DTYPES, schemes(name), (False, True)):
        arguments = {"dtype": dtype, "qscheme": qscheme, "reduce_range": reduce}
        try:
            expected = getattr(theirs, name)(**arguments)
        except NotImplementedError:  # symmetric quint8 with a reduced range
            with pytest.raises(halfstep.InvalidArgument):
                getattr(halfstep, name)(**arguments)
            continue
        found = getattr(halfstep, name).with_args(**arguments)()
        for batch in batches():
            assert found(batch) is batch
            expected(batch)
        pairs = [*zip(found.calculate_qparams(), expected.calculate_qparams(), strict=True)]
        pairs += [(found.min_val, expected.min_val), (found.max_val, expected.max_val)]
        for ours, torchs in pairs:
            assert isinstance(ours, torch.Tensor)
            assert torch.equal(ours, torchs.to(ours.dtype)), arguments
        assert (found.quant_min, found.quant_max) == (expected.quant_min, expected.quant_max)
        compared += 1
    assert compared >= 20


def test_histogram_observer_is_close_to_torchs():
    ours, torchs = halfstep.HistogramObserver(), theirs.HistogramObserver()
    generator = torch.Generator().manual_seed(1)
    for _ in range(3):
        x = torch.randn(1000, generator=generator)
        ours(x), torchs(x)
    assert torch.equal(ours.min_val, torchs.min_val)
    width = float(torchs.max_val - torchs.min_val) / 2048
    assert abs(float(ours.calculate_qparams()[0] - torchs.calculate_qparams()[0])) * 255 < 2 * width


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_memory_is_shared_both_ways(dtype):
    x = torch.linspace(-1, 1, 12).reshape(3, 4).to(dtype)
    array = _arrays.as_array(x)
    assert array.ctypes.data == x.data_ptr()
    fq = halfstep.FakeQuantize(halfstep.QuantizationSpec(dtype=torch.int8), role="weight")
    y = fq(x)
    assert y.dtype == dtype and y.shape == x.shape
    assert fq.forward(x, out=x) is x
    assert torch.equal(x, y)


def test_codes_and_given_buffers():
    x = torch.randn(8, 32, generator=torch.Generator().manual_seed(2))
    spec = halfstep.QuantizationSpec(
        dtype=torch.int4, granularity={"type": "per_channel", "axis": 0}
    )
    fq = halfstep.FakeQuantize(spec, role="weight")
    codes, y = torch.empty(8, 32, dtype=torch.int8), torch.empty(8, 32)
    assert fq.forward_with_codes(x, codes=codes, out=y) == (codes, y)
    assert torch.equal(fq.quantize(x), codes)
    assert torch.equal(fq.dequantize(codes), y)
    assert torch.equal(fq.fake_quantize(x), y)


def test_strides_and_gradients():
    x = torch.randn(6, 8, generator=torch.Generator().manual_seed(3))
    channels = {"type": "per_channel", "axis": 0}
    fq = halfstep.FakeQuantize(halfstep.QuantizationSpec(granularity=channels), role="weight")
    expected = fq(x.T.contiguous())
    assert torch.equal(fq(x.T), expected)
    assert torch.equal(fq(x.clone().requires_grad_().T), expected)
    mapping = fq.mapping((8, 6))
    mask = halfstep.core.gradient_mask(x.T, mapping)
    assert mask.dtype == torch.bool and bool(mask.any())


def test_fake_quantize_affine_is_torchs():
    x = torch.randn(500, generator=torch.Generator().manual_seed(4))
    expected = torch.fake_quantize_per_tensor_affine(x, 0.031, 3, 0, 255)
    assert torch.equal(halfstep.core.fake_quantize_affine(x, 0.031, 3, 0, 255), expected)
    scales, zeros = torch.tensor([0.1, 0.02]), torch.tensor([0, 5], dtype=torch.int32)
    x = x.reshape(2, 250)
    expected = torch.fake_quantize_per_channel_affine(x, scales, zeros, 0, 0, 255)
    found = halfstep.core.fake_quantize_affine(x, scales, zeros, 0, 255, axis=0)
    assert torch.equal(found, expected)


def test_torch_objects_name_dtypes():
    spec = halfstep.QuantizationSpec(
        dtype=torch.float8_e4m3fn,
        scale_dtype=torch.float8_e8m0fnu,
        granularity={"type": "per_tensor"},
    )
    assert (spec.dtype, spec.scale_dtype) == ("float8_e4m3fn", "float8_e8m0fnu")
    assert halfstep.QuantizationSpec.get_n_bits_from_dtype(torch.uint4) == 4
    assert halfstep.QuantizationSpec.get_target_dtype(torch.int3) == "int8"
    assert halfstep.QuantizationSpec(dtype=torch.float4_e2m1fn_x2).dtype == "float4_e2m1fn_x2"


def test_a_tensor_elsewhere_is_an_error_that_says_so():
    with pytest.raises(halfstep.InvalidArgument, match=r"meta.*cpu"):
        halfstep.MinMaxObserver()(torch.empty(3, device="meta"))


def test_halfstep_alone_never_imports_torch():
    program = (
        "import sys, numpy, halfstep\n"
        "x = numpy.ones((2, 3), numpy.float32)\n"
        "halfstep.MinMaxObserver(dtype='qint8')(x)\n"
        "halfstep.FakeQuantize(halfstep.QuantizationSpec(), 'weight')(x)\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_numpy_and_torch_get_the_same_numbers():
    x = np.random.default_rng(5).normal(size=(4, 32)).astype(np.float32)
    for fields in ({}, {"dtype": "float8_e5m2"}, {"dtype": "float4_e2m1fn"}):
        spec = halfstep.QuantizationSpec(**fields)
        y = halfstep.FakeQuantize(spec, "weight")(x)
        z = halfstep.FakeQuantize(spec, "weight")(torch.from_numpy(x))
        np.testing.assert_array_equal(y, z.numpy())
