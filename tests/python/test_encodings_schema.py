"""Written encodings files against their JSON Schemas, and Q/DQ models of them in ONNX Runtime."""

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import halfstep

SCHEMAS = Path(__file__).parents[2] / "data" / "schemas"
VERSIONS = ("0.6.1", "1.0.0", "2.0.0", "2.1.0")


def channels(dtype, count, axis):
    granularity = {"type": "per_channel", "axis": axis}
    scales = [0.01 * (i + 1) for i in range(count)]
    return halfstep.Encoding(dtype, scales, [0] * count, granularity=granularity, shape=(count,))


@pytest.fixture
def table():
    result = halfstep.EncodingTable()
    result["image"] = halfstep.Encoding("uint8", [0.02], [128])
    result["conv.weight"] = channels("int8", 8, 0)
    result["conv.bias"] = channels("int32", 8, 0)
    result["fc.weight"] = channels("int4", 5, 0)
    result["logits"] = halfstep.Encoding("uint16", [0.001], [32768])
    return result


def test_every_schema_is_a_schema():
    jsonschema = pytest.importorskip("jsonschema")
    for version in VERSIONS:
        schema = json.loads((SCHEMAS / f"encodings_{version}.json").read_text())
        jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("version", VERSIONS)
def test_written_files_follow_the_schema(conv_proto, table, version):
    jsonschema = pytest.importorskip("jsonschema")
    text = halfstep.write_encodings(table, halfstep.load(conv_proto), version=version)
    schema = json.loads((SCHEMAS / f"encodings_{version}.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))


def test_wrong_files_do_not():
    jsonschema = pytest.importorskip("jsonschema")
    validator = jsonschema.Draft202012Validator(
        json.loads((SCHEMAS / "encodings_2.0.0.json").read_text())
    )
    good = {"name": "x", "output_dtype": "uint8", "y_scale": 1.0}
    for change in (
        {"y_scale": 0},
        {"output_dtype": "uint9"},
        {"axis": -1},
        {"block_size": 4},
        {"bw": 8},
        {"name": ""},
    ):
        document = {"version": "2.0.0", "encodings": [good | change]}
        assert not validator.is_valid(document), change
    assert validator.is_valid({"version": "2.0.0", "encodings": [good]})


@pytest.mark.parametrize("version", VERSIONS)
def test_files_read_back_the_same(conv_proto, table, version, tmp_path):
    model = halfstep.load(conv_proto)
    text = halfstep.write_encodings(table, model, version=version)
    path = tmp_path / "file.json"
    path.write_text(text)
    again = halfstep.read_encodings(path, model)
    assert again.version == version
    assert halfstep.write_encodings(again.encodings, model, version=version) == text


def test_the_model_runs_with_and_without_optimizations(conv_proto, table):
    model = halfstep.load(conv_proto)
    halfstep.write_qdq(model, table)
    image = np.random.default_rng(3).normal(0, 1, (1, 3, 8, 8)).astype(np.float32)
    results = []
    for level in ("ORT_DISABLE_ALL", "ORT_ENABLE_ALL"):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = getattr(onnxruntime.GraphOptimizationLevel, level)
        session = onnxruntime.InferenceSession(
            model.serialize(), options, providers=["CPUExecutionProvider"]
        )
        results.append(session.run(None, {"image": image})[0])
    assert np.abs(results[0] - results[1]).max() <= 0.001
