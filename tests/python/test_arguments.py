"""Wrong arguments of halfstep.quantize: one kind of error, which names the argument."""

import copy
import os

import numpy as np
import onnx
import pytest

import halfstep


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("threads", 0, ["0", "1 to 1024"]),
        ("threads", 1025, ["1025"]),
        ("threads", "a", ["'a'", "str", "integer"]),
        ("threads", 1.5, ["float"]),
        ("threads", True, ["bool"]),
        ("check_samples", 0, ["0"]),
        ("check_samples", -1, ["-1"]),
        ("check_samples", 2**70, ["1000000"]),
        ("output", 5, ["int", "path"]),
        ("output", b"out.onnx", ["bytes"]),
        ("encodings_out", ["a"], ["list"]),
        ("encodings", 1.0, ["float"]),
        ("recipe", 8, ["int"]),
        ("recipe", "", ["empty"]),
        ("target", None, ["NoneType"]),
        ("exclude", ["c", None], ["exclude[1]", "NoneType"]),
        ("exclude", 3, ["int"]),
        ("set", [b"op:Conv act=uint16"], ["set[0]", "bytes"]),
        ("dry_run", "x", ["'x'", "True or False"]),
        ("check", 1, ["int"]),
        ("strict", None, ["NoneType"]),
        ("lenient", "no", ["str"]),
        ("fallback", "no", ["str"]),
        ("skip", [1], ["skip[0]", "int"]),
        ("force", "no", ["str"]),
        ("cast_inputs", 0, ["int"]),
        ("progress", 7, ["int", "callable"]),
    ],
)
def test_wrong_argument(conv_path, samples, name, value, words):
    with pytest.raises(halfstep.InvalidArgument) as caught:
        halfstep.quantize(conv_path, samples, **{name: value})
    for word in [name, *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize(("name", "value"), [("threads", "a"), ("tensors", [1])])
def test_wrong_argument_of_calibrate(conv_path, samples, name, value):
    with pytest.raises(halfstep.InvalidArgument, match=name):
        halfstep.calibrate(conv_path, samples, **({"tensors": ["relu"]} | {name: value}))


def test_numbers_of_numpy_are_numbers(conv_path, samples):
    halfstep.quantize(conv_path, samples, threads=np.int64(2), dry_run=np.bool_(True))


def test_outputs_are_checked_first(conv_path, samples, tmp_path):
    with pytest.raises(halfstep.InvalidArgument, match="directory"):
        halfstep.quantize(conv_path, samples, output=tmp_path)
    with pytest.raises(halfstep.IoError, match="does not exist"):
        halfstep.quantize(conv_path, samples, output=tmp_path / "none" / "out.onnx")
    with pytest.raises(halfstep.IoError, match="out"):
        halfstep.quantize(conv_path, samples, output=tmp_path / ("out" * 100))
    out = tmp_path / "out.onnx"
    with pytest.raises(halfstep.InvalidArgument, match="same file"):
        halfstep.quantize(conv_path, samples, output=out, encodings_out=out)


def test_inputs_are_never_replaced(conv_proto, images, tmp_path):
    model = tmp_path / "m.onnx"
    onnx.save(
        copy.deepcopy(conv_proto),
        model,
        save_as_external_data=True,
        location="w.bin",
        size_threshold=0,
    )
    data = tmp_path / "d.npz"
    np.savez(data, image=images)
    os.link(tmp_path / "w.bin", tmp_path / "linked.bin")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    for name in ("m.onnx", "w.bin", "linked.bin", "d.npz"):
        for option in ("output", "encodings_out"):
            with pytest.raises(halfstep.InvalidArgument, match="also an input"):
                halfstep.quantize(model, data, force=True, **{option: tmp_path / name})
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
