"""Calculators and fake quantizers that are written in Python."""

import itertools
import json

import numpy as np
import pytest

import halfstep
from halfstep import FakeQuantize, QuantizationSpec

_NUMBERS = itertools.count()


@pytest.fixture
def name():
    """A name that is not taken: registered names stay for the life of the process."""
    return f"test{next(_NUMBERS)}"


@pytest.fixture
def x():
    return np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)


def test_the_built_in_names():
    names = halfstep.QParamsCalculatorBase.registered()
    assert {"static", "moving_average", "global_minmax", "dynamic"} <= set(names)
    assert "minmax" in halfstep.RangeCalculatorBase.registered()
    assert "default" in halfstep.FakeQuantizeImplBase.registered()


@pytest.mark.parametrize(
    ("cls", "name"),
    [
        (halfstep.StaticQParamsCalculator, "static"),
        (halfstep.MovingAverageQParamsCalculator, "moving_average"),
        (halfstep.GlobalMinMaxQParamsCalculator, "global_minmax"),
        (halfstep.DynamicQParamsCalculator, "dynamic"),
    ],
)
def test_built_in_classes_stand_for_their_names(cls, name):
    spec = QuantizationSpec(qparam_calculator_cls=cls)
    assert spec == QuantizationSpec(qparam_calculator_cls=name)
    assert spec.qparam_calculator_cls == name


def test_the_range_calculator_of_the_library():
    spec = QuantizationSpec(range_calculator_cls=halfstep.MinMaxRangeCalculator)
    assert spec.range_calculator_cls == "minmax"
    grid = halfstep.core.unit_grid({"type": "per_tensor"}, (3,))
    found = halfstep.MinMaxRangeCalculator().measure(np.float32([1, 2, 3]), grid)
    assert (found.min.item(), found.max.item()) == (1, 3)


def test_calculators_of_the_library_alone():
    calculator = halfstep.GlobalMinMaxQParamsCalculator(spec=QuantizationSpec())
    with pytest.raises(RuntimeError):
        calculator.range()
    for low, high in ((-1, 2), (-3, 1)):
        calculator.update(halfstep.core.Ranges(np.float32([low]), np.float32([high])))
    assert (calculator.range().min.item(), calculator.range().max.item()) == (-3, 2)
    fresh = halfstep.GlobalMinMaxQParamsCalculator(spec=QuantizationSpec())
    fresh.load_state(calculator.state())
    fresh.merge(calculator)
    assert fresh.range().min.item() == -3
    fresh.reset()
    with pytest.raises(RuntimeError):
        fresh.range()


def register_half(name):
    @halfstep.RangeCalculatorBase.register(name)
    class Half(halfstep.RangeCalculatorBase):
        def measure(self, x, grid):
            units = self.split(x, grid)
            return units.min(axis=-1) / 2, units.max(axis=-1) / 2

    return Half


def test_a_range_calculator(name, x):
    cls = register_half(name)
    for value in (name, cls):
        spec = QuantizationSpec(
            range_calculator_cls=value, granularity={"type": "per_channel", "axis": 0}
        )
        assert spec.range_calculator_cls == name
        fq = FakeQuantize(spec, role="weight")
        fq(x)
        expected = np.abs(x).max(axis=1, keepdims=True) / 2 / np.float32(127.5)
        np.testing.assert_array_equal(fq.calculate_qparams()[0], expected)


def test_split_gives_each_unit_a_row(x):
    for granularity, shape in (
        (halfstep.PerTensorGranularity(), (1, 1, 24)),
        (halfstep.PerChannelGranularity(axis=1), (1, 6, 4)),
        (halfstep.PerBlockGranularity(axis=1, block_size=3), (4, 2, 3)),
        (halfstep.PerBlockGranularity(block_size=(2, 2)), (2, 3, 4)),
    ):
        grid = halfstep.core.unit_grid(granularity, x.shape)
        units = halfstep.RangeCalculatorBase.split(x, grid)
        assert units.shape == shape
        expected = halfstep.core.measure_range(x, grid)
        np.testing.assert_array_equal(units.max(axis=-1).ravel(), expected.max)


def register_latest(name):
    @halfstep.QParamsCalculatorBase.register(name)
    class Largest(halfstep.QParamsCalculatorBase):
        """Symmetric around zero, with the largest value of all batches times a factor."""

        def __init__(self, factor=1.0, **others):
            super().__init__(**others)
            self.factor = factor
            self.reset()

        def reset(self):
            self.largest = None

        def update(self, batch):
            largest = np.maximum(-batch.min, batch.max) * self.factor
            self.largest = largest if self.largest is None else np.maximum(self.largest, largest)

        def range(self):
            if self.largest is None:
                raise RuntimeError("no batch was seen")
            return -self.largest, self.largest

        def state(self):
            return {"largest": self.largest.tolist()}

        def load_state(self, state):
            self.largest = np.float32(state["largest"])

        def merge(self, other):
            self.largest = np.maximum(self.largest, other.largest)

    return Largest


class FactorSpec(QuantizationSpec):
    factor: float = 2.0
    unrelated: str = "for others"


def test_a_qparams_calculator_with_extra_fields(name, x):
    register_latest(name)
    spec = FactorSpec(qparam_calculator_cls=name)
    fq = FakeQuantize(spec, role="activation")
    with pytest.raises(RuntimeError):
        fq.calculate_qparams()
    fq(x)
    fq(x / 2)
    expected = np.abs(x).max() * np.float32(2) / np.float32(127.5)
    assert fq.calculate_qparams()[0].item() == expected
    other = FakeQuantize(spec, role="activation")
    other.load_state_dict(fq.state_dict())
    other(3 * x)
    fq.merge(other)
    assert fq.range()[1].item() == np.abs(3 * x).max() * np.float32(2)
    fq.reset()
    with pytest.raises(RuntimeError):
        fq.calculate_qparams()


def test_a_fake_quantizer(name, x):
    @halfstep.FakeQuantizeImplBase.register(name)
    class Truncating(halfstep.FakeQuantizeImplBase):
        def quantize(self, x, mapping):
            codes = np.trunc(x / mapping.scale)
            return np.clip(codes, mapping.quant_min, mapping.quant_max).astype(np.int8)

        def fake_quantize(self, x, mapping):
            return self.dequantize(self.quantize(x, mapping), mapping)

    fq = FakeQuantize(QuantizationSpec(fake_quantize_cls=Truncating), role="weight")
    y = fq(x)
    scale = fq.calculate_qparams()[0]
    codes = np.clip(np.trunc(x / scale), -128, 127)
    np.testing.assert_array_equal(fq.quantize(x), codes)
    np.testing.assert_array_equal(fq.dequantize(fq.quantize(x)), y)
    np.testing.assert_array_equal(y, codes.astype(np.float32) * scale)
    assert fq(x.astype(np.float16)).dtype == np.float16


def test_constructors_get_what_they_have_parameters_for(name, x):
    seen = []

    @halfstep.RangeCalculatorBase.register(name)
    class Curious(halfstep.RangeCalculatorBase):
        def __init__(self, spec, role, factor):
            seen.append((spec.dtype, role, factor))

        def measure(self, x, grid):
            return np.full(1, -1), np.full(1, 1)

    FakeQuantize(FactorSpec(dtype="uint8", range_calculator_cls=name), role="lut")(x)
    assert seen == [("uint8", "lut", 2.0)]


def test_errors_carry_their_cause(name, x):
    @halfstep.RangeCalculatorBase.register(name)
    class Broken(halfstep.RangeCalculatorBase):
        def measure(self, x, grid):
            raise LookupError("no idea")

    fq = FakeQuantize(QuantizationSpec(range_calculator_cls=name), role="weight")
    with pytest.raises(halfstep.Error, match=f'{name}" raised LookupError: no idea') as caught:
        fq(x)
    assert isinstance(caught.value.__cause__, LookupError)


@pytest.mark.parametrize(
    ("result", "message"),
    [(5, "int"), ((np.zeros(3), np.zeros(3)), "3 ranges for 1"), (([1.0], [1.0, 2.0]), "length")],
)
def test_wrong_results(name, x, result, message):
    @halfstep.RangeCalculatorBase.register(name)
    class Wrong(halfstep.RangeCalculatorBase):
        def measure(self, x, grid):
            return result

    fq = FakeQuantize(QuantizationSpec(range_calculator_cls=name), role="weight")
    with pytest.raises(halfstep.Error, match=message):
        fq(x)


def test_interrupts_stay_interrupts(name, x):
    @halfstep.RangeCalculatorBase.register(name)
    class Stop(halfstep.RangeCalculatorBase):
        def measure(self, x, grid):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        FakeQuantize(QuantizationSpec(range_calculator_cls=name), role="weight")(x)


def test_names_are_taken_once(name):
    register_half(name)
    with pytest.raises(halfstep.InvalidArgument, match="registered already"):
        register_half(name)
    with pytest.raises(halfstep.InvalidArgument, match="minmax"):
        register_half("minmax")


def test_classes_must_be_of_the_family_and_registered(name):
    with pytest.raises(halfstep.InvalidArgument, match="RangeCalculatorBase"):
        halfstep.RangeCalculatorBase.register(name)(int)
    with pytest.raises(halfstep.InvalidArgument, match="RangeCalculatorBase"):
        halfstep.MinMaxRangeCalculator.register(name)(halfstep.StaticQParamsCalculator)

    class Unregistered(halfstep.RangeCalculatorBase):
        pass

    with pytest.raises(halfstep.InvalidArgument, match="Unregistered is not registered"):
        QuantizationSpec(range_calculator_cls=Unregistered)


def test_calculators_work_inside_a_calibration(name, conv_proto, samples, images):
    register_latest(name)
    spec = {"qparam_calculator_cls": name, "policy": "safe"}
    found = halfstep.calibrate(conv_proto, samples, {"image": spec}).statistics["image"]
    assert found.max == np.abs(images).max()
    assert found.min == -found.max


def test_errors_inside_a_calibration_name_the_tensor(name, conv_proto, samples):
    @halfstep.QParamsCalculatorBase.register(name)
    class Broken(halfstep.QParamsCalculatorBase):
        def update(self, batch):
            raise LookupError("no idea")

    spec = {"qparam_calculator_cls": name, "policy": "safe"}
    with pytest.raises(halfstep.Error, match=r"image.*no idea") as caught:
        halfstep.calibrate(conv_proto, samples, {"image": spec})
    assert isinstance(caught.value.__cause__, LookupError)


def test_range_calculators_work_inside_a_calibration(name, conv_proto, samples, images):
    register_half(name)
    spec = {
        "range_calculator_cls": name,
        "qparam_calculator_cls": "global_minmax",
        "policy": "safe",
    }
    found = halfstep.calibrate(conv_proto, samples, {"image": spec}).statistics["image"]
    assert (found.min, found.max) == (images.min() / 2, images.max() / 2)


def test_nothing_is_held_at_exit(run_python):
    run_python(
        "import numpy, halfstep\n"
        "@halfstep.RangeCalculatorBase.register('mine')\n"
        "class Mine(halfstep.RangeCalculatorBase):\n"
        "    def measure(self, x, grid): return numpy.float32([-1]), numpy.float32([1])\n"
        "spec = halfstep.QuantizationSpec(range_calculator_cls='mine')\n"
        "fq = halfstep.FakeQuantize(spec, role='weight')\n"
        "fq(numpy.ones((2, 2), numpy.float32))\n"
    )


def test_a_recipe_may_name_such_a_class(name, conv_proto, samples, images, tmp_path):
    register_half(name)
    activation = {"dtype": "uint8", "qscheme": "asymmetric", "range_calculator_cls": name}
    activation["qparam_calculator_cls"] = "global_minmax"
    weight = {"dtype": "int8", "granularity": {"type": "per_channel"}}
    recipe = tmp_path / "recipe.json"
    recipe.write_text(json.dumps({"activation": activation, "weight": weight}))
    encoding = halfstep.quantize(conv_proto, samples, recipe=recipe).encodings["image"]
    expected = (np.float32(images.max() / 2) - np.float32(images.min() / 2)) / np.float32(255)
    np.testing.assert_allclose(encoding.scale.item(), expected, rtol=1e-6)
