"""The steps behind quantize(), one by one."""

import json

import numpy as np
import onnx
import pytest

import halfstep


def test_calibrate_finds_the_range_over_all_samples(conv_proto, samples, images):
    result = halfstep.calibrate(conv_proto, samples, ["image", "logits"])
    assert result.samples == 6
    assert sorted(result.statistics) == ["image", "logits"]
    image = result.statistics["image"]
    assert (image.min, image.max) == (images.min(), images.max())
    assert image.values == images.size
    assert (image.nan_count, image.infinity_count) == (0, 0)


def test_calibrate_follows_the_spec(conv_proto, samples, images):
    spec = {"qparam_calculator_cls": "static", "policy": "safe"}
    result = halfstep.calibrate(conv_proto, samples, {"image": spec})
    assert result.statistics["image"].max == images[-1].max()


@pytest.mark.parametrize(
    ("tensors", "message"),
    [(["imgae"], "imgae"), ({"image": {"qparam_calculator_cls": "stat"}}, "image.*static")],
)
def test_calibrate_names_what_is_wrong(conv_proto, samples, tensors, message):
    with pytest.raises(ValueError, match=message):
        halfstep.calibrate(conv_proto, samples, tensors)


def test_calibrate_without_samples(conv_proto):
    with pytest.raises(halfstep.InvalidArgument, match="calibration"):
        halfstep.calibrate(conv_proto, None, ["image"])


def table_of(**encodings):
    table = halfstep.EncodingTable()
    for name, encoding in encodings.items():
        table[name] = encoding
    return table


def test_write_qdq_uses_the_given_encodings(conv_proto, samples):
    model = halfstep.load(conv_proto)
    halfstep.write_qdq(model, table_of(relu=halfstep.Encoding("uint8", [0.125], [3])))
    proto = onnx.load_from_string(model.serialize())
    constants = {c.name: onnx.numpy_helper.to_array(c) for c in proto.graph.initializer}
    (node,) = [n for n in proto.graph.node if n.op_type == "QuantizeLinear"]
    assert node.input[0] == "relu"
    assert constants[node.input[1]] == np.float32(0.125)
    assert constants[node.input[2]] == 3


def test_write_qdq_names_what_does_not_fit(conv_proto):
    encoding = halfstep.Encoding(
        "int8", [0.1] * 7, granularity={"type": "per_channel", "axis": 0}, shape=(7,)
    )
    with pytest.raises(halfstep.InvalidArgument, match=r"conv\.weight"):
        halfstep.write_qdq(halfstep.load(conv_proto), table_of(**{"conv.weight": encoding}))


def test_write_encodings(conv_proto):
    table = table_of(relu=halfstep.Encoding("uint8", [0.125], [3]))
    text = halfstep.write_encodings(table, halfstep.load(conv_proto))
    document = json.loads(text)
    assert document["version"] == "2.0.0"
    assert "relu" in text


def test_an_encoding_shows_what_it_holds():
    encoding = halfstep.Encoding(
        "int4", [0.5, 0.25], [1, -2], granularity={"type": "per_channel", "axis": 1}, shape=(2,)
    )
    assert encoding.dtype == "int4"
    assert encoding.granularity == {"type": "per_channel", "axis": 1}
    assert encoding.shape == (2,)
    np.testing.assert_array_equal(encoding.scale, np.float32([0.5, 0.25]))
    np.testing.assert_array_equal(encoding.zero_point, [1, -2])
    assert encoding.minval is None
    assert encoding.block_scale is None
    assert not encoding.is_float
    assert not encoding.symmetric
    assert "int4" in repr(encoding)


def test_a_table_is_a_mapping():
    first, second = halfstep.Encoding("int8", [0.5]), halfstep.Encoding("float16")
    table = table_of(b=first, a=second)
    assert len(table) == 2
    assert list(table) == table.keys() == ["a", "b"]
    assert dict(table.items()) == {"a": second, "b": first}
    assert table["b"] == first
    assert table.get("c") is None
    assert "a" in table
    assert "c" not in table
    del table["a"]
    assert list(table) == ["b"]
    with pytest.raises(KeyError, match="a"):
        table["a"]
    with pytest.raises(KeyError):
        del table["a"]


def test_uses_and_overrides():
    table = table_of(x=halfstep.Encoding("int8", [0.5]))
    table.set_use("conv", 1, halfstep.Encoding("int4", [0.25]))
    assert [(key, e.dtype) for key, e in table.uses.items()] == [(("conv", 1), "int4")]
    laid_over = table.overridden_by(table_of(x=halfstep.Encoding("uint8", [0.125])))
    assert laid_over["x"].dtype == "uint8"
    assert table["x"].dtype == "int8"
    assert laid_over != table


@pytest.mark.parametrize("version", ["2.0.0", "2.1.0", "1.0.0", "0.6.1"])
def test_encodings_files_are_read_back(conv_proto, conv_path, samples, tmp_path, version):
    result = halfstep.quantize(conv_proto, samples)
    model = halfstep.load(conv_path)
    path = tmp_path / "out.json"
    path.write_text(halfstep.write_encodings(result.encodings, model, version=version))
    read = halfstep.read_encodings(path, model)
    assert read.version == version
    assert read.encodings.keys() == result.encodings.keys()
    assert sorted(read.names) == sorted(result.encodings.keys())
    assert read.encodings["conv.weight"].shape == (8,)
    np.testing.assert_array_equal(read.encodings["image"].scale, result.encodings["image"].scale)


def test_unknown_names_in_an_encodings_file(conv_path, tmp_path):
    model = halfstep.load(conv_path)
    path = tmp_path / "wrong.json"
    entry = '{"name": "imgae", "output_dtype": "uint8", "y_scale": 0.5}'
    path.write_text(f'{{"version": "2.0.0", "encodings": [{entry}]}}')
    with pytest.raises(halfstep.InvalidFile, match=r"imgae.*image"):
        halfstep.read_encodings(path, model)
    read = halfstep.read_encodings(path, model, lenient=True)
    assert len(read.encodings) == 0
    assert [d.severity for d in read.diagnostics] == ["warning"]
    with pytest.raises(halfstep.InvalidFile, match="nowhere"):
        halfstep.read_encodings(tmp_path / "nowhere.json", model)
