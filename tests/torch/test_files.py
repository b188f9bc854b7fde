"""Programs and TorchScript from files, and files that are hostile."""

import io
import os
import zipfile
from pathlib import Path
from types import SimpleNamespace

import onnx
import onnxruntime
import pytest
import torch
from halfstep._frontend import torch as frontend
from halfstep._frontend.report import FrontendError
from models import Convolutions, batches, distance

DATA = Path(__file__).resolve().parent.parent / "data/torch"


def convert(path, tmp_path, **extents):
    output = tmp_path / "out.onnx"
    request = SimpleNamespace(model=str(path), output=str(output), input_extents=extents)
    diagnostics = frontend.convert(request)
    onnx.checker.check_model(onnx.load(output), full_check=True)
    return onnxruntime.InferenceSession(output), diagnostics


def refused(path, tmp_path, kind, message, **extents):
    with pytest.raises(FrontendError, match=message) as caught:
        convert(path, tmp_path, **extents)
    assert caught.value.kind == kind
    assert not (tmp_path / "out.onnx").exists()


@pytest.mark.parametrize("name", ["small", "small_dyn", "small_pt2e", "linear_ao_int4"])
def test_programs(name, tmp_path):
    session, diagnostics = convert(DATA / f"{name}.pt2", tmp_path)
    assert session.get_inputs() and not diagnostics


def test_traced_torchscript(tmp_path):
    module, x = Convolutions().eval(), batches()[0]
    torch.jit.save(torch.jit.trace(module, x), tmp_path / "net.pt")
    session, _ = convert(tmp_path / "net.pt", tmp_path)
    assert session.get_inputs()[0].name == "x"
    assert session.get_inputs()[0].shape == [2, 3, 8, 8]
    assert distance(session.run(None, {"x": x.numpy()})[0], module(x)) <= 1e-5
    names = {tensor.name for tensor in onnx.load(tmp_path / "out.onnx").graph.initializer}
    assert {"conv.weight", "head.bias"} <= names


def test_scripted_torchscript_needs_extents(tmp_path):
    module, path = Convolutions().eval(), tmp_path / "net.pt"
    torch.jit.save(torch.jit.script(module), path)
    refused(path, tmp_path, "unsupported", r"input x has\. Give it with -d x 1,3,224,224")
    refused(path, tmp_path, "invalid_argument", "has no input y", y=[2, 3, 8, 8])
    session, _ = convert(path, tmp_path, x=[2, 3, 8, 8])
    x = batches()[0]
    assert distance(session.run(None, {"x": x.numpy()})[0], module(x)) <= 1e-5


def test_torchscript_with_fake_quantization_keeps_it(tmp_path):
    class Fake(torch.nn.Module):
        def forward(self, x):
            return torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 255)

    torch.jit.save(torch.jit.trace(Fake(), torch.randn(2, 3)), tmp_path / "net.pt")
    convert(tmp_path / "net.pt", tmp_path)
    kinds = [node.op_type for node in onnx.load(tmp_path / "out.onnx").graph.node]
    assert kinds == ["QuantizeLinear", "DequantizeLinear"]


def test_pickles_are_refused_unread(tmp_path):
    module, path = Convolutions(), tmp_path / "net.pt"
    torch.save(module, path)
    refused(path, tmp_path, "unsupported", "pickled module.*from_torch.*torch.export.save")
    torch.save(module.state_dict(), path)
    refused(path, tmp_path, "unsupported", "state_dict.*torch.export.save")
    path.write_bytes(b"nothing")
    refused(path, tmp_path, "invalid_file", "no file of PyTorch")


class Hostile:
    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (str(self.mark),)


def changed(source, target, change):
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(target, "w") as after:
        for info in before.infolist():
            after.writestr(info.filename, change(info.filename, before.read(info)))


def test_a_hostile_weight_is_not_run(tmp_path):
    mark, buffer = tmp_path / "ran", io.BytesIO()
    torch.save(Hostile(mark), buffer)
    changed(
        DATA / "linear_ao_int4.pt2",
        tmp_path / "net.pt2",
        lambda name, data: buffer.getvalue() if name.endswith("weight_0") else data,
    )
    refused(tmp_path / "net.pt2", tmp_path, "invalid_file", "Weights only load failed")
    assert not mark.exists()


def test_a_hostile_object_is_not_run(tmp_path):
    config = (
        '{"config": {"c": {"path_name": "opaque_obj_0", "is_param": false, "use_pickle": true, '
        '"tensor_meta": null}}}'
    )
    changed(
        DATA / "small.pt2",
        tmp_path / "net.pt2",
        lambda name, data: config.encode() if "constants_config" in name else data,
    )
    refused(tmp_path / "net.pt2", tmp_path, "unsupported", "constant c is an object of a class")


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').mkdir('MARK')",
        "Symbol('s77').__class__",
        "open(1)",
        "Symbol('s77', positive=mkdir)",
        "(1).real",
    ],
)
def test_a_hostile_extent_is_not_evaluated(tmp_path, text):
    mark = tmp_path / "ran"
    text = text.replace("MARK", str(mark))
    seen = []

    def change(name, data):
        old = b"Symbol('s77', positive=True, integer=True)"
        seen.extend([name] * data.count(old))
        return data.replace(old, text.encode())

    changed(DATA / "small_dyn.pt2", tmp_path / "net.pt2", change)
    assert seen
    refused(tmp_path / "net.pt2", tmp_path, "invalid_file", "an extent is .*expected arithmetic")
    assert not mark.exists()


def test_a_damaged_program(tmp_path):
    content = (DATA / "small.pt2").read_bytes()
    (tmp_path / "net.pt2").write_bytes(content[: len(content) // 2])
    refused(tmp_path / "net.pt2", tmp_path, "invalid_file", "no file of PyTorch")
    changed(
        DATA / "small.pt2",
        tmp_path / "net.pt2",
        lambda name, data: b'{"a": 1}' if name.endswith("model.json") else data,
    )
    refused(tmp_path / "net.pt2", tmp_path, "invalid_file", "can't read the program")
