import numpy as np
import onnx
import pytest

import halfstep


def test_load_takes_paths_bytes_and_protos(conv_proto, conv_path):
    content = conv_proto.SerializeToString()
    for form in (conv_path, str(conv_path), content, memoryview(content), conv_proto):
        model = halfstep.load(form)
        assert onnx.load_from_string(model.serialize()) == conv_proto
    assert halfstep.load(model) is model
    assert halfstep.load(conv_path).name == str(conv_path)


def test_properties(conv_proto):
    model = halfstep.load(conv_proto)
    assert model.opset == 17
    assert model.serialized_size == len(model.serialize())
    assert "5 nodes" in repr(model)


def test_inputs_that_a_sample_must_give(conv_proto):
    (info,) = halfstep.sample_inputs(halfstep.load(conv_proto))
    assert (info.name, info.dtype, info.shape) == ("image", "float32", (1, 3, 8, 8))


def test_save_and_clone(conv_proto, tmp_path):
    model = halfstep.load(conv_proto)
    copy = model.clone()
    copy.raise_opset(21)
    assert (model.opset, copy.opset) == (17, 21)
    copy.save(tmp_path / "copy.onnx")
    assert onnx.load(tmp_path / "copy.onnx").opset_import[0].version == 21


def test_saving_where_one_cannot(conv_proto, tmp_path):
    with pytest.raises(halfstep.IoError, match="nowhere"):
        halfstep.load(conv_proto).save(tmp_path / "nowhere" / "model.onnx")


@pytest.mark.parametrize("content", [b"", b"not a model", b"\x00" * 64])
def test_bytes_that_are_no_model(content):
    with pytest.raises(halfstep.InvalidFile):
        halfstep.load(content)


def test_a_truncated_file(conv_proto, tmp_path):
    path = tmp_path / "short.onnx"
    path.write_bytes(conv_proto.SerializeToString()[:-40])
    with pytest.raises(halfstep.InvalidFile, match=r"short\.onnx"):
        halfstep.load(path)


def test_a_directory(tmp_path):
    with pytest.raises(OSError, match="directory"):
        halfstep.load(tmp_path)


def test_an_engine_runs_the_model(conv_proto, conv_path, images):
    engine = halfstep.make_onnxruntime_engine()
    assert engine.name.startswith("ONNX Runtime ")
    session = engine.open(halfstep.load(conv_proto))
    assert [info.name for info in session.outputs] == ["logits"]
    by_name = session.run({"image": images[0]})
    alone = engine.open(conv_path, optimize=False).run(images[0])
    assert by_name["logits"].shape == (1, 5)
    np.testing.assert_allclose(by_name["logits"], alone["logits"], rtol=1e-5, atol=1e-6)


def test_the_outputs_outlive_the_session(conv_proto, images):
    outputs = halfstep.make_onnxruntime_engine().open(halfstep.load(conv_proto)).run(images[0])
    copy = outputs["logits"].copy()
    np.testing.assert_array_equal(outputs["logits"], copy)


@pytest.mark.parametrize(
    "feeds",
    [
        {},
        {"imgae": np.zeros((1, 3, 8, 8), np.float32)},
        {"image": np.zeros((1, 3, 8, 8), np.int32)},
    ],
)
def test_wrong_feeds(conv_proto, feeds):
    session = halfstep.make_onnxruntime_engine().open(halfstep.load(conv_proto))
    with pytest.raises(ValueError, match="image"):
        session.run(feeds)
