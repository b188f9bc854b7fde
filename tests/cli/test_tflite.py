"""TFLite files in the place of ONNX models."""

import json
import resource
from pathlib import Path

import numpy as np
import onnx

DATA = Path(__file__).resolve().parent.parent / "data/tflite"
INPUT = "serving_default_keras_tensor:0"


def test_inspect(halfstep):
    report = halfstep("inspect", DATA / "cnn_float.tflite", "--json").json
    assert INPUT in json.dumps(report)


def test_an_integer_model_becomes_qdq(halfstep, tmp_path):
    out = tmp_path / "q.onnx"
    halfstep("convert", "-i", DATA / "cnn_int8.tflite", "-o", out, "-q")
    model = onnx.load(out)
    assert model.graph.input[0].name == INPUT
    kinds = [node.op_type for node in model.graph.node]
    assert kinds.count("QuantizeLinear") > 10
    assert kinds.count("Transpose") == 1


def test_encodings_carry_the_names_of_the_file(halfstep, tmp_path):
    out = tmp_path / "e.json"
    halfstep("encodings", "from-model", DATA / "ops/uint8_conv.tflite", "-o", out, "-q")
    entries = {entry["name"]: entry for entry in json.loads(out.read_text())["encodings"]}
    assert {"t0", "t1", "t2", "t4"} <= set(entries)
    assert entries["t0"]["output_dtype"] == "uint8"


def test_a_float_model_is_calibrated_by_tensor_name(halfstep, tmp_path):
    samples = tmp_path / "s.npz"
    np.savez(samples, **{f"000/{INPUT}": np.load(DATA / "cnn_float.io.npz")["x"][:1]})
    out = tmp_path / "q.onnx"
    model = DATA / "cnn_float.tflite"
    halfstep("quantize", model, "--calibration", samples, "-o", out, "-q")
    assert any(node.op_type == "QuantizeLinear" for node in onnx.load(out).graph.node)


def test_refusals_name_operator_and_reason(halfstep, tmp_path):
    out = tmp_path / "q.onnx"
    for name, words in {"no_custom": "MyOperator", "no_variable": "variables from run"}.items():
        done = halfstep("convert", "-i", DATA / f"ops/{name}.tflite", "-o", out, code=5)
        assert words in done.err
        assert name in done.err
    assert not out.exists()


def test_a_truncated_file_is_bad_input(halfstep, tmp_path):
    path, out = tmp_path / "m.tflite", tmp_path / "q.onnx"
    path.write_bytes((DATA / "cnn_int8.tflite").read_bytes()[:3000])
    done = halfstep("convert", "-i", path, "-o", out, code=4)
    assert "damaged TensorFlow Lite file" in done.err
    assert not out.exists()


def test_small_files_do_not_ask_for_much_memory(halfstep):
    """Found by fuzzing: claimed extents of 2^28 values and more."""
    limit = 1 << 30

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    said = {"symmetric_pad": "at most 1048576 are taken", "no_integers": "holds no"}
    for name, words in said.items():
        file = DATA / f"damaged/{name}.tflite"
        done = halfstep("inspect", file, code=5, preexec_fn=limited)
        assert words in done.err
