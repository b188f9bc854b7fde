"""Bad input: a clear message, the documented exit code, nothing half-written."""

import resource

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper


def replace_samples(job, **arrays):
    for file in job.samples.iterdir():
        file.unlink()
    np.savez(job.samples / "000.npz", **arrays)


def good(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def test_missing_model(refused, job):
    job.model.unlink()
    refused(job, 4, "net.onnx", "no such file")


def test_model_is_a_directory(refused, job):
    job.model.unlink()
    job.model.mkdir()
    refused(job, 4, "net.onnx", "directory")


@pytest.mark.parametrize(
    "content", [b"", b"hello, this is text and no model\n" * 10, b"\x00" * 100]
)
def test_not_a_model(refused, job, content):
    job.model.write_bytes(content)
    refused(job, 4, "net.onnx")


def test_truncated_model(refused, job):
    whole = job.model.read_bytes()
    for size in (1, 10, len(whole) // 2, len(whole) - 1):
        job.model.write_bytes(whole[:size])
        refused(job, 4, "net.onnx")


def test_invalid_graph(refused, job):
    model = onnx.load(job.model)
    model.graph.node[2].input[0] = "nowhere"
    onnx.save(model, job.model)
    refused(job, 4, "net.onnx", "nowhere")


def test_missing_external_data(refused, job):
    model = onnx.load(job.model)
    onnx.save(model, job.model, save_as_external_data=True, location="w.bin", size_threshold=0)
    (job.folder / "w.bin").unlink()
    refused(job, 4, "w.bin")


def test_missing_data(refused, job):
    for file in job.samples.iterdir():
        file.unlink()
    job.samples.rmdir()
    refused(job, 4, "samples", "no such file")


def test_empty_folder(refused, job):
    for file in job.samples.iterdir():
        file.unlink()
    refused(job, 4, "samples", "no sample")


def test_wrong_input_name(refused, job):
    replace_samples(job, image=good(1, 3, 16, 16))
    refused(job, 4, "000.npz", "image", "x")


def test_missing_and_extra_input(refused, job):
    replace_samples(job, x=good(1, 3, 16, 16), extra=good(1))
    refused(job, 4, "000.npz", "extra")


def test_wrong_shape(refused, job):
    replace_samples(job, x=good(1, 3, 8, 16))
    refused(job, 4, "000.npz", "x", "8", "16")


def test_wrong_rank(refused, job):
    replace_samples(job, x=good(3, 16))
    refused(job, 4, "000.npz", "x")


def test_wrong_type(refused, job):
    replace_samples(job, x=good(1, 3, 16, 16, dtype=np.float64))
    refused(job, 4, "000.npz", "float64", "float32", "--cast-inputs")


@pytest.mark.parametrize("value", [np.nan])
def test_nan_in_a_sample(refused, job, value):
    x = good(1, 3, 16, 16)
    x[0, 1, 2, 3] = value
    replace_samples(job, x=x)
    refused(job, 4, "000.npz", "x", "NaN")


def test_bad_sample_after_good_ones(refused, job):
    x = good(1, 3, 16, 16)
    x[0, 0, 0, 0] = np.nan
    np.savez(job.samples / "999.npz", x=x)
    refused(job, 4, "999.npz", "NaN")


def test_damaged_samples(refused, job):
    file = job.samples / "000.npz"
    whole = file.read_bytes()
    for content in (b"", b"PK", whole[: len(whole) // 2], b"no zip at all" * 9):
        file.write_bytes(content)
        refused(job, 4, "000.npz")


def test_object_array(refused, job):
    replace_samples(job, x=np.array([{"a": 1}], dtype=object))
    refused(job, 4, "000.npz")


def test_images_without_a_spec(refused, job):
    for file in job.samples.iterdir():
        file.unlink()
    (job.samples / "a.png").write_bytes(b"\x89PNG\r\n")
    refused(job, 4, "--input-spec")


def test_unknown_recipe(refused, job):
    refused(job, 2, "a8w9", "a8w8", more=("--recipe", "a8w9"))
    refused(job, 2, "nowhere.json", more=("--recipe", job.folder / "nowhere.json"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"activaton": {"dtype": "uint8"}}', ["activaton", "activation"]),
        ('{"activation": {"dtipe": "uint8"}}', ["dtipe", "dtype"]),
        ('{"activation": {"dtype": "uint9"}}', ["uint9"]),
        ('{"bias": "int7"}', ["bias"]),
        ('{"weight": "float"}', ["activation"]),
        (
            '{"activation": "float", "weight": "float", '
            '"rules": [{"match": "nod:x", "weight": "float"}]}',
            ["nod:x"],
        ),
        ("{", ["own.json"]),
        ("[]", ["own.json"]),
    ],
)
def test_bad_recipe_file(halfstep, job, text, words):
    recipe = job.folder / "own.json"
    recipe.write_text(text)
    result = halfstep(*job.arguments("--recipe", recipe), code=2)
    for word in ["own.json", *words]:
        assert word in result.err, result.err
    assert job.left_behind() == ["own.json"]


def test_patterns_that_match_nothing(refused, job):
    refused(job, 2, "con1", "conv1", more=("--exclude", "con1"))
    refused(job, 2, "Softmx", more=("--set", "op:Softmx act=uint16"))


@pytest.mark.parametrize(
    "rule", ["conv1", "op:Conv", "op:Conv act=", "op:Conv act=uint9", "op:Conv x=int8"]
)
def test_bad_set(refused, job, rule):
    refused(job, 2, "--set", more=("--set", rule))


def test_unknown_target(refused, job):
    refused(job, 2, "cqu", more=("--target", "cqu"))


def test_missing_output(halfstep, job):
    result = halfstep("quantize", job.model, "--calibration", job.samples, code=2)
    assert "-o" in result.err


def test_samples_are_needed(halfstep, job):
    result = halfstep("quantize", job.model, "-o", job.output, code=2)
    assert "--calibration" in result.err
    assert job.left_behind() == []


@pytest.mark.parametrize("where", ["none/out.onnx", "net.onnx/out.onnx"])
def test_output_in_a_directory_that_is_none(halfstep, job, where):
    path = job.folder / where
    result = halfstep("quantize", job.model, "--calibration", job.samples, "-o", path, code=4)
    assert str(path) in result.err
    assert job.left_behind() == []


def test_output_that_cannot_be(halfstep, job):
    for path in (job.folder, "/dev/null", job.model):
        paths = [job.model, "--calibration", job.samples, "-o", path, "--force"]
        assert str(path) in halfstep("quantize", *paths, code=2).err
    onnx.load(job.model)


def test_same_file_twice(halfstep, job):
    result = halfstep(*job.arguments("--encodings-out", job.output), code=2)
    assert "same file" in result.err


@pytest.mark.parametrize("limit", [0, 1000, 4096])
def test_full_disk(halfstep, job, limit):
    """A limit on the size of files stands for a full disk: write() fails likewise."""

    def no_space():
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    job.output.write_text("precious")
    result = halfstep(*job.arguments("--force"), code=4, preexec_fn=no_space)
    assert "error: " in result.err
    assert job.left_behind() == ["out.onnx"]
    assert job.output.read_text() == "precious"


def test_engine_that_is_none(halfstep, job):
    library = job.folder / "libort.so"
    result = halfstep(*job.arguments("--onnxruntime", library), code=5)
    assert "libort.so" in result.err
    library.write_text("no library")
    result = halfstep(*job.arguments("--onnxruntime", library), code=5)
    assert "libort.so" in result.err
    assert job.left_behind() == ["libort.so"]


def test_op_the_engine_does_not_know(halfstep, job):
    model = onnx.load(job.model)
    model.graph.node[1].CopyFrom(
        helper.make_node("Strange", ["c1"], ["r1"], "strange", domain="custom.domain")
    )
    model.opset_import.append(helper.make_opsetid("custom.domain", 1))
    onnx.save(model, job.model)
    result = halfstep(*job.arguments(), code=5)
    assert "Strange" in result.err
    assert job.left_behind() == []


def test_model_without_float_tensors(halfstep, job):
    x = helper.make_tensor_value_info("x", TensorProto.INT64, [2])
    y = helper.make_tensor_value_info("y", TensorProto.INT64, [2])
    node = helper.make_node("Add", ["x", "x"], ["y"], "add")
    graph = helper.make_graph([node], "g", [x], [y])
    onnx.save(helper.make_model(graph, ir_version=8), job.model)
    replace_samples(job, x=good(2, dtype=np.int64))
    assert "nothing to quantize" in halfstep(*job.arguments(), code=3).err
    assert job.left_behind() == []


def test_error_as_json(halfstep, job):
    job.model.unlink()
    result = halfstep(*job.arguments("--json"), code=4)
    assert result.json["error"]["kind"] == "invalid_file"
    assert result.json["error"]["exit_code"] == 4
    assert result.json["command"] == "quantize"


def test_debug_shows_where(halfstep, job):
    job.model.unlink()
    result = halfstep(*job.arguments("--debug", "--json"), code=4)
    assert "thrown at" in result.err
    assert "error: " in result.err
    assert result.json["error"]["kind"] == "invalid_file"
    assert "thrown at" not in halfstep(*job.arguments(), code=4).err
