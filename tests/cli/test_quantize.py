"""The main job on a small model."""

import json

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper


def run(path, x):
    options = ort.SessionOptions()
    options.log_severity_level = 3
    return ort.InferenceSession(str(path), options).run(None, {"x": x})[0]


def test_model_and_encodings(halfstep, job):
    encodings = job.folder / "e.json"
    result = halfstep(*job.arguments("--encodings-out", encodings))
    onnx.checker.check_model(str(job.output), full_check=True)
    ops = [node.op_type for node in onnx.load(job.output).graph.node]
    assert "QuantizeLinear" in ops and "DequantizeLinear" in ops
    document = json.loads(encodings.read_text())
    assert document["version"] == "2.0.0"
    x = np.load(job.samples / "000.npz")["x"]
    y, z = run(job.model, x), run(job.output, x)
    assert 10 * np.log10((y**2).sum() / ((y - z) ** 2).sum()) > 20
    assert job.left_behind() == ["e.json", "out.onnx"]
    for word in ("net.onnx", "recipe a8w8", "target cpu", "6 samples", "ONNX Runtime", "smaller",
                 "Conv", "uint8", "int8", "SQNR", "worst tensors", "time", "peak memory",
                 str(job.output), str(encodings)):  # fmt: skip
        assert word in result.out, f"{word!r} not in\n{result.out}"
    assert len(result.out.splitlines()) < 40
    assert "warning" not in result.err


def test_json(halfstep, job):
    document = halfstep(*job.arguments("--json")).json
    assert document["schema"] == 1
    assert document["command"] == "quantize"
    assert document["halfstep"] == halfstep("--version").out.split()[1]
    assert document["dry_run"] is False
    assert document["output"] == str(job.output)
    summary = document["summary"]
    assert summary["samples"] == 6
    assert summary["size_after"] > 0
    assert summary["outputs"][0]["output"] == "y"
    assert summary["outputs"][0]["sqnr_db"] > 20
    assert isinstance(document["diagnostics"], list)


def test_dry_run_writes_nothing(halfstep, job):
    result = halfstep(*job.arguments("--dry-run", "--encodings-out", job.folder / "e.json"))
    assert "nothing (dry run)" in result.out
    assert job.left_behind() == []
    assert halfstep(*job.arguments("--dry-run", "--json")).json["dry_run"] is True


def test_same_bytes_for_any_thread_count(halfstep, job):
    results = []
    for threads in (1, 2, 1):
        halfstep(
            *job.arguments("--threads", threads, "--force", "--encodings-out", job.folder / "e")
        )
        results.append((job.output.read_bytes(), (job.folder / "e").read_bytes()))
    assert results[0] == results[1] == results[2]


def test_force(halfstep, job):
    job.output.write_text("precious")
    result = halfstep(*job.arguments(), code=2)
    assert "exists" in result.err and "--force" in result.err
    assert job.output.read_text() == "precious"
    halfstep(*job.arguments("--force"))
    onnx.load(job.output)


def test_weight_only_needs_no_samples(halfstep, job):
    halfstep("quantize", job.model, "-o", job.output, "--recipe", "w8")
    x = np.load(job.samples / "000.npz")["x"]
    assert np.abs(run(job.model, x) - run(job.output, x)).max() < 0.1


def test_encodings_alone(halfstep, job):
    encodings = job.folder / "e.json"
    paths = [job.model, "--calibration", job.samples, "--encodings-out", encodings]
    halfstep("quantize", *paths)
    assert job.left_behind() == ["e.json"]
    assert json.loads(encodings.read_text())["encodings"]


@pytest.mark.parametrize("recipe", ["a8w8", "a16w8", "a8w4", "a16w4", "w8", "w4b32", "a16w4_lpbq",
                                    "a8w4_lpbq"])  # fmt: skip
def test_every_recipe(halfstep, job, recipe):
    halfstep(*job.arguments("--recipe", recipe))
    x = np.load(job.samples / "000.npz")["x"]
    assert np.isfinite(run(job.output, x)).all()


def test_exclude_and_set(halfstep, job):
    summary = halfstep(*job.arguments("--exclude", "conv2", "--exclude", "Gemm", "--json")).json
    by_op = {row["op_type"]: row for row in summary["summary"]["types"] if row["weight"] != "-"}
    assert set(by_op) == {"Conv"}
    assert by_op["Conv"]["nodes"] == 1
    halfstep(*job.arguments("--set", "tensor:w1 weight=int4", "--force"))
    types = {t.data_type for t in onnx.load(job.output).graph.initializer}
    assert onnx.TensorProto.INT4 in types


def test_quiet(halfstep, job):
    assert "SQNR" in halfstep(*job.arguments("-q")).out
    result = halfstep(*job.arguments("-qq", "--force"))
    assert (result.out, result.err) == ("", "")  # no progress either, however slow the machine


def test_no_check(halfstep, job):
    assert "SQNR" not in halfstep(*job.arguments("--no-check")).out


def test_cast_inputs(halfstep, job):
    for file in job.samples.iterdir():
        np.savez(file, x=np.load(file)["x"].astype(np.float64))
    assert "float64" in halfstep(*job.arguments(), code=4).err
    halfstep(*job.arguments("--cast-inputs"))


def test_warnings_are_grouped_and_strict_refuses_them(halfstep, job):
    model = onnx.load(job.model)
    for tensor in model.graph.initializer:
        if tensor.name == "w1":
            values = numpy_helper.to_array(tensor).copy()
            values[0, 0, 0, 0] = np.nan
            tensor.CopyFrom(numpy_helper.from_array(values, "w1"))
    onnx.save(model, job.model)
    result = halfstep(*job.arguments())
    assert "warning[weights/non-finite]: " in result.err
    assert "halfstep rule " in result.err
    job.output.unlink()
    result = halfstep(*job.arguments("--strict"), code=2)
    assert "--strict" in result.err
    assert job.left_behind() == []


def test_nothing_to_do(halfstep, job):
    result = halfstep(*job.arguments("--exclude", "*"), code=3)
    assert "nothing to quantize" in result.err
    assert job.left_behind() == []


def test_inspect(halfstep, job):
    halfstep(*job.arguments())
    text = halfstep("inspect", job.output).out
    for word in (
        "opset",
        "QuantizeLinear",
        "existing encodings",
        "uint8",
        "biggest weights",
        "input",
    ):
        assert word in text
    report = halfstep("inspect", job.model, "--json").json["model"]
    assert report["ops"] == {"Conv": 2, "Flatten": 1, "Gemm": 1, "GlobalAveragePool": 1, "Relu": 1}


def test_nothing_is_reported_and_nothing_else_is_written(halfstep, job, tmp_path):
    """The engine has usage reporting of its own, which must stay off."""
    home = tmp_path / "home"
    home.mkdir()
    places = {name: str(home) for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR")}
    command = type(halfstep)(halfstep.path, halfstep.environment | places)
    command(*job.arguments())
    assert list(home.iterdir()) == []
