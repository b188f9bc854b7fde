import ml_dtypes
import numpy as np
import pytest

import halfstep
from halfstep import FakeQuantize, QuantizationSpec


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)


def test_a_weight(x):
    fq = FakeQuantize(QuantizationSpec(), role="weight")
    y = fq(x)
    scale, zero_point, minval = fq.calculate_qparams()
    assert (scale.dtype, zero_point.dtype, minval.dtype) == (np.float32, np.int32, np.float32)
    assert scale.shape == zero_point.shape == minval.shape == (1, 1)
    assert scale.item() == np.abs(x).max() / np.float32(127.5)
    expected = np.clip(np.rint(x / scale), -128, 127)
    np.testing.assert_array_equal(fq.quantize(x), expected.astype(np.int8))
    np.testing.assert_array_equal(y, (expected * scale).astype(np.float32))
    np.testing.assert_array_equal(fq.dequantize(fq.quantize(x)), y)
    np.testing.assert_array_equal(fq.fake_quantize(x), y)
    assert y.dtype == np.float32
    assert fq.quantize(x).dtype == np.int8


def test_minval(x):
    spec = QuantizationSpec(dtype="uint8", qscheme="asymmetric", qformulation="minval")
    fq = FakeQuantize(spec, role="weight")
    fq(x)
    _, _, minval = fq.calculate_qparams()
    assert minval.item() == x.min()
    assert fq.quant_offset == 0


def test_float_formats_have_no_zero_point(x):
    fq = FakeQuantize(QuantizationSpec(dtype="float8_e4m3fn"), role="weight")
    y = fq(x)
    scale, zero_point, minval = fq.calculate_qparams()
    assert zero_point is None
    assert minval is None
    codes = fq.quantize(x)
    assert codes.dtype == np.uint8
    values = codes.view(ml_dtypes.float8_e4m3fn).astype(np.float32) * scale
    np.testing.assert_array_equal(values, y)


def test_running_ranges_and_switches(x):
    spec = QuantizationSpec(
        dtype="uint8", qscheme="asymmetric", qparam_calculator_cls="global_minmax"
    )
    fq = FakeQuantize(spec, role="activation")
    fq.observe(x)
    fq.observe(3 * x)
    low, high = fq.range()
    assert (low.item(), high.item()) == (3 * x.min(), 3 * x.max())
    fq.disable_observer()
    assert not fq.observer_enabled
    fq(100 * x)
    assert fq.range()[1].item() == 3 * x.max()
    fq.disable_fake_quant()
    assert not fq.fake_quant_enabled
    np.testing.assert_array_equal(fq(x), x)
    fq.enable_fake_quant()
    fq.enable_observer()
    fq(100 * x)
    assert fq.range()[1].item() == 100 * x.max()
    fq.reset()
    with pytest.raises(RuntimeError):
        fq.calculate_qparams()


def test_nothing_is_known_before_the_first_batch(x):
    fq = FakeQuantize(QuantizationSpec(), role="weight")
    for ask in (fq.calculate_qparams, fq.range, lambda: fq.quantize(x)):
        with pytest.raises(RuntimeError):
            ask()
    fq.disable_observer()
    with pytest.raises(RuntimeError):
        fq(x)


@pytest.mark.parametrize("dtype", [np.float16, np.float64, ml_dtypes.bfloat16])
def test_other_floating_types(x, dtype):
    fq = FakeQuantize(QuantizationSpec(), role="weight")
    y = fq(x.astype(dtype))
    assert y.dtype == dtype
    assert fq.dequantize(fq.quantize(x.astype(dtype)), dtype=dtype).dtype == dtype


@pytest.mark.parametrize("change", [np.transpose, lambda a: a[::-1], lambda a: a[:, ::2]])
def test_any_strides(x, change):
    spec = QuantizationSpec(granularity=halfstep.PerChannelGranularity(axis=0))
    view = change(x)
    expected = FakeQuantize(spec, role="weight")(np.ascontiguousarray(view))
    np.testing.assert_array_equal(FakeQuantize(spec, role="weight")(view), expected)


def test_in_place_and_into_a_buffer(x):
    expected = FakeQuantize(QuantizationSpec(), role="weight")(x)
    buffer, fq = np.empty_like(x), FakeQuantize(QuantizationSpec(), role="weight")
    assert fq.forward(x, out=buffer) is buffer
    np.testing.assert_array_equal(buffer, expected)
    assert fq.forward(x, out=x) is x
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.empty((6, 4), np.float32), r"\[6, 4\]"),
        (np.empty((4, 6), np.float64), "float64"),
        (np.frombuffer(bytes(96), np.float32).reshape(4, 6), "read-only"),
    ],
)
def test_buffers_that_do_not_fit(x, out, message):
    with pytest.raises(halfstep.InvalidArgument, match=message):
        FakeQuantize(QuantizationSpec(), role="weight").forward(x, out=out)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_matter(threads):
    x = np.random.default_rng(1).normal(size=(300, 700)).astype(np.float32)
    spec = QuantizationSpec(
        dtype="uint4", qscheme="asymmetric", granularity={"type": "per_channel", "axis": 1}
    )
    expected = FakeQuantize(spec, role="weight")(x)
    np.testing.assert_array_equal(FakeQuantize(spec, role="weight", threads=threads)(x), expected)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((2, 3), np.int32), "int32"),
        (np.zeros((2, 3), bool), "bool"),
        (np.array(["a"]), "str"),
        (np.zeros((0, 3), np.float32), "empty"),
        (np.zeros(3, np.float32), "axis"),
    ],
)
def test_tensors_that_do_not_fit(x, message):
    spec = QuantizationSpec(granularity=halfstep.PerChannelGranularity(axis=1))
    with pytest.raises(halfstep.InvalidArgument, match=message):
        FakeQuantize(spec, role="weight")(x)


def test_a_later_batch_of_other_channels(x):
    spec = QuantizationSpec(granularity=halfstep.PerChannelGranularity(axis=1))
    fq = FakeQuantize(spec, role="activation")
    fq(x)
    fq(x[:2])
    with pytest.raises(halfstep.InvalidArgument):
        fq(x[:, :3])


def test_blocks_that_do_not_divide(x):
    spec = QuantizationSpec(granularity=halfstep.PerBlockGranularity(axis=1, block_size=4))
    fq = FakeQuantize(spec, role="weight")
    np.testing.assert_array_equal(fq(x), x)
    assert fq.disabled
    with pytest.raises(halfstep.InvalidArgument, match="6"):
        FakeQuantize(spec.replace(policy="safe"), role="weight")(x)


def test_the_safe_policy_leaves_out_what_is_not_finite(x):
    dirty = x.copy()
    dirty[0, :2] = np.nan, np.inf
    clean = np.concatenate([x.ravel()[2:]])
    fq = FakeQuantize(QuantizationSpec(policy="safe"), role="weight")
    fq(dirty)
    assert fq.calculate_qparams()[0].item() == np.abs(clean).max() / np.float32(127.5)
    reference = FakeQuantize(QuantizationSpec(), role="weight")
    reference(dirty)
    assert np.isnan(reference.calculate_qparams()[0].item())


def test_state_and_merge(x):
    spec = QuantizationSpec(qparam_calculator_cls="global_minmax")
    whole, first, second = (FakeQuantize(spec, role="activation") for _ in range(3))
    for batch in (x, 2 * x):
        whole(batch)
    first(x)
    second(2 * x)
    first.merge(second)
    fresh = FakeQuantize(spec, role="activation")
    fresh.load_state_dict(first.state_dict())
    for other in (first, fresh):
        np.testing.assert_array_equal(other.fake_quantize(x), whole.fake_quantize(x))
    average = FakeQuantize(QuantizationSpec(), role="activation")
    average(x)
    with pytest.raises(halfstep.Unsupported):
        average.merge(average)
    with pytest.raises(halfstep.InvalidArgument):
        fresh.load_state_dict({"wrong": 1})


def test_granularity_can_be_set_before_the_first_batch(x):
    fq = FakeQuantize(QuantizationSpec(), role="weight")
    fq.set_granularity({"type": "per_channel", "axis": 0})
    fq(x)
    assert fq.calculate_qparams()[0].shape == (4, 1)
    assert fq.spec.granularity == halfstep.PerChannelGranularity(axis=0)
    with pytest.raises(RuntimeError):
        fq.set_granularity({"type": "per_tensor"})


def test_a_wrong_role():
    with pytest.raises(halfstep.InvalidArgument, match="weight"):
        FakeQuantize(QuantizationSpec(), role="weights")


def test_the_mapping_for_the_functions_below(x):
    fq = FakeQuantize(QuantizationSpec(), role="weight")
    y = fq(x)
    mapping = fq.mapping(x.shape)
    assert mapping.grid.shape == (4, 6)
    np.testing.assert_array_equal(halfstep.core.fake_quantize(x, mapping), y)


def test_the_spec_may_be_a_dict(x):
    fields = {"dtype": "int4", "granularity": {"type": "per_channel", "axis": 0}}
    expected = FakeQuantize(QuantizationSpec(**fields), role="weight")(x)
    np.testing.assert_array_equal(FakeQuantize(fields, role="weight")(x), expected)


@pytest.mark.parametrize("order", ["C", "F"])
def test_codes_and_values_of_one_pass(x, order):
    x = np.asarray(x, order=order)
    expected = FakeQuantize(QuantizationSpec(dtype="uint4"), role="weight")
    y = expected(x)
    fq = FakeQuantize(QuantizationSpec(dtype="uint4"), role="weight")
    codes, values = fq.forward_with_codes(x)
    np.testing.assert_array_equal(codes, expected.quantize(x))
    np.testing.assert_array_equal(values, y)
    mine = np.empty(x.shape, np.uint8)
    assert fq.forward_with_codes(x, codes=mine, out=x)[0] is mine
    np.testing.assert_array_equal(mine, codes)
    np.testing.assert_array_equal(x, y)
    assert fq.quantize(y, out=mine) is mine


def test_codes_need_fake_quantization(x):
    fq = FakeQuantize(QuantizationSpec(), role="weight")
    fq.disable_fake_quant()
    with pytest.raises(halfstep.Unsupported, match="fake quantization is off"):
        fq.forward_with_codes(x)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.empty((4, 6), np.uint8), r"uint8.*expected int8"),
        (np.empty((6, 4), np.int8), r"\[6, 4\].*\[4, 6\]"),
        (np.empty((6, 4), np.int8).T, "row-major"),
        (np.broadcast_to(np.int8(0), (4, 6)), "read-only"),
    ],
)
def test_buffers_for_codes_that_do_not_fit(x, codes, message):
    fq = FakeQuantize(QuantizationSpec(), role="weight")
    fq(x)
    with pytest.raises(halfstep.InvalidArgument, match=message):
        fq.quantize(x, out=codes)


def test_uneven_blocks_can_be_padded(x):
    spec = QuantizationSpec(
        granularity={"type": "per_block", "axis": 1, "block_size": 4}, uneven_blocks="pad"
    )
    fq = FakeQuantize(spec, role="weight")
    y = fq(x)
    scale = fq.calculate_qparams()[0]
    assert scale.shape == (4, 2)
    for columns, block in ((slice(0, 4), 0), (slice(4, 6), 1)):
        alone = FakeQuantize(
            QuantizationSpec(granularity={"type": "per_channel", "axis": 0}), "weight"
        )
        np.testing.assert_array_equal(y[:, columns], alone(x[:, columns]))
        np.testing.assert_array_equal(scale[:, block], alone.calculate_qparams()[0][:, 0])
    np.testing.assert_array_equal(fq.dequantize(fq.quantize(x)), y)


@pytest.mark.parametrize("policy", ["reference", "safe"])
def test_uneven_blocks_as_asked_whatever_the_policy(x, policy):
    blocks = {"type": "per_block", "axis": 1, "block_size": 4}
    spec = QuantizationSpec(granularity=blocks, policy=policy, uneven_blocks="skip")
    fq = FakeQuantize(spec, role="weight")
    np.testing.assert_array_equal(fq(x), x)
    assert fq.disabled
    strict = FakeQuantize(spec.replace(uneven_blocks="error"), role="weight")
    with pytest.raises(halfstep.InvalidArgument, match="does not divide axis 1"):
        strict(x)


def test_threads_are_counted_from_one():
    with pytest.raises(halfstep.InvalidArgument, match="threads is 0; expected 1 or more"):
        FakeQuantize(QuantizationSpec(), role="weight", threads=0)


@pytest.mark.parametrize("block_size", [(2, -1), (1, 2), (-1,)])
def test_a_tuple_with_an_axis_is_seen_at_use(x, block_size):
    spec = QuantizationSpec(granularity={"type": "per_block", "axis": 0, "block_size": block_size})
    assert QuantizationSpec.from_dict(spec.to_dict()) == spec
    with pytest.raises(halfstep.InvalidArgument, match=r"granularity.*(block_size|block size)"):
        FakeQuantize(spec, role="weight")(x)
