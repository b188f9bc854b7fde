import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

import halfstep
from halfstep import QuantizationSpec


class NamedDtype:
    """Stands for a dtype of torch, which prints as torch.int8."""

    def __init__(self, name):
        self.name = name

    def __str__(self):
        return f"torch.{self.name}"


def test_the_defaults_are_those_of_the_seed():
    spec = QuantizationSpec()
    assert spec.dtype == "int8"
    assert spec.qscheme == "symmetric"
    assert spec.qformulation is halfstep.QuantizationFormulation.ZP
    assert spec.granularity == halfstep.PerTensorGranularity()
    assert spec.fake_quantize_cls == spec.qparam_calculator_cls == "default"
    assert spec.range_calculator_cls == "minmax"
    assert spec.float_range == [None, None]
    assert spec.scale_dtype is None
    assert (spec.eps, spec.averaging_constant) == (2.0**-23, 0.01)
    assert (spec.policy, spec.e8m0_mode) == ("reference", "floor")
    assert (spec.n_bits, spec.quant_min, spec.quant_max, spec.target_dtype) == (
        8,
        -128,
        127,
        "int8",
    )


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("uint4", "uint4"),
        (np.int8, "int8"),
        (np.dtype("uint16"), "uint16"),
        (ml_dtypes.int4, "int4"),
        (np.dtype(ml_dtypes.float8_e4m3fn), "float8_e4m3fn"),
        (ml_dtypes.float4_e2m1fn, "float4_e2m1fn_x2"),
        (NamedDtype("int2"), "int2"),
        (NamedDtype("float4_e2m1fn_x2"), "float4_e2m1fn_x2"),
        ("float8_e4m3", "float8_e4m3fn"),
    ],
)
def test_dtypes_in_every_form(dtype, name):
    assert QuantizationSpec(dtype=dtype).dtype == name


def test_fp4_implies_its_scale_dtype():
    assert QuantizationSpec(dtype="float4_e2m1fn").scale_dtype == "float8_e8m0fnu"
    scaled = QuantizationSpec(dtype="float8_e5m2", scale_dtype=ml_dtypes.float8_e8m0fnu)
    assert scaled.scale_dtype == "float8_e8m0fnu"


@pytest.mark.parametrize(
    ("granularity", "made"),
    [
        ({"type": "per_tensor"}, halfstep.PerTensorGranularity()),
        ({"type": "per_channel", "axis": -1}, halfstep.PerChannelGranularity(axis=-1)),
        ({"type": "per_channel"}, halfstep.PerChannelGranularity()),
        (
            {"type": "per_block", "axis": 1, "block_size": 32},
            halfstep.PerBlockGranularity(axis=1, block_size=32),
        ),
        (
            {"type": "per_block", "axis": 1, "block_size": (32,)},
            halfstep.PerBlockGranularity(axis=1, block_size=32),
        ),
        (
            {"type": "per_block", "block_size": (1, -1, 4)},
            halfstep.PerBlockGranularity(block_size=(1, -1, 4)),
        ),
    ],
)
def test_granularity_as_dict_and_class(granularity, made):
    spec = QuantizationSpec(granularity=granularity)
    assert spec == QuantizationSpec(granularity=made)
    assert spec.granularity == made
    assert halfstep.QuantizationGranularity.from_dict(spec.granularity.to_dict()) == made


def test_lpbq():
    granularity = halfstep.LpbqGranularity(axis=1, block_size=16, channel_axis=0)
    spec = QuantizationSpec(dtype="int4", granularity=granularity)
    assert spec.granularity == granularity
    assert granularity.to_dict()["type"] == "lpbq"


@pytest.mark.parametrize(
    "fields",
    [
        {"dtype": "int9"},
        {"dtype": "Int8"},
        {"qscheme": "symetric"},
        {"qformulation": "max"},
        {"granularity": "per_tensor"},
        {"granularity": None},
        {"granularity": {"axis": 1}},
        {"granularity": {"type": "per_channel", "axis": 1.5}},
        {"granularity": {"type": "per_block", "axis": 0, "block_size": 0}},
        {"float_range": [1, 2]},
        {"float_range": [-1, -2]},
        {"float_range": [-1]},
        {"float_range": [-1, True]},
        {"float_range": [-1, float("nan")]},
        {"scale_dtype": "float32"},
        {"scale_dtype": "float8_e8m0fnu", "dtype": "uint8"},
        {"eps": -1},
        {"policy": "unsafe"},
        {"qparam_calculator_cls": "statik"},
        {"range_calculator_cls": int},
        {"fake_quantize_cls": 5},
        {"averaging_konstant": 0.1},
    ],
)
def test_broken_rules_name_the_field(fields):
    with pytest.raises(halfstep.InvalidArgument) as caught:
        QuantizationSpec(**fields)
    assert isinstance(caught.value, ValueError)
    assert any(field in str(caught.value) for field in (*fields, "int", "5"))


def test_all_broken_rules_are_told_at_once():
    with pytest.raises(ValueError, match=r"(?s)qscheme.*float_range") as caught:
        QuantizationSpec(dtype="float8_e4m3fn", qscheme="asymmetric", float_range=[1, 2], eps=-1)
    assert "eps" in str(caught.value)


def test_classes_and_missing_fields_are_told_with_the_rest():
    class Stranger(halfstep.RangeCalculatorBase):
        pass

    class Demanding(QuantizationSpec):
        percentile: float

    with pytest.raises(ValueError, match=r"(?s)dtype.*Stranger.*percentile") as caught:
        Demanding(dtype="int9", range_calculator_cls=Stranger)
    assert str(caught.value).startswith("quantization spec:\n")
    with pytest.raises(ValueError, match=r"^quantization spec: range_calculator_cls: Stranger is"):
        QuantizationSpec(range_calculator_cls=Stranger)


def test_numbers_of_numpy_are_numbers():
    spec = QuantizationSpec(
        float_range=np.array([-1.0, 2.0]),
        eps=np.float32(0.5),
        granularity={"type": "per_channel", "axis": np.int64(1)},
    )
    assert spec == QuantizationSpec(
        float_range=[-1, 2], eps=0.5, granularity=halfstep.PerChannelGranularity(axis=1)
    )
    assert halfstep.PerBlockGranularity(np.int8(0), np.array([4])).block_size == 4


@pytest.mark.parametrize("field", ["eps", "float_range", "granularity"])
def test_values_of_no_plain_form_name_their_field(field):
    with pytest.raises(halfstep.InvalidArgument, match=f"{field}: .*object"):
        QuantizationSpec(**{field: object()})


def test_unknown_granularities_are_called_types():
    with pytest.raises(ValueError, match='unknown type "per_chanel"; did you mean "per_channel"'):
        QuantizationSpec(granularity={"type": "per_chanel"})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"dtype": "uint1", "qscheme": "symmetric_aimet"}, "no value above 0"),
        ({"qscheme": "symmetric_aimet", "qformulation": "minval"}, 'only "zp"'),
        ({"uneven_blocks": "drop"}, '"error", "skip" or "pad"'),
    ],
)
def test_rules_of_our_own_fields(fields, message):
    with pytest.raises(ValueError, match=message):
        QuantizationSpec(**fields)


def test_unknown_fields_get_the_closest_name():
    with pytest.raises(ValueError, match='did you mean "qscheme"'):
        QuantizationSpec(qsheme="symmetric")


SPECS = [
    QuantizationSpec(),
    QuantizationSpec(dtype="uint4", qscheme="asymmetric", qformulation="minval", eps=1e-7),
    QuantizationSpec(
        dtype="float8_e4m3fn",
        scale_dtype="float8_e8m0fnu",
        granularity=halfstep.PerBlockGranularity(axis=-1, block_size=32),
        e8m0_mode="even",
        policy="safe",
    ),
    QuantizationSpec(qscheme="symmetric_aimet", uneven_blocks="pad"),
    QuantizationSpec(float_range=(None, 6), qparam_calculator_cls="global_minmax"),
    QuantizationSpec(float_range=(-0.1, 1 / 3), granularity={"type": "per_channel", "axis": 0}),
]


@pytest.mark.parametrize("spec", SPECS, ids=repr)
def test_specs_travel_without_loss(spec):
    assert QuantizationSpec.from_dict(spec.to_dict()) == spec
    assert QuantizationSpec.from_json(spec.to_json()) == spec
    assert QuantizationSpec.from_json(spec.to_json(indent=2)) == spec
    assert QuantizationSpec.from_yaml(spec.to_yaml()) == spec
    assert copy.deepcopy(spec) == spec
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert eval(repr(spec), vars(halfstep)) == spec
    assert hash(copy.copy(spec)) == hash(spec)


def test_yaml_is_read_as_people_write_it():
    text = "dtype: uint4\ngranularity:\n  type: per_block\n  axis: 1\n  block_size: 32\n"
    spec = QuantizationSpec.from_yaml(text)
    assert spec.granularity == halfstep.PerBlockGranularity(axis=1, block_size=32)
    with pytest.raises(halfstep.InvalidArgument, match="line 2"):
        QuantizationSpec.from_yaml("dtype: uint4\n  qscheme: [")
    with pytest.raises(halfstep.InvalidArgument, match="line 1"):
        QuantizationSpec.from_json("{broken")


def test_specs_are_values():
    spec = QuantizationSpec()
    with pytest.raises(AttributeError, match="replace"):
        spec.dtype = "int4"
    with pytest.raises(AttributeError):
        del spec.dtype
    with pytest.raises(AttributeError, match="dtipe"):
        _ = spec.dtipe
    changed = spec.replace(dtype="int4")
    assert changed.dtype == "int4"
    assert spec.dtype == "int8"
    assert changed != spec
    spec.to_dict()["granularity"]["type"] = "other"
    spec.float_range.append(1)
    assert spec == QuantizationSpec()


class PercentileSpec(QuantizationSpec):
    percentile: float = 99.9
    note: str


def test_fields_of_a_subclass():
    spec = PercentileSpec(note="n", dtype="uint8")
    assert spec.get_extra_args() == {"percentile": 99.9, "note": "n"}
    assert (spec.percentile, spec.note, spec.dtype) == (99.9, "n", "uint8")
    assert PercentileSpec.from_yaml(spec.to_yaml()) == spec
    assert spec.replace(percentile=50).percentile == 50
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert QuantizationSpec().get_extra_args() == {}
    assert spec != QuantizationSpec(dtype="uint8")
    with pytest.raises(halfstep.InvalidArgument, match="note"):
        PercentileSpec()
    with pytest.raises(halfstep.InvalidArgument, match="percentyle"):
        PercentileSpec(note="n", percentyle=1)


def test_dtype_helpers():
    assert QuantizationSpec.get_n_bits_from_dtype(np.uint16) == 16
    assert QuantizationSpec.get_target_dtype("int3") == "int8"
    assert QuantizationSpec.get_target_dtype("float4_e2m1fn_x2") == "float8_e4m3fn"
    assert QuantizationSpec.get_quant_range("int4", "symmetric_with_clipping") == (-7, 7)
    low, high = QuantizationSpec.get_quant_range(
        "float8_e5m2", halfstep.QuantizationScheme.SYMMETRIC
    )
    assert (low, high) == (-57344.0, 57344.0)
    assert isinstance(low, float)
    assert isinstance(QuantizationSpec.get_quant_range("uint8", "symmetric")[1], int)
    with pytest.raises(RuntimeError):
        QuantizationSpec.get_n_bits_from_dtype(bool)
    with pytest.raises(RuntimeError):
        QuantizationSpec.get_target_dtype(np.bool_)
    with pytest.raises(ValueError, match="int4"):
        QuantizationSpec.get_n_bits_from_dtype("itn4")


def test_export_checks():
    minval = QuantizationSpec(qformulation="minval")
    minval.check_export("coreai", "weight")
    with pytest.raises(halfstep.Unsupported, match="qformulation"):
        minval.check_export("coreml", "weight")
    with pytest.raises(halfstep.Unsupported, match=r'dtype "int4".*"int8" or "uint8"'):
        QuantizationSpec(dtype="int4").check_export("coreml", "activation")
    with pytest.raises(halfstep.InvalidArgument, match="coreml"):
        minval.check_export("coremll", "weight")
    with pytest.raises(halfstep.InvalidArgument, match="activation"):
        minval.check_export("coreml", "weights")
