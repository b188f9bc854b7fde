"""Encodings files from Python: the same functions as the verbs of the command."""

import json

import numpy as np
import onnx
import pytest

import halfstep

IMAGE = {"name": "image", "output_dtype": "uint8", "y_scale": 0.02, "y_zero_point": 128}
WEIGHT = {"name": "conv.weight", "output_dtype": "int8", "y_scale": [0.01] * 8, "axis": 0}


@pytest.fixture
def file(tmp_path):
    def write(*entries, name="e.json"):
        path = tmp_path / name
        path.write_text(json.dumps({"version": "2.0.0", "encodings": list(entries)}))
        return path

    return write


def test_read_with_and_without_a_model(conv_proto, file):
    path = file(IMAGE, WEIGHT)
    for model in (None, conv_proto):
        read = halfstep.read_encodings(path, model)
        assert read.names == ["image", "conv.weight"]
        assert read.encodings["conv.weight"].granularity == {"type": "per_channel", "axis": 0}
    with pytest.raises(halfstep.InvalidFile, match=r'"Image".*did you mean "image"'):
        halfstep.read_encodings(file(IMAGE | {"name": "Image"}), conv_proto)
    lenient = halfstep.read_encodings(file(IMAGE | {"name": "Image"}), conv_proto, lenient=True)
    assert len(lenient.encodings) == 0


def test_lint(conv_proto, file):
    assert halfstep.lint_encodings(file(IMAGE, WEIGHT), conv_proto) == []
    found = halfstep.lint_encodings(file(IMAGE | {"y_scale": 0}), conv_proto)
    assert [(d.severity, d.rule) for d in found] == [("error", "encodings/invalid")]
    with pytest.raises(halfstep.InvalidFile):
        halfstep.lint_encodings("missing.json")


def test_diff(file):
    first, second = file(IMAGE, WEIGHT), file(IMAGE | {"y_scale": 0.04}, name="f.json")
    assert halfstep.diff_encodings(first, first) == []
    differences = halfstep.diff_encodings(first, second)
    assert [(d.name, d.kind) for d in differences] == [
        ("conv.weight", "only_in_first"),
        ("image", "different"),
    ]
    assert differences[1].text == "scale 0.02 against 0.04"
    assert len(halfstep.diff_encodings(first, second, common=True)) == 1
    assert halfstep.diff_encodings(first, second, common=True, tolerance=0.6) == []


@pytest.mark.parametrize("version", ["0.6.1", "1.0.0", "2.0.0", "2.1.0"])
def test_convert(conv_proto, file, tmp_path, version):
    path = file(IMAGE, WEIGHT)
    out = tmp_path / "out.json"
    out.write_text(halfstep.convert_encodings(path, version, conv_proto))
    assert json.loads(out.read_text())["version"] == version
    assert halfstep.diff_encodings(path, out, conv_proto) == []


def test_convert_says_what_needs_the_model(conv_proto, file, tmp_path):
    old = tmp_path / "old.json"
    old.write_text(halfstep.convert_encodings(file(WEIGHT), "1.0.0", conv_proto))
    with pytest.raises(halfstep.Unsupported, match=r"conv.weight.*--model"):
        halfstep.convert_encodings(old, "2.0.0")


def test_merge(file, tmp_path):
    first, second = file(IMAGE, WEIGHT), file(IMAGE | {"y_scale": 0.04}, name="f.json")
    merged = json.loads(halfstep.merge_encodings([first, second]))
    assert [e["name"] for e in merged["encodings"]] == ["image", "conv.weight"]
    assert merged["encodings"][0]["y_scale"] == pytest.approx(0.04)


def test_apply_then_extract(conv_proto, file, tmp_path):
    output = tmp_path / "out.onnx"
    result = halfstep.apply_encodings(conv_proto, file(IMAGE, WEIGHT), output)
    account = result.summary["overrides"]
    assert (account["applied"], account["unused"]) == (2, 0)
    model, table, diagnostics = halfstep.extract_encodings(output)
    assert sorted(table) == ["conv.weight", "image"] and diagnostics == []
    assert not any(
        "Linear" in n.op_type for n in onnx.load_from_string(model.serialize()).graph.node
    )
    halfstep.write_qdq(model, table)
    codes = {
        t.name: onnx.numpy_helper.to_array(t)
        for proto in (onnx.load(output), onnx.load_from_string(model.serialize()))
        for t in proto.graph.initializer
    }
    weight = {t.name: onnx.numpy_helper.to_array(t) for t in conv_proto.graph.initializer}
    expected = np.clip(np.rint(weight["conv.weight"] / np.float32(0.01)), -128, 127)
    np.testing.assert_array_equal(codes["conv.weight_quantized"], expected)
    with pytest.raises(halfstep.NothingToDo):
        halfstep.extract_encodings(conv_proto)


def test_quantize_with_overrides(conv_proto, samples, file):
    result = halfstep.quantize(conv_proto, samples, encodings=file(IMAGE))
    assert result.encodings["image"].scale == np.float32(0.02)
    assert result.encodings["image"].origin == "override file"
    assert result.encodings["relu"].origin == "calibrated"
    with pytest.raises(halfstep.InvalidFile):
        halfstep.quantize(conv_proto, samples, encodings=file(IMAGE | {"name": "nothing"}))
    lenient = halfstep.quantize(
        conv_proto, samples, encodings=file(IMAGE | {"name": "nothing"}), lenient=True
    )
    assert lenient.summary["overrides"]["entries"][0]["status"] == "unused"
