import numpy as np
import pytest

import halfstep

OBSERVERS = [
    halfstep.MinMaxObserver,
    halfstep.MovingAverageMinMaxObserver,
    halfstep.PerChannelMinMaxObserver,
    halfstep.MovingAveragePerChannelMinMaxObserver,
    halfstep.HistogramObserver,
]


class NamedDtype:
    """Stands for an object of torch, which prints as torch.qint8."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(8, 5)).astype(np.float32)


@pytest.mark.parametrize("cls", OBSERVERS)
def test_forward_returns_its_input(cls, x):
    observer = cls()
    assert observer(x) is x
    assert observer.forward(x) is x
    scale, zero_point = observer.calculate_qparams()
    assert scale.dtype == np.float32
    assert zero_point.dtype == np.int32
    assert scale.shape == zero_point.shape == ((8,) if "PerChannel" in cls.__name__ else (1,))


def test_min_max(x):
    observer = halfstep.MinMaxObserver()
    assert (observer.min_val, observer.max_val) == (np.inf, -np.inf)
    assert [v.item() for v in observer.calculate_qparams()] == [1.0, 0]
    observer(x)
    observer(2 * x)
    assert (observer.min_val, observer.max_val) == (2 * x.min(), 2 * x.max())
    assert observer.min_val.shape == ()
    scale, zero_point = observer.calculate_qparams()
    assert scale.item() == (2 * x.max() - 2 * x.min()) / np.float32(255)
    assert zero_point.item() == -np.rint(2 * x.min() / scale).item()
    observer.reset_min_max_vals()
    assert (observer.min_val, observer.max_val) == (np.inf, -np.inf)


def test_defaults_and_attributes():
    observer = halfstep.MinMaxObserver()
    assert (observer.dtype, observer.qscheme) == ("quint8", "per_tensor_affine")
    assert (observer.quant_min, observer.quant_max, observer.reduce_range) == (0, 255, False)
    assert observer.eps.item() == np.float32(2**-23)
    reduced = halfstep.MinMaxObserver(dtype="qint8", reduce_range=True)
    assert (reduced.quant_min, reduced.quant_max) == (-64, 63)
    custom = halfstep.MinMaxObserver(
        NamedDtype("qint8"), NamedDtype("per_tensor_symmetric"), False, -8, 7
    )
    assert (custom.dtype, custom.quant_min, custom.quant_max) == ("qint8", -8, 7)


def test_factory_kwargs_have_no_effect(x):
    observer = halfstep.MinMaxObserver(factory_kwargs={"device": "cpu", "dtype": "float32"})
    observer(x)
    assert observer.max_val == x.max()


def test_with_args(x):
    maker = halfstep.PerChannelMinMaxObserver.with_args(ch_axis=1).with_args(dtype="qint8")
    observer = maker(reduce_range=True)
    assert (observer.dtype, observer.ch_axis, observer.reduce_range) == ("qint8", 1, True)
    observer(x)
    np.testing.assert_array_equal(observer.min_val, x.min(axis=0))
    assert "PerChannelMinMaxObserver" in repr(maker)
    assert "min_val" in repr(observer)


def test_a_subclass_is_an_observer_of_the_same_kind(x):
    class Louder(halfstep.MinMaxObserver):
        def forward(self, x_orig):
            return super().forward(10 * x_orig)

    observer = Louder(dtype="qint8")
    observer(x)
    assert observer.max_val == 10 * x.max()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dtype": "float8_e4m3fn"}, "float8_e4m3fn"),
        ({"dtype": "quint9"}, "quint9"),
        ({"qscheme": "per_channel_affine"}, "per_channel_affine"),
        ({"quant_min": 0}, "quant_m"),
        ({"quant_min": 5, "quant_max": 9}, "0"),
        ({"quant_min": 9, "quant_max": -9}, "quant_m"),
        ({"qscheme": "per_tensor_symmetric", "reduce_range": True}, "reduce_range"),
        ({"policy": "unsafe"}, "unsafe"),
    ],
)
def test_arguments_that_do_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        halfstep.MinMaxObserver(**arguments)


def test_what_it_does_not_take(x):
    with pytest.raises(halfstep.InvalidArgument, match="int64"):
        halfstep.MinMaxObserver()(np.arange(3))
    observer = halfstep.PerChannelMinMaxObserver()
    observer(x)
    with pytest.raises(halfstep.InvalidArgument):
        observer(x[:3])


def test_policies_and_not_finite_values(x):
    x[0, :3] = np.nan, np.inf, -np.inf
    reference, safe = halfstep.MinMaxObserver(), halfstep.MinMaxObserver(policy="safe")
    reference(x)
    safe(x)
    assert np.isnan(reference.min_val)
    assert np.isfinite([safe.min_val, safe.max_val]).all()
    assert (safe.nan_count, safe.infinity_count) == (1, 2)
    with pytest.raises(halfstep.InvalidArgument, match=r"(?i)nan"):
        halfstep.HistogramObserver()(x)


@pytest.mark.parametrize("cls", OBSERVERS)
def test_state_survives_json(cls, x):
    import json

    observer, fresh = cls(), cls()
    observer(x)
    observer(2 * x)
    fresh.load_state_dict(json.loads(json.dumps(observer.state_dict())))
    for mine, other in zip(observer.calculate_qparams(), fresh.calculate_qparams(), strict=True):
        np.testing.assert_array_equal(mine, other)
    with pytest.raises(halfstep.InvalidArgument):
        fresh.load_state_dict({"min": "text"})


@pytest.mark.parametrize("cls", [halfstep.MinMaxObserver, halfstep.PerChannelMinMaxObserver])
def test_shards_merge_to_the_whole(cls, x):
    whole, first, second = cls(), cls(), cls()
    whole(x)
    whole(-3 * x)
    first(x)
    second(-3 * x)
    first.merge(second)
    np.testing.assert_array_equal(first.min_val, whole.min_val)
    np.testing.assert_array_equal(first.max_val, whole.max_val)


def test_moving_averages_do_not_merge(x):
    observer = halfstep.MovingAverageMinMaxObserver(averaging_constant=0.5)
    observer(x)
    observer(3 * x)
    assert observer.max_val == x.max() + np.float32(0.5) * (3 * x.max() - x.max())
    with pytest.raises(halfstep.Unsupported):
        observer.merge(observer)


def test_the_histogram(x):
    observer = halfstep.HistogramObserver(bins=64)
    observer(x)
    assert observer.histogram.shape == (64,)
    assert observer.histogram.sum() == x.size
    low, high = observer.chosen_range
    assert x.min() <= low < high <= x.max()


def test_float_zero_points(x):
    observer = halfstep.PerChannelMinMaxObserver(
        dtype="quint8", qscheme="per_channel_affine_float_qparams"
    )
    observer(x)
    scale, zero_point = observer.calculate_qparams()
    assert zero_point.dtype == np.float32
    np.testing.assert_array_equal(zero_point, -x.min(axis=1) / scale)


def test_eps_may_be_an_array():
    observer = halfstep.MinMaxObserver(eps=np.array([0.25], np.float32))
    assert observer.eps.tolist() == [0.25]
    observer(np.zeros(3, np.float32))
    assert observer.calculate_qparams()[0].item() == 0.25


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"quant_min": "0", "quant_max": 5}, "quant_min is '0'; expected a whole number"),
        ({"eps": "small"}, "eps is 'small'; expected a number"),
        ({"reduce_range": "no"}, "reduce_range is 'no'; expected True or False"),
    ],
)
def test_arguments_of_another_type(arguments, message):
    with pytest.raises(halfstep.InvalidArgument, match=message):
        halfstep.MinMaxObserver(**arguments)


@pytest.mark.parametrize("value", [None, "text", object()])
def test_what_is_no_array(value):
    with pytest.raises(halfstep.InvalidArgument, match=r"x is an array of type (object|str)"):
        halfstep.MinMaxObserver()(value)
    with pytest.raises(halfstep.InvalidArgument, match=r"x is an array of type (object|str)"):
        halfstep.FakeQuantize(halfstep.QuantizationSpec())(value)


def test_help_lists_formula_errors_and_arguments():
    for cls in (halfstep.MinMaxObserver, halfstep.MovingAveragePerChannelMinMaxObserver):
        text = cls.__doc__
        assert all(word in text for word in ("Formula:", "Units:", "Errors:", "Source:", "Args:"))
        assert "    eps: the smallest scale" in text
        assert ("ch_axis:" in text) == ("Channel" in cls.__name__)
