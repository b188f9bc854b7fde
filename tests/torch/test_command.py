"""The command on PyTorch files: a child of this Python reads them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from models import Convolutions, batches

import halfstep

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests/data/torch"


def command(*arguments, code=0):
    words = [os.environ.get("HALFSTEP_COMMAND", str(ROOT / ".venv/bin/halfstep"))]
    done = subprocess.run(
        [*words, *map(str, arguments)],
        env={**os.environ, "HALFSTEP_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    folder = tmp_path_factory.mktemp("samples")
    generator = np.random.default_rng(0)
    for i in range(2):
        x = generator.standard_normal((1, 3, 16, 16), np.float32)
        np.savez(folder / f"{i}.npz", x=x)
    return folder


def pairs(path):
    return [node.op_type for node in onnx.load(path).graph.node].count("QuantizeLinear")


def test_inspect():
    found = json.loads(command("inspect", DATA / "small_pt2e.pt2", "--json").stdout)
    weights = [row for row in found["model"]["encodings"] if row["of"] == "weight"]
    assert [(row["type"], row["tensors"]) for row in weights] == [("int8", 3)]


def test_quantize(samples, tmp_path):
    out, encodings = tmp_path / "q.onnx", tmp_path / "q.encodings"
    command(
        *("quantize", DATA / "small.pt2", "--calibration", samples, "-o", out),
        *("--encodings-out", encodings, "--set", "tensor:relu act=uint16"),
    )
    found = {entry["name"]: entry for entry in json.loads(encodings.read_text())["encodings"]}
    assert found["relu"]["output_dtype"] == "uint16"
    assert found["l.weight"]["output_dtype"] == "int8"
    assert pairs(out) >= 4


def test_convert_and_encodings_of_the_model(tmp_path):
    out, encodings = tmp_path / "q.onnx", tmp_path / "m.encodings"
    model = DATA / "linear_ao_int4.pt2"
    command("encodings", "from-model", model, "-o", encodings)
    found = {entry["name"]: entry for entry in json.loads(encodings.read_text())["encodings"]}
    assert found["0.weight"]["output_dtype"] == "int4"
    command("convert", "-i", model, "-o", out)
    assert "DequantizeLinear" in [node.op_type for node in onnx.load(out).graph.node]


def test_overrides_by_the_names_of_the_source(tmp_path):
    override, out = tmp_path / "o.encodings", tmp_path / "q.onnx"
    entry = {"name": "conv2d", "output_dtype": "uint8", "y_scale": 0.03, "y_zero_point": 7}
    override.write_text(json.dumps({"version": "2.0.0", "encodings": [entry]}))
    arguments = ("-i", DATA / "small_pt2e.pt2", "--quantization_overrides", override, "-o", out)
    command("convert", *arguments)
    names = {node.input[0] for node in onnx.load(out).graph.node if "Quantize" in node.op_type}
    assert "conv2d" in names
    entry["name"] = "conv2_d"
    override.write_text(json.dumps({"version": "2.0.0", "encodings": [entry]}))
    assert "conv2d" in command("convert", *arguments, "--force", code=4).stderr


def test_the_chip(samples, tmp_path):
    """A DLC, and the emulator beside the simulation."""
    pytest.importorskip("onnxruntime_qnn")
    out, dlc = tmp_path / "q.onnx", tmp_path / "q.dlc"
    command(
        *("quantize", DATA / "small.pt2", "--calibration", samples, "-o", out),
        *("--target", "htp_v75", "--dlc", dlc),
    )
    assert dlc.stat().st_size > 1000
    shown = command(
        *("verify", out, "--on", "htp", "--arch", "v75", "--data", samples),
        *("--float", DATA / "small.pt2"),
    )
    assert "linear" in shown.stdout


def test_torchscript(tmp_path):
    module, path, out = Convolutions().eval(), tmp_path / "net.pt", tmp_path / "net.onnx"
    torch.jit.save(torch.jit.script(module), path)
    assert "-d x 1,3,224,224" in command("convert", "-i", path, "-o", out, code=5).stderr
    command("convert", "-i", path, "-o", out, "-d", "x", "2,3,8,8")
    extents = onnx.load(out).graph.input[0].type.tensor_type.shape.dim
    assert [extent.dim_value for extent in extents] == [2, 3, 8, 8]
    model = halfstep.load(path, input_extents={"x": list(batches()[0].shape)})
    assert halfstep.inspect(model)


def test_loading_in_python(tmp_path):
    model = halfstep.load(DATA / "small_dyn.pt2")
    assert "batch" in str(halfstep.inspect(model)["inputs"])
    with pytest.raises(halfstep.InvalidArgument, match="TFLite and TorchScript"):
        halfstep.load(DATA / "small.pt2", input_extents={"x": [2, 3, 16, 16]})
    torch.save(Convolutions(), tmp_path / "net.pt")
    with pytest.raises(halfstep.InvalidFile, match=r"torch\.export\.save"):
        halfstep.load(tmp_path / "net.pt")
