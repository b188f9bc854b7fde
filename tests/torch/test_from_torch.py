"""Models of PyTorch come in as torch computes them, with their names and extents."""

import copy
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from models import (
    Convolutions,
    Recurrent,
    Transformer,
    batches,
    constants,
    distance,
    encodings,
    graph_of,
    run,
)
from torch import nn

import halfstep

DATA = Path(__file__).resolve().parent.parent / "data/torch"


def program(name):
    import torchao  # noqa: F401  registers its types
    from torch.ao.quantization.fx import _decomposed  # noqa: F401  registers operators

    return torch.export.load(DATA / f"{name}.pt2")


def stored(name):
    file = np.load(DATA / f"{name}.io.npz")
    return file["x"], file["y"]


@pytest.mark.parametrize("name", ["small", "small_dyn", "small_pt2e", "linear_ao_int4"])
def test_stored_programs_compute_what_torch_computed(name):
    x, y = stored(name)
    assert distance(run(halfstep.from_torch(program(name)), x), y) <= 1e-5


def test_stored_fake_quantization_is_within_a_step():
    """Sums that torch rounds otherwise land on the other side of a half."""
    x, y = stored("linear_fakequant")
    steps = np.abs(run(halfstep.from_torch(program("linear_fakequant")), x) - y) / 0.0002
    assert steps.max() <= 1.01 and (steps > 0.5).mean() < 0.02


@pytest.mark.parametrize(
    ("kind", "inputs"),
    [
        (Convolutions, lambda: torch.randn(2, 3, 16, 16)),
        (Transformer, lambda: torch.randint(0, 50, (2, 9))),
        (Recurrent, lambda: torch.randn(2, 5, 16)),
    ],
)
def test_modules(kind, inputs):
    torch.manual_seed(0)
    module, x = kind().eval(), inputs()
    assert distance(run(halfstep.from_torch(module, x), x), module(x)) <= 1e-5


def test_constants_have_the_names_of_parameters():
    model = halfstep.from_torch(Transformer().eval(), torch.randint(0, 50, (2, 9)))
    named = {name for name, _ in Transformer().named_parameters()}
    assert named <= set(constants(model))
    names = set(constants(halfstep.from_torch(Convolutions().eval(), batches()[0])))
    assert {"conv.weight", "bn.running_var", "depthwise.bias", "head.weight"} <= names
    recurrent = set(constants(halfstep.from_torch(Recurrent().eval(), torch.randn(2, 5, 16))))
    assert {"lstm.weight_ih_l0", "lstm.weight_hh_l0", "gru.weight_ih_l0"} <= recurrent


def extents(value):
    return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]


@pytest.mark.parametrize(
    ("shapes", "names"),
    [
        ({"x": {0: torch.export.Dim("rows"), 1: torch.export.Dim("length", max=64)}}, None),
        ({"x": {0: "rows", 1: "length"}}, None),
        (({0: "rows", 1: torch.export.Dim("length")},), None),
        ({"x": {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.AUTO}}, ["batch", "x_1"]),
    ],
)
def test_open_extents_keep_their_names(shapes, names):
    module, x = Transformer().eval(), torch.randint(0, 50, (2, 9))
    model = halfstep.from_torch(module, x, shapes)
    graph = graph_of(model)
    names = names or ["rows", "length"]
    assert extents(graph.input[0]) == names
    assert extents(graph.output[0]) == [*names, 7]
    longer = torch.randint(0, 50, (5, 13))
    assert distance(run(model, longer), module(longer)) <= 1e-5


def test_a_stored_open_batch_is_called_batch():
    model = halfstep.from_torch(program("small_dyn"))
    assert extents(graph_of(model).input[0])[0] == "batch"
    x = np.concatenate([stored("small_dyn")[0]] * 2)
    assert run(model, x).shape[0] == len(x)


def test_the_same_model_is_the_same_bytes_without_paths():
    torch.manual_seed(0)
    module, x = Convolutions().eval(), batches()[0]
    first = halfstep.from_torch(module, x).serialize()
    assert halfstep.from_torch(module, x).serialize() == first
    assert b"site-packages" not in first and b".py" not in first


def test_a_module_in_training_is_taken_in_evaluation_mode_and_left_alone():
    module, x = Convolutions().train(), batches()[0]
    before = copy.deepcopy(module.state_dict())
    model = halfstep.from_torch(module, x)
    assert module.training
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert distance(run(model, x), module.eval()(x)) <= 1e-5


@pytest.mark.parametrize("layer", [nn.Dropout(0.5), nn.BatchNorm1d(3)])
def test_a_program_in_training_mode_is_refused(layer):
    x = torch.randn(4, 3)
    program = torch.export.export(nn.Sequential(nn.Linear(3, 3), layer).train(), (x,))
    with pytest.raises(halfstep.Unsupported, match=r"in training mode\. Call eval"):
        halfstep.from_torch(program)
    assert halfstep.from_torch(nn.Sequential(nn.Linear(3, 3), layer).eval(), x)


def test_several_inputs_and_keyword_arguments():
    class Two(nn.Module):
        def forward(self, a, *, b):
            return a * 2 + b

    a, b = torch.randn(2, 3), torch.randn(2, 3)
    model = halfstep.from_torch(Two(), (a,), kwargs={"b": b})
    assert distance(run(model, a, b), a * 2 + b) <= 1e-6


def test_what_cannot_be_taken():
    class Branches(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(halfstep.Unsupported, match="Branches"):
        halfstep.from_torch(Branches(), torch.randn(3))
    with pytest.raises(halfstep.InvalidArgument, match="example_inputs is of type str"):
        halfstep.from_torch(Convolutions(), "x")
    with pytest.raises(halfstep.InvalidArgument, match="module is of type dict"):
        halfstep.from_torch({}, torch.randn(3))


def test_other_functions_say_how_a_module_is_given():
    with pytest.raises(halfstep.InvalidArgument, match=r"Convolutions of PyTorch.*from_torch"):
        halfstep.quantize(Convolutions(), batches()[0].numpy())


def test_an_operator_without_counterpart_is_named():
    class Odd(nn.Module):
        def forward(self, x):
            return torch.linalg.qr(x)[0]

    with pytest.raises(halfstep.Unsupported, match="qr"):
        halfstep.from_torch(Odd(), torch.randn(3, 3))


def test_the_whole_road_from_a_module(tmp_path):
    """Recipe, override by the source's name, target, Q/DQ and encodings."""
    torch.manual_seed(0)
    module = Convolutions().eval()
    model = halfstep.from_torch(module, batches()[0])
    override = tmp_path / "given.encodings"
    override.write_text(
        '{"version": "2.0.0", "encodings": [{"name": "conv.weight", "output_dtype": "int8", '
        '"y_scale": 0.01, "y_zero_point": 0}]}'
    )
    result = halfstep.quantize(
        model, [batch.numpy() for batch in batches()], target="htp_v75", encodings=override
    )
    assert float(result.encodings["conv.weight"].scale) == pytest.approx(0.01)
    names = {"x", "relu", "conv.weight", "head.weight", "depthwise.weight"}
    assert names <= set(result.encodings)
    assert distance(run(result.model, batches()[0]), module(batches()[0])) < 0.2
    pair = [n.op_type for n in onnx.load_from_string(result.model.serialize()).graph.node]
    assert "QuantizeLinear" in pair


def test_a_quantized_program_for_a_target(tmp_path):
    x, y = stored("small_pt2e")
    model = halfstep.from_torch(program("small_pt2e"))
    result = halfstep.convert(model, target_backend="HTP", output=tmp_path / "out.onnx")
    assert {"x", "mean", "l.weight"} <= set(encodings(model)) & set(result.encodings)
    assert distance(run(result.model, x), y) < 0.1


def test_a_module_that_cannot_be_copied():
    class Locked(nn.Module):
        def __init__(self):
            super().__init__()
            self.lines = (line for line in "ab")

        def forward(self, x):
            return x + 1

    with pytest.raises(halfstep.Unsupported, match=r"Locked can't be copied.*torch\.export"):
        halfstep.from_torch(Locked(), torch.randn(3))
    program = torch.export.export(Locked(), (torch.randn(3),))
    assert graph_of(halfstep.from_torch(program)).node[0].op_type == "Add"
