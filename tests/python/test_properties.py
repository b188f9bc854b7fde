"""What holds for every dtype, scheme, formulation and granularity."""

import itertools

import numpy as np
import pytest

import halfstep
from halfstep import FakeQuantize, QuantizationSpec

SHAPE = (6, 8, 4)
DTYPES = [
    *(f"{sign}int{bits}" for bits in (1, 2, 3, 4, 5, 6, 7, 8, 16) for sign in ("", "u")),
    "float8_e4m3fn",
    "float8_e5m2",
    "float4_e2m1fn_x2",
]
GRANULARITIES = [
    {"type": "per_tensor"},
    {"type": "per_channel", "axis": -1},
    {"type": "per_block", "axis": 1, "block_size": 4},
    {"type": "per_block", "block_size": (3, -1, 2)},
]


def legal_specs(dtype):
    """Every spec of the dtype that is legal."""
    for scheme, formulation, scale, granularity in itertools.product(
        halfstep.QuantizationScheme,
        halfstep.QuantizationFormulation,
        (None, "float8_e8m0fnu"),
        GRANULARITIES,
    ):
        try:
            yield QuantizationSpec(
                dtype=dtype,
                qscheme=scheme,
                qformulation=formulation,
                scale_dtype=scale,
                granularity=granularity,
            )
        except halfstep.InvalidArgument:
            continue


def spread(parameters, grid):
    """One parameter for each value."""
    for axis, size in enumerate(grid.sizes):
        parameters = np.repeat(parameters, size, axis)
    return parameters


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).normal(size=SHAPE).astype(np.float32)


@pytest.mark.parametrize("dtype", DTYPES)
def test_round_trip_is_within_half_a_step(x, dtype):
    checked = 0
    for spec in legal_specs(dtype):
        fq = FakeQuantize(spec, "weight")
        y = fq(x)
        mapping = fq.mapping(SHAPE)
        inside = halfstep.core.gradient_mask(x, mapping)
        step = spread(mapping.scale, mapping.grid)
        if spec.dtype.startswith("float"):
            mantissa = {"float8_e4m3fn": 3, "float8_e5m2": 2, "float4_e2m1fn_x2": 1}[spec.dtype]
            step = np.maximum(np.abs(x) * 2.0 ** (1 - mantissa), step)
        error = np.abs(x - y)[inside]
        limit = step * 0.5 + np.abs(x).max() * 2.0**-21  # float32 rounds, too
        assert (error <= limit[inside]).all(), spec
        checked += 1
    assert checked >= len(GRANULARITIES)


@pytest.mark.parametrize("dtype", DTYPES)
def test_zero_is_exact_and_twice_is_once(x, dtype):
    for spec in legal_specs(dtype):
        fq = FakeQuantize(spec, "weight")
        y = fq(x)
        if spec.qformulation == "zp":
            assert not fq.fake_quantize(np.zeros_like(x)).any(), spec
        np.testing.assert_array_equal(fq.dequantize(fq.quantize(x)), y, err_msg=str(spec))
        if spec.qformulation == "zp":
            np.testing.assert_array_equal(fq.fake_quantize(y), y, err_msg=str(spec))


@pytest.mark.parametrize("dtype", DTYPES)
def test_larger_values_have_no_smaller_codes(x, dtype):
    line = np.linspace(-4, 4, 97, dtype=np.float32).reshape(-1, 1, 1)
    for spec in legal_specs(dtype):
        fq = FakeQuantize(spec, "weight")
        fq(x)
        grid = fq.mapping(SHAPE).grid
        whole = np.array([fq.fake_quantize(np.full(SHAPE, value)) for value in line.ravel()])
        assert (np.diff(whole, axis=0) >= 0).all(), (spec, grid)


@pytest.mark.parametrize("dtype", DTYPES)
def test_order_of_batches_and_threads_do_not_matter(x, dtype):
    for spec in legal_specs(dtype):
        spec = spec.replace(qparam_calculator_cls="global_minmax")
        results = []
        for order, threads in (((x, -2 * x), 1), ((-2 * x, x), 2)):
            fq = FakeQuantize(spec, "weight", threads=threads)
            for batch in order:
                fq.observe(batch)
            results.append(fq.fake_quantize(x))
        np.testing.assert_array_equal(results[0], results[1], err_msg=str(spec))
