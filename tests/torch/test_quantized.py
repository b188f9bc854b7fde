"""What torch quantized arrives with its encodings, and the integers are those of torch."""

import copy

import numpy as np
import pytest
import torch
from models import (
    Convolutions,
    batches,
    distance,
    encodings,
    graph_of,
    integers,
    linears,
    run,
)
from torch import nn

import halfstep

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def kinds(model):
    """Tensor -> type of its encoding."""
    return {name: encoding.dtype for name, encoding in encodings(model).items()}


def written(model, tmp_path, **options):
    """What the whole road writes: extraction to an encoding table, and Q/DQ from that."""
    return halfstep.convert(model, output=tmp_path / "written.onnx", force=True, **options).model


def assert_codes(model, tmp_path, name, codes):
    """In the model, and in what the whole road writes."""
    for each in (model, written(model, tmp_path)):
        found = integers(each)[name].astype(np.int64)
        np.testing.assert_array_equal(found, codes.detach().numpy().astype(np.int64))


# Programs of pt2e.


def pt2e(module, quantizer, convert=True):
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    program = torch.export.export(module, (batches()[0],)).module()
    prepared = prepare_pt2e(program, quantizer)
    for batch in batches():
        prepared(batch)
    return convert_pt2e(prepared) if convert else prepared


def test_pt2e(tmp_path):
    from quantizer import SmallQuantizer

    converted, x = pt2e(Convolutions().eval(), SmallQuantizer()), batches()[0]
    model = halfstep.from_torch(converted, x)
    found = kinds(model)
    weights = ["conv.weight", "depthwise.weight", "head.weight"]
    assert all(found[name] == "int8" for name in [*weights, "x", "relu", "linear"])
    assert len(found) >= 8
    for i, name in enumerate(weights):
        assert_codes(model, tmp_path, name, getattr(converted, f"_frozen_param{i}"))
    step = max(float(encodings(model)["linear"].scale), 1e-9)
    for each in (model, written(model, tmp_path)):
        assert np.abs(run(each, x) - converted(x).numpy()).max() <= 1.01 * step


def test_pt2e_as_a_stored_program_is_the_same(tmp_path):
    from quantizer import SmallQuantizer

    converted, x = pt2e(Convolutions().eval(), SmallQuantizer()), batches()[0]
    torch.export.save(torch.export.export(converted, (x,)), tmp_path / "net.pt2")
    stored = halfstep.from_torch(torch.export.load(tmp_path / "net.pt2"))
    live = halfstep.from_torch(converted, x)
    assert kinds(stored) == kinds(live)
    np.testing.assert_array_equal(run(stored, x), run(live, x))


@pytest.mark.parametrize(
    ("limits", "dtype", "kind"),
    [
        ((0, 255), torch.uint8, "uint8"),
        ((0, 15), torch.uint8, "uint4"),
        ((-32768, 32767), torch.int16, "int16"),
    ],
)
def test_pt2e_of_other_widths(limits, dtype, kind):
    from quantizer import SmallQuantizer

    quantizer = SmallQuantizer(activation=limits, weight=(-8, 7), dtype=dtype)
    model = halfstep.from_torch(pt2e(Convolutions().eval(), quantizer), batches()[0])
    found = kinds(model)
    assert found["relu"] == kind and found["x"] == kind
    assert found["conv.weight"] == "int4"


def test_pt2e_that_is_only_prepared_has_the_ranges_of_its_observers():
    from quantizer import SmallQuantizer

    x = batches()[0]
    prepared = pt2e(Convolutions().eval(), SmallQuantizer(), convert=False)
    converted = pt2e(Convolutions().eval(), SmallQuantizer())
    found, expected = (encodings(halfstep.from_torch(m, x)) for m in (prepared, converted))
    assert set(found) == set(expected)


def test_dynamic_activations_are_told():
    import torchao.quantization.pt2e.quantizer.x86_inductor_quantizer as x86

    quantizer = x86.X86InductorQuantizer()
    quantizer.set_global(x86.get_default_x86_inductor_quantization_config(is_dynamic=True))
    converted, x = pt2e(Convolutions().eval(), quantizer), batches()[0]
    with pytest.warns(UserWarning, match="torch/dynamic-activation"):
        model = halfstep.from_torch(converted, x)
    assert kinds(model)["head.weight"] == "int8"
    assert distance(run(model, x), converted(x)) < 0.05


# Fake quantization.


class Fake(nn.Module):
    def __init__(self, low, high, axis=None):
        super().__init__()
        self.linear = nn.Linear(16, 4)
        self.low, self.high, self.axis = low, high, axis
        count = 1 if axis is None else self.linear.weight.shape[axis]
        self.register_buffer("scale", torch.linspace(0.02, 0.05, count))
        self.register_buffer("point", torch.zeros(count, dtype=torch.int32))

    def weight(self):
        w, limits = self.linear.weight, (self.low, self.high)
        if self.axis is None:
            return torch.fake_quantize_per_tensor_affine(w, self.scale, self.point, *limits)
        return torch.fake_quantize_per_channel_affine(w, self.scale, self.point, self.axis, *limits)

    def forward(self, x):
        x = torch.fake_quantize_per_tensor_affine(x, 0.05, 3, 0, 255)
        return nn.functional.linear(x, self.weight(), self.linear.bias)


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize(
    ("limits", "kind"),
    [((-128, 127), "int8"), ((-127, 127), "int8"), ((-8, 7), "int4"), ((-32768, 32767), "int16")],
)
def test_fake_quantize_functions(limits, kind, axis, tmp_path):
    module, x = Fake(*limits, axis).eval(), torch.randn(3, 16)
    model = halfstep.from_torch(module, x)
    assert kinds(model)["linear.weight"] == kind
    scale = (
        module.scale if axis is None else module.scale.reshape((-1, 1) if axis == 0 else (1, -1))
    )
    assert_codes(model, tmp_path, "linear.weight", torch.round(module.weight() / scale))
    assert distance(run(model, x), module(x)) <= 1e-5


def test_rounding_is_that_of_torch_where_it_is_not_that_of_onnx(tmp_path):
    """Torch multiplies by the inverse: other codes than division gives, here and there."""

    class Halves(nn.Module):
        def __init__(self, scale):
            super().__init__()
            self.scale = scale
            self.w = nn.Parameter((torch.arange(-127, 127).float() + 0.5) * scale)

        def forward(self, x):
            return x * torch.fake_quantize_per_tensor_affine(self.w, self.scale, 0, -128, 127)

    x, differing = torch.ones(254), 0
    for scale in (0.1, 0.3, 0.7, 0.011):
        module = Halves(scale)
        expected = torch.round(module(x).detach() / scale)
        differing += (expected != torch.round(module.w.detach() / torch.tensor(scale))).sum()
        assert_codes(halfstep.from_torch(module, x), tmp_path, "w", expected)
    assert differing > 0


def qat_module(qconfig, fused=True):
    import torch.ao.quantization as ao

    class Stubs(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.quant, self.dequant = Convolutions(), ao.QuantStub(), ao.DeQuantStub()

        def forward(self, x):
            return self.dequant(self.inner(self.quant(x)))

    module = Stubs().train()
    if fused:
        names = ["inner.conv", "inner.bn", "inner.relu"]
        module = ao.fuse_modules_qat(module, [names])
    module.qconfig = ao.get_default_qat_qconfig(qconfig)
    module = ao.prepare_qat(module)
    for batch in batches():
        module(batch)
    module.eval()
    module.apply(ao.disable_observer)
    return module


@pytest.mark.parametrize("fused", [False, True])
def test_qat_modules(fused, tmp_path):
    module, x = qat_module("qnnpack", fused), batches()[0]
    model = halfstep.from_torch(module, x)
    found = encodings(model)
    assert found["inner.conv.weight"].dtype == "int8"
    assert not [n for n in graph_of(model).node if fused and n.op_type == "BatchNormalization"]
    quantizer = module.inner.head.weight_fake_quant
    weight = quantizer(module.inner.head.weight).detach()
    assert_codes(model, tmp_path, "inner.head.weight", torch.round(weight / quantizer.scale))
    step = float(found["linear"].scale)
    assert np.abs(run(model, x) - module(x).detach().numpy()).max() <= 1.01 * step


def test_observers_with_a_reduced_range():
    """0 to 127 is seven bits."""
    import torch.ao.quantization as ao

    module = ao.QuantWrapper(nn.Linear(16, 4)).eval()
    module.qconfig = ao.get_default_qconfig("fbgemm")
    module = ao.prepare(module)
    x = torch.randn(8, 16)
    with pytest.raises(halfstep.InvalidArgument, match="has seen no data"):
        halfstep.from_torch(module, x)
    module(x)
    scale, point = module.quant.activation_post_process.calculate_qparams()
    encoding = encodings(halfstep.from_torch(module, x))["x"]
    assert encoding.dtype == "uint7"
    assert float(encoding.scale) == float(scale) and int(encoding.zero_point) == int(point)
    with pytest.raises(halfstep.Unsupported, match=r"module quant .* before convert\(\)"):
        halfstep.from_torch(ao.convert(module), x)


def test_learned_parameters(tmp_path):
    import torch.ao.quantization as ao
    from torch.ao.quantization._learnable_fake_quantize import _LearnableFakeQuantize

    class Learned(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(8, 4)
            self.fake = _LearnableFakeQuantize(
                ao.MovingAveragePerChannelMinMaxObserver,
                -8,
                7,
                scale=0.05,
                zero_point=0.0,
                channel_len=4,
                dtype=torch.qint8,
                qscheme=torch.per_channel_symmetric,
                ch_axis=0,
            )
            self.fake.enable_param_learning()

        def forward(self, x):
            return nn.functional.linear(x, self.fake(self.linear.weight), self.linear.bias)

    module, x = Learned().eval(), torch.randn(3, 8)
    model = halfstep.from_torch(module, x)
    assert kinds(model) == {"linear.weight": "int4"}
    weight = module.fake(module.linear.weight).detach()
    assert_codes(model, tmp_path, "linear.weight", torch.round(weight / 0.05))


def test_learned_parameters_as_operators(tmp_path):
    """Zero points are learned as floats and count rounded."""

    class Learned(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.randn(4, 8))
            self.scale = nn.Parameter(torch.full((4,), 0.1))
            self.point = nn.Parameter(torch.full((4,), 1.3))

        def weight(self):
            return torch._fake_quantize_learnable_per_channel_affine(
                self.w, self.scale, self.point, 0, -8, 7, 1.0
            )

        def forward(self, x):
            return x @ self.weight().T

    module, x = Learned(), torch.randn(3, 8)
    model = halfstep.from_torch(module, x)
    assert distance(run(model, x), module(x)) <= 1e-5
    assert_codes(model, tmp_path, "w", torch.round(module.weight() / 0.1).T + 1)


def test_quantization_in_a_branch_is_refused():
    from torch.ao.quantization.fx import _decomposed  # noqa: F401  registers operators

    def fake(x):
        shared = (0.1, 0, -8, 7, torch.int8)
        codes = torch.ops.quantized_decomposed.quantize_per_tensor(x, *shared)
        return torch.ops.quantized_decomposed.dequantize_per_tensor(codes, *shared)

    class Branch(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, fake, lambda x: x * 2, (x,))

    with pytest.raises(halfstep.Unsupported, match=r"quantize_per_tensor.*in a branch"):
        halfstep.from_torch(Branch(), torch.randn(3))


# torchao.


def quantized(config, **arguments):
    import torchao.quantization as ao
    from torchao.quantization.granularity import PerAxis, PerGroup

    places = {"group": PerGroup(32), "axis": PerAxis(0)}
    arguments = {key: places.get(value, value) for key, value in arguments.items()}
    module = linears()
    ao.quantize_(module, getattr(ao, config)(**arguments))
    return module


WEIGHT_ONLY = [
    ("Int8WeightOnlyConfig", {}, "int8"),
    ("IntxWeightOnlyConfig", {"weight_dtype": torch.int4, "granularity": "group"}, "int4"),
    ("IntxWeightOnlyConfig", {"weight_dtype": torch.int4, "granularity": "axis"}, "int4"),
    ("IntxWeightOnlyConfig", {"weight_dtype": torch.int3, "granularity": "group"}, "int3"),
]


@pytest.mark.parametrize("as_program", [False, True])
@pytest.mark.parametrize(("config", "arguments", "kind"), WEIGHT_ONLY)
def test_torchao_weights(config, arguments, kind, as_program, tmp_path):
    module, x = quantized(config, **arguments), torch.randn(4, 64)
    expected = module(x)
    codes = module[0].weight.qdata
    if as_program:
        module = torch.export.export(module, (x,))
    model = halfstep.from_torch(module, x)
    assert kinds(model) == {"0.weight": kind, "2.weight": kind}
    matrix = integers(model)["0.weight"].astype(np.int64)
    assert any(np.array_equal(matrix, side) for side in (codes.numpy(), codes.numpy().T))
    for each in (model, written(model, tmp_path)):
        assert distance(run(each, x), expected) <= 1e-5


def test_torchao_float8():
    module, x = quantized("Float8WeightOnlyConfig"), torch.randn(4, 64)
    model = halfstep.from_torch(module, x)
    assert kinds(model) == {"0.weight": "float8_e4m3fn", "2.weight": "float8_e4m3fn"}
    assert distance(run(model, x), module(x)) <= 1e-5


@pytest.mark.parametrize(
    ("config", "arguments", "kind"),
    [
        ("Int8DynamicActivationInt8WeightConfig", {}, "int8"),
        (
            "Int8DynamicActivationIntxWeightConfig",
            {"weight_dtype": torch.int4, "weight_granularity": "group"},
            "int4",
        ),
    ],
)
def test_torchao_dynamic_activations_are_told(config, arguments, kind):
    module, x = quantized(config, **arguments), torch.randn(4, 64)
    with pytest.warns(UserWarning, match=r"0\.weight is quantized at run time"):
        model = halfstep.from_torch(module, x)
    assert set(kinds(model).values()) == {kind}
    assert distance(run(model, x), module(x)) < 0.05


def test_integers_computed_at_run_time_are_refused_by_name():
    module, x = quantized("Int8DynamicActivationInt8WeightConfig"), torch.randn(4, 64)
    program = torch.export.export(module, (x,))
    with pytest.raises(halfstep.Unsupported, match=r"torchao\.quantize_affine.*from_torch"):
        halfstep.from_torch(program)


class OwnArithmetic(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("packed", torch.randint(-8, 8, (16, 4), dtype=torch.int8))
        self.register_buffer("offset", torch.rand(16, 4))

    def forward(self, x):
        return x @ (self.packed.float() + self.offset)


class OwnRows(OwnArithmetic):
    def forward(self, x):
        return nn.functional.embedding(x.long().abs() % 16, self.packed).float() * 0.1


class OwnBits(OwnArithmetic):
    def forward(self, x):
        return x @ ((self.packed.int() >> 2) & 3).float()


@pytest.mark.parametrize("kind", [OwnArithmetic, OwnRows, OwnBits])
def test_weights_of_an_unknown_form_are_refused_by_name(kind):
    with pytest.raises(halfstep.Unsupported, match="tensor packed holds"):
        halfstep.from_torch(kind(), torch.randn(2, 16))


def test_integers_of_the_input_may_become_floats():
    class Image(nn.Module):
        def forward(self, x):
            return x.float() / 255

    x = torch.randint(0, 256, (2, 3), dtype=torch.uint8)
    assert distance(run(halfstep.from_torch(Image(), x), x), x / 255) <= 1e-6


def test_the_module_of_the_caller_stays_as_it_is():
    module, x = qat_module("qnnpack"), batches()[0]
    before, weights = copy.deepcopy(module), quantized("Int8WeightOnlyConfig")
    halfstep.from_torch(module, x)
    halfstep.from_torch(weights, torch.randn(4, 64))
    assert str(module) == str(before)
    assert torch.equal(module(x), before(x))
    assert type(weights[0].weight).__name__ == "Int8Tensor"
