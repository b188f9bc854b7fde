import ml_dtypes
import numpy as np
import pytest

import halfstep
from halfstep import QuantizationSpec, core


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(4, 32)).astype(np.float32)


def test_fit_is_three_functions_in_a_row(x):
    spec = QuantizationSpec(
        dtype="uint4", qscheme="asymmetric", granularity={"type": "per_channel", "axis": 0}
    )
    mapping = core.fit(x, spec)
    grid = core.unit_grid(spec.granularity, x.shape)
    ranges = core.measure_range(x, grid)
    chosen = core.choose_qparams(ranges, spec, grid)
    assert mapping.grid.counts == grid.counts == (4, 1)
    assert mapping.grid.sizes == (1, 32)
    np.testing.assert_array_equal(ranges.min, x.min(axis=1))
    np.testing.assert_array_equal(mapping.scale, chosen.scale)
    np.testing.assert_array_equal(mapping.zero_point, chosen.zero_point)
    assert (mapping.dtype, mapping.quant_min, mapping.quant_max) == ("uint4", 0, 15)


def test_given_parameters():
    spec = QuantizationSpec(dtype="uint8", granularity={"type": "per_channel", "axis": 1})
    mapping = core.make_mapping(spec, (2, 3), scale=[[0.5, 1.0, 2.0]], zero_point=[0, 10, 20])
    x = np.float32([[1, 2, 3], [-1, -20, 1000]])
    codes = core.quantize(x, mapping)
    np.testing.assert_array_equal(codes, np.uint8([[2, 12, 22], [0, 0, 255]]))
    np.testing.assert_array_equal(core.dequantize(codes, mapping), [[1, 2, 4], [0, -10, 470]])
    with pytest.raises(halfstep.InvalidArgument, match="3 units"):
        core.make_mapping(spec, (2, 3), scale=[0.5, 1.0])


@pytest.mark.parametrize("dtype", ["int2", "uint3", "int4", "int5", "uint7", "int8"])
@pytest.mark.parametrize("count", [0, 1, 7, 64])
def test_pack_and_unpack(dtype, count):
    low, high = QuantizationSpec.get_quant_range(dtype, "symmetric")
    rng = np.random.default_rng(count)
    stored = np.dtype(QuantizationSpec.get_target_dtype(dtype))
    codes = rng.integers(low, high + 1, size=count).astype(stored)
    packed = core.pack(codes, dtype)
    assert packed.dtype == np.uint8
    assert packed.size == -(-count * QuantizationSpec.get_n_bits_from_dtype(dtype) // 8)
    np.testing.assert_array_equal(core.unpack(packed, dtype, (count,)), codes)


def test_the_first_value_is_in_the_low_bits():
    np.testing.assert_array_equal(core.pack(np.int8([1, -2, 3]), "int4"), np.uint8([0xE1, 0x03]))
    np.testing.assert_array_equal(core.pack(np.uint8([1, 2, 3, 0]), "uint2"), np.uint8([0x39]))


def test_packing_what_does_not_fit():
    with pytest.raises(halfstep.InvalidArgument, match="expected int8"):
        core.pack(np.uint8([1]), "int4")
    with pytest.raises(halfstep.InvalidArgument, match="takes 2"):
        core.unpack(np.uint8([1]), "int4", (3,))


def test_wide_integers(x):
    mapping = core.fit(x, QuantizationSpec(dtype="int16"))
    codes = core.quantize(x, mapping)
    assert codes.dtype == np.int16
    np.testing.assert_allclose(core.dequantize(codes, mapping), x, atol=mapping.scale.item())


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_types_of_results(x, dtype):
    x = x.astype(dtype)
    mapping = core.fit(
        x,
        QuantizationSpec(
            dtype="int4", granularity={"type": "per_block", "axis": 1, "block_size": 8}
        ),
    )
    assert core.fake_quantize(x, mapping).dtype == dtype
    assert core.dequantize(core.quantize(x, mapping), mapping, dtype=dtype).dtype == dtype


def test_lpbq(x):
    spec = QuantizationSpec(
        dtype="int4", granularity=halfstep.LpbqGranularity(axis=1, block_size=8, channel_axis=0)
    )
    mapping = core.fit(x, spec)
    assert mapping.block_scale.shape == (4, 4)
    assert mapping.channel_scale.shape == (4,)
    assert 1 <= mapping.block_scale.min() <= mapping.block_scale.max() <= 16
    expected = mapping.block_scale * mapping.channel_scale[:, None]
    np.testing.assert_array_equal(mapping.scale, expected.astype(np.float32))


def test_the_gradient_is_one_inside_the_range():
    mapping = core.make_mapping(QuantizationSpec(), (5,), scale=[1.0])
    mask = core.gradient_mask(np.float32([-129, -128, 0, 127, np.nan]), mapping)
    np.testing.assert_array_equal(mask, [False, True, True, True, False])


def test_roundings_of_torch():
    x = np.float32([0.05, 0.15, 0.25])
    for rounding in ("division", "reciprocal", "reciprocal_then_add", "reciprocal_fused"):
        codes = core.quantize_affine(x, 0.1, 3, 0, 255, rounding=rounding)
        assert np.abs(codes - 3 - x / 0.1).max() <= 0.51
    y = core.fake_quantize_affine(x, [0.1], [0], 0, 1)
    np.testing.assert_array_equal(y, np.float32([0, 0.1, 0.1]))
    with pytest.raises(halfstep.InvalidArgument, match="rounding"):
        core.quantize_affine(x, 0.1, 3, 0, 255, rounding="up")
    with pytest.raises(halfstep.InvalidArgument):
        core.fake_quantize_affine(x, 0.1, 300, 0, 255)


@pytest.mark.parametrize(
    ("granularity", "message"),
    [
        ({"type": "per_channel", "axis": 2}, "axis"),
        ({"type": "per_channel"}, "axis"),
        ({"type": "per_block", "axis": 1, "block_size": 5}, "5"),
        ({"type": "per_block", "block_size": (1, 2, 3)}, "3"),
    ],
)
def test_granularities_that_do_not_fit(x, granularity, message):
    with pytest.raises(halfstep.InvalidArgument, match=message):
        core.fit(x, QuantizationSpec(granularity=granularity))


def test_codes_of_another_type(x):
    mapping = core.fit(x, QuantizationSpec(dtype="uint8"))
    with pytest.raises(halfstep.InvalidArgument, match="expected uint8"):
        core.dequantize(np.zeros((4, 32), np.int8), mapping)


def test_the_short_names():
    assert halfstep.dequantize is core.dequantize
    assert halfstep.pack is core.pack


def test_every_instruction_set_gives_the_same_bits(x):
    names = core.kernel_names()
    assert names[0] == "reference"
    assert core.active_kernels() == names[-1]
    spec = halfstep.QuantizationSpec(dtype="uint4", qscheme="asymmetric")
    results = []
    for name in names:
        with core.forced_kernels(name):
            assert core.active_kernels() == name
            results.append(core.fake_quantize(x, core.fit(x, spec)))
    for result in results:
        np.testing.assert_array_equal(result, results[0])
    assert core.active_kernels() == names[-1]


def test_kernels_that_do_not_run_here():
    with (
        pytest.raises(halfstep.InvalidArgument, match="reference"),
        core.forced_kernels("sse9"),
    ):
        pass


def test_codes_and_values_at_once(x):
    mapping = core.fit(x, halfstep.QuantizationSpec(dtype="float8_e5m2"))
    codes, values = core.quantize_and_fake_quantize(x, mapping)
    np.testing.assert_array_equal(codes, core.quantize(x, mapping))
    np.testing.assert_array_equal(values, core.fake_quantize(x, mapping))
    buffer = np.empty_like(codes)
    assert core.quantize(x, mapping, out=buffer) is buffer
    np.testing.assert_array_equal(buffer, codes)


@pytest.mark.parametrize(
    ("codes", "dtype", "message"),
    [
        (np.int8([0] * 11 + [8]), "int4", r"code 8 at position 11 .*4 bits of int4"),
        (np.int8([0, -9] + [0] * 9), "int4", "code -9 at position 1"),
        (np.uint8([0] * 8 + [4]), "uint2", "code 4 at position 8"),
        (np.int8([1]), "int1", "code 1 at position 0"),
        (np.uint8([16]), "float4_e2m1fn", "code 16"),
    ],
)
def test_packing_codes_of_no_such_type(codes, dtype, message):
    with pytest.raises(halfstep.InvalidArgument, match=message):
        core.pack(codes, dtype)
