"""The command on TensorFlow models: every road that an ONNX model can take."""

import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

DATA = Path(__file__).resolve().parent.parent / "data"
TF = DATA / "tensorflow"
FQ = TF / "fq_savedmodel"
CNN = TF / "cnn_savedmodel"
ACT = "StatefulPartitionedCall/Relu6:0"  # of FQ, in front of a FakeQuant


def run(path: Path, x: np.ndarray, optimized: bool = True) -> np.ndarray:
    options = ort.SessionOptions()
    if not optimized:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options)
    return session.run(None, {session.get_inputs()[0].name: x})[0]


@pytest.fixture
def samples(tmp_path):
    folder = tmp_path / "samples"
    folder.mkdir()
    rng = np.random.default_rng(3)
    for i in range(3):
        x = rng.uniform(-1, 1, (1, 32, 32, 3)).astype(np.float32)
        np.savez(folder / f"{i}.npz", keras_tensor=x)
    return folder


def test_inspect(halfstep):
    report = halfstep("inspect", FQ, "--json").json["model"]
    rows = {
        (row["of"], row["type"], row["granularity"]): row["tensors"] for row in report["encodings"]
    }
    assert rows[("weight", "int4", "per tensor")] == 1
    assert rows[("weight", "int8", "per channel")] == 1
    assert rows[("activation", "uint16", "per tensor")] == 1


@pytest.mark.parametrize("name", ["fq_savedmodel", "fq_savedmodel/saved_model.pb", "fq_frozen.pb"])
def test_convert_computes_what_tensorflow_does(halfstep, tmp_path, name):
    out = tmp_path / "out.onnx"
    halfstep("convert", "-i", TF / name, "-o", out)
    stored = np.load(TF / "fq.io.npz")
    for optimized in (False, True):
        actual = run(out, stored["x"], optimized)
        assert np.abs(actual - stored["y"]).max() <= 2e-7


def test_convert_of_a_float_model(halfstep, tmp_path):
    out = tmp_path / "out.onnx"
    halfstep("convert", "-i", CNN, "-o", out)
    stored = np.load(TF / "cnn.io.npz")
    actual = run(out, stored["x"])
    assert np.abs(actual - stored["y"]).max() <= 1e-5 * np.abs(stored["y"]).max()


def test_same_bytes_again(halfstep, tmp_path):
    for name in ("a.onnx", "b.onnx"):
        halfstep("convert", "-i", FQ, "-o", tmp_path / name)
    assert (tmp_path / "a.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()


def test_quantize_with_a_recipe(halfstep, tmp_path, samples):
    out = tmp_path / "out.onnx"
    result = halfstep(
        "quantize", CNN, "--calibration", samples, "--recipe", "a8w8", "-o", out, "--json"
    )
    assert result.json["summary"]["outputs"][0]["sqnr_db"] > 20
    assert any(node.op_type == "QuantizeLinear" for node in onnx.load(out).graph.node)


def test_encodings_from_model(halfstep, tmp_path):
    out = tmp_path / "e.json"
    halfstep("encodings", "from-model", FQ, "-o", out)
    entries = {entry["name"]: entry for entry in json.loads(out.read_text())["encodings"]}
    assert entries["y"]["output_dtype"] == "uint16"
    assert entries[ACT]["output_dtype"] == "uint8"
    assert np.float32(entries[ACT]["y_scale"]) == np.float32(6) / np.float32(255)


def test_override_by_the_name_of_the_source(halfstep, tmp_path):
    overrides = tmp_path / "o.json"
    entry = {"name": ACT, "output_dtype": "uint16", "y_scale": 0.001, "y_zero_point": 0}
    overrides.write_text(json.dumps({"version": "2.0.0", "encodings": [entry]}))
    out, back = tmp_path / "out.onnx", tmp_path / "e.json"
    halfstep(
        "convert",
        "-i",
        FQ,
        "--quantization_overrides",
        overrides,
        "-o",
        out,
        "--encodings-out",
        back,
    )
    entries = {entry["name"]: entry for entry in json.loads(back.read_text())["encodings"]}
    assert entries[ACT]["output_dtype"] == "uint16"
    wrong = tmp_path / "w.json"
    wrong.write_text(overrides.read_text().replace("Relu6:0", "Relu7:0"))
    result = halfstep(
        "convert", "-i", FQ, "--quantization_overrides", wrong, "-o", tmp_path / "x.onnx", code=4
    )
    assert ACT in result.err


def test_target(halfstep, tmp_path):
    out = tmp_path / "out.onnx"
    halfstep("convert", "-i", FQ, "--target_backend", "HTP", "-o", out)
    assert ACT in halfstep("explain", out, "--json").out
    stored = np.load(TF / "fq.io.npz")
    assert np.abs(run(out, stored["x"]) - stored["y"]).max() <= 0.05


def test_dlc_and_verify(halfstep, tmp_path):
    pytest.importorskip("onnxruntime_qnn")
    dlc, simulation = tmp_path / "out.dlc", tmp_path / "out.onnx"
    halfstep("convert", "-i", FQ, "--target_backend", "HTP", "-o", simulation, "--dlc", dlc)
    data = tmp_path / "data"
    data.mkdir()
    np.savez(data / "0.npz", x=np.load(TF / "fq.io.npz")["x"])
    result = halfstep("verify", FQ, "--on", "htp", "--data", data, "--json").json
    assert result["verify"]["tensors"]
    halfstep(
        "verify", dlc, "--simulation", simulation, "--float", FQ, "--on", "htp", "--data", data
    )


def test_frozen_outputs(halfstep):
    report = halfstep("inspect", TF / "fq_frozen.pb", "--outputs", ACT, "--json").json["model"]
    assert [port["name"] for port in report["outputs"]] == [ACT]


def test_wrong_signature(halfstep):
    assert "serving_default" in halfstep("inspect", FQ, "--signature", "serving", code=2).err


def test_damaged_graph(halfstep, tmp_path):
    graph = tmp_path / "graph.pb"
    graph.write_bytes((TF / "fq_frozen.pb").read_bytes()[:-100])
    assert str(graph) in halfstep("inspect", graph, code=4).err
