import json

import numpy as np
import onnx
import onnxruntime
import pytest

import halfstep


def run(model_bytes, feeds):
    session = onnxruntime.InferenceSession(model_bytes, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


@pytest.fixture(scope="module")
def result(conv_proto, samples):
    return halfstep.quantize(conv_proto, samples)


def test_the_result_runs_and_is_close(conv_proto, result, samples):
    for sample in samples:
        (expected,) = run(conv_proto.SerializeToString(), sample)
        (actual,) = run(result.model.serialize(), sample)
        assert np.abs(actual - expected).max() < 0.05 * np.abs(expected).max()


def test_the_result_is_quantized(result):
    ops = {node.op_type for node in onnx.load_from_string(result.model.serialize()).graph.node}
    assert {"QuantizeLinear", "DequantizeLinear"} <= ops
    assert result.encodings["image"].dtype == "uint8"
    assert result.encodings["conv.weight"].dtype == "int8"
    assert result.encodings["conv.weight"].scale.shape == (8,)
    assert result.encodings["conv.bias"].dtype == "int32"


def test_the_summary_is_plain_data(result):
    assert isinstance(result.summary, dict)
    assert json.loads(json.dumps(result.summary)) == result.summary
    assert result.summary["samples"] == 6
    assert result.summary["recipe"] == "a8w8"
    assert result.summary["target"] == "cpu"


def test_every_form_of_model_gives_the_same(conv_proto, conv_path, result, samples):
    expected = result.model.serialize()
    model = halfstep.load(conv_path)
    before = model.serialize()
    for form in (conv_path, str(conv_path), conv_proto.SerializeToString(), model):
        assert halfstep.quantize(form, samples).model.serialize() == expected
    assert model.serialize() == before


def test_every_form_of_samples_gives_the_same(conv_proto, result, images, samples, tmp_path):
    np.savez(tmp_path / "all.npz", image=images)
    forms = {
        "generator": (sample for sample in samples),
        "list of arrays": list(images),
        "one array": images,
        "one array, the rank of the input": images[:, 0],
        "dict of arrays": {"image": images},
        "path": tmp_path / "all.npz",
    }
    for name, form in forms.items():
        quantized = halfstep.quantize(conv_proto, form)
        assert quantized.model.serialize() == result.model.serialize(), name


def test_threads_do_not_change_the_result(conv_proto, result, samples):
    assert (
        halfstep.quantize(conv_proto, samples, threads=2).model.serialize()
        == result.model.serialize()
    )


def test_outputs_are_written(conv_proto, result, samples, tmp_path):
    output, encodings = tmp_path / "out.onnx", tmp_path / "out.json"
    written = halfstep.quantize(conv_proto, samples, output=output, encodings_out=encodings)
    assert output.read_bytes() == written.model.serialize() == result.model.serialize()
    assert json.loads(encodings.read_text())["version"] == "2.0.0"
    assert (
        halfstep.write_encodings(written.encodings, halfstep.load(conv_proto))
        == encodings.read_text()
    )


def test_outputs_are_not_overwritten_unless_asked(conv_proto, samples, tmp_path):
    output = tmp_path / "out.onnx"
    output.write_text("precious")
    with pytest.raises(halfstep.InvalidArgument, match=r"out\.onnx"):
        halfstep.quantize(conv_proto, samples, output=output)
    assert output.read_text() == "precious"
    halfstep.quantize(conv_proto, samples, output=output, force=True)
    onnx.load(output)


def test_excluded_nodes_stay_float(conv_proto, samples):
    result = halfstep.quantize(conv_proto, samples, exclude="conv")
    assert "conv.weight" not in result.encodings
    assert "fc.weight" in result.encodings


def test_a_rule_changes_one_tensor(conv_proto, samples):
    result = halfstep.quantize(conv_proto, samples, set=["tensor:image act=uint16"])
    assert result.encodings["image"].dtype == "uint16"


def test_weight_only_recipes_need_no_samples(conv_proto):
    result = halfstep.quantize(conv_proto, recipe="w8")
    assert "image" not in result.encodings
    assert result.encodings["conv.weight"].dtype == "int8"


def test_a_dry_run_writes_nothing(conv_proto, samples, tmp_path):
    result = halfstep.quantize(conv_proto, samples, output=tmp_path / "out.onnx", dry_run=True)
    assert not list(tmp_path.iterdir())
    assert result.summary["weights_after"] < result.summary["weights_before"]


def test_progress_is_reported(conv_proto, samples):
    calls = []
    halfstep.quantize(conv_proto, samples, progress=lambda *call: calls.append(call))
    assert calls
    assert all(isinstance(phase, str) and done >= 0 for phase, done, _ in calls)
    assert any(done == total == len(samples) for _, done, total in calls)


def test_what_the_generator_raises_arrives_unchanged(conv_proto, samples, tmp_path):
    error = LookupError("no third sample")

    def broken():
        yield from samples[:2]
        raise error

    with pytest.raises(LookupError) as caught:
        halfstep.quantize(conv_proto, broken(), output=tmp_path / "out.onnx")
    assert caught.value is error
    assert any(frame.name == "broken" for frame in caught.traceback)
    assert not list(tmp_path.iterdir())


def test_what_progress_raises_arrives_unchanged(conv_proto, samples, tmp_path):
    error = ZeroDivisionError("stop")

    def stop(phase, done, total):
        if done == 2:
            raise error

    with pytest.raises(ZeroDivisionError) as caught:
        halfstep.quantize(conv_proto, samples, output=tmp_path / "out.onnx", progress=stop)
    assert caught.value is error
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ({"imgae": np.zeros((1, 3, 8, 8), np.float32)}, "imgae"),
        ({"image": np.zeros((1, 3, 8, 9), np.float32)}, r"\[1, 3, 8, 9\]"),
        ({"image": np.zeros((1, 3, 8, 8), np.float64)}, "float64"),
        ({"image": np.full((1, 3, 8, 8), np.nan, np.float32)}, "NaN"),
        ({}, "image"),
        ({"image": np.array(["text"])}, "str"),
        ("text", "str"),
    ],
)
def test_samples_that_do_not_fit_are_named(conv_proto, samples, sample, message):
    with pytest.raises(ValueError, match=f"sample 1.*{message}"):
        halfstep.quantize(conv_proto, [samples[0], sample])


def test_samples_are_cast_only_when_asked(conv_proto, result, images):
    wide = images.astype(np.float64)
    cast = halfstep.quantize(conv_proto, wide, cast_inputs=True)
    assert cast.model.serialize() == result.model.serialize()


def test_models_of_two_inputs_need_names(two_input_proto):
    with pytest.raises(halfstep.InvalidArgument, match="dict"):
        halfstep.quantize(two_input_proto, [np.zeros((2, 4), np.float32)])


@pytest.mark.parametrize(
    ("calibration", "error", "message"),
    [
        ([], halfstep.InvalidFile, "sample"),
        (5, halfstep.InvalidArgument, "int"),
        ("no/such/folder", halfstep.InvalidFile, "no/such/folder"),
        (None, halfstep.InvalidArgument, "calibration|samples"),
    ],
)
def test_data_that_is_none(conv_proto, calibration, error, message):
    with pytest.raises(error, match=message):
        halfstep.quantize(conv_proto, calibration)


def test_wrong_names_get_the_closest_one(conv_proto, samples):
    with pytest.raises(halfstep.InvalidArgument, match="a8w8"):
        halfstep.quantize(conv_proto, samples, recipe="a8w9")
    with pytest.raises(halfstep.InvalidArgument, match="cpu"):
        halfstep.quantize(conv_proto, samples, target="cpv")


def test_a_model_of_a_wrong_type():
    with pytest.raises(halfstep.InvalidArgument, match="int"):
        halfstep.quantize(5)


def test_onnxruntime_is_not_imported(conv_path, images, tmp_path, run_python):
    np.save(tmp_path / "images.npy", images)
    run_python(
        "import sys, numpy, halfstep\n"
        f"halfstep.quantize({str(conv_path)!r}, numpy.load({str(tmp_path / 'images.npy')!r}))\n"
        "assert not {'onnxruntime', 'onnx', 'torch', 'ml_dtypes'} & set(sys.modules)\n"
    )


@pytest.fixture
def old_path(conv_proto, tmp_path):
    old = onnx.ModelProto()
    old.CopyFrom(conv_proto)
    old.opset_import[0].version = 12
    onnx.save(old, tmp_path / "old.onnx")
    return tmp_path / "old.onnx"


def test_what_loading_noticed_is_among_the_diagnostics(old_path, samples):
    result = halfstep.quantize(old_path, samples)
    (old,) = [d for d in result.diagnostics if d.rule == "onnx/old-opset"]
    assert old.severity == "warning"
    assert "12" in old.message
    assert str(old).startswith("warning[onnx/old-opset]: ")


def test_strict_makes_warnings_errors(old_path, samples, tmp_path):
    with pytest.raises(halfstep.InvalidArgument, match="old-opset"):
        halfstep.quantize(old_path, samples, output=tmp_path / "out.onnx", strict=True)
    assert not (tmp_path / "out.onnx").exists()
