"""Weights without a graph: safetensors in, packed safetensors and encodings out."""

import json
import signal
import struct
import sys
import time
from pathlib import Path

import large_model_check
import ml_dtypes
import numpy as np
import pytest
from large_model_data import tensors, write_safetensors

NAMES = {
    np.dtype(np.float32): "F32",
    np.dtype(np.float16): "F16",
    np.dtype(ml_dtypes.bfloat16): "BF16",
    np.dtype(np.int64): "I64",
}
TYPES = {name: dtype for dtype, name in NAMES.items()} | {
    "I32": np.dtype(np.int32),
    "I8": np.dtype(np.int8),
    "U8": np.dtype(np.uint8),
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
}


def save(path: Path, arrays: dict[str, np.ndarray], **metadata: str) -> Path:
    header: dict = {"__metadata__": metadata} if metadata else {}
    end = 0
    for name, array in arrays.items():
        header[name] = {
            "dtype": NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [end, end + array.nbytes],
        }
        end += array.nbytes
    return write_raw(path, header, b"".join(a.tobytes() for a in arrays.values()))


def write_raw(path: Path, header: object, data: bytes) -> Path:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    assert length % 8 == 0
    header = json.loads(content[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    data = content[8 + length :]
    arrays = {}
    place = 0
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        assert begin == place, "no gaps"
        place = end
        dtype = TYPES[entry["dtype"]]
        assert begin % dtype.itemsize == 0, "aligned"
        arrays[name] = np.frombuffer(data[begin:end], dtype).reshape(entry["shape"])
    assert place == len(data)
    return arrays, metadata


@pytest.fixture
def weights() -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    return {
        "embed.weight": random.standard_normal((96, 64)).astype(ml_dtypes.bfloat16),
        "norm.weight": random.standard_normal(64).astype(ml_dtypes.bfloat16),
        "a.weight": random.standard_normal((40, 64)).astype(np.float32),
        "experts": random.standard_normal((3, 8, 64)).astype(np.float16),
        "conv.weight": random.standard_normal((8, 4, 3, 3)).astype(np.float32),
        "position_ids": np.arange(10, dtype=np.int64),
    }


@pytest.fixture
def model(tmp_path, weights) -> Path:
    return save(tmp_path / "model.safetensors", weights, format="pt")


def test_int4_blocks(halfstep, model, weights, tmp_path):
    out, encodings = tmp_path / "q.safetensors", tmp_path / "e.json"
    result = halfstep(
        "quantize", model, "-o", out, "--recipe", "w4b32", "--encodings-out", encodings, "--json"
    ).json
    found, metadata = read(out)
    assert metadata["format"] == "pt"
    assert metadata["quantization_format"] == "mixed-precision"  # conv fell back to channels
    values = weights["a.weight"]
    blocks = values.reshape(40, 2, 32)
    codes, scale = large_model_check.expected(blocks, "w4b32", 2)
    packed = found["a.weight_packed"]
    assert packed.dtype == np.int32 and packed.shape == (40, 8)
    nibbles = large_model_check.nibbles(packed.view(np.uint8)).astype(np.int8) - 8
    np.testing.assert_array_equal(nibbles, codes.reshape(40, 64))
    np.testing.assert_array_equal(found["a.weight_scale"], scale[..., 0])
    np.testing.assert_array_equal(found["a.weight_shape"], [40, 64])
    assert "a.weight" not in found
    assert found["conv.weight"].dtype == np.int8  # rows of 3 fill no words
    assert np.abs(found["conv.weight"]).max() <= 8
    assert found["experts_scale"].shape == (3, 8, 2)
    assert found["experts_packed"].shape == (3, 8, 8)
    np.testing.assert_array_equal(found["norm.weight"], weights["norm.weight"])
    np.testing.assert_array_equal(found["position_ids"], weights["position_ids"])
    listed = {e["name"]: e for e in json.loads(encodings.read_text())["encodings"]}
    assert set(listed) == {"embed.weight", "a.weight", "experts", "conv.weight"}
    np.testing.assert_array_equal(
        np.float32(listed["a.weight"]["y_scale"]), found["a.weight_scale"]
    )
    assert result["summary"]["quantized_weights"] == 4
    (note,) = [d for d in result["diagnostics"] if d["rule"] == "recipe/block-fallback"]
    assert "conv.weight" in note["message"]


def test_int8_channels(halfstep, model, weights, tmp_path):
    out = tmp_path / "q.safetensors"
    halfstep("quantize", model, "-o", out, "--recipe", "w8")
    found, metadata = read(out)
    assert metadata["quantization_format"] == "int-quantized"
    values = weights["embed.weight"].astype(np.float32)
    codes, scale = large_model_check.expected(values, "w8", 1)
    np.testing.assert_array_equal(found["embed.weight"], codes)
    np.testing.assert_array_equal(found["embed.weight_scale"], scale)
    assert found["experts_scale"].shape == (3, 8, 1)  # a stack of matrices: each row a channel
    assert found["conv.weight_scale"].shape == (8, 1, 1, 1)


def test_mxfp4(halfstep, model, weights, tmp_path):
    out = tmp_path / "q.safetensors"
    halfstep("quantize", model, "-o", out, "--recipe", "mxfp4", "--exclude", "conv*")
    found, metadata = read(out)
    assert metadata["quantization_format"] == "mxfp4-pack-quantized"
    blocks = weights["a.weight"].reshape(40, 2, 32)
    codes, scale = large_model_check.expected(blocks, "mxfp4", 2)
    packed = found["a.weight_packed"]
    assert packed.dtype == np.uint8 and packed.shape == (40, 32)
    np.testing.assert_array_equal(large_model_check.nibbles(packed), codes.reshape(40, 64))
    exponents = found["a.weight_scale"]
    assert exponents.dtype == np.uint8
    np.testing.assert_array_equal(np.exp2(exponents.astype(np.float32) - 127), scale[..., 0])
    np.testing.assert_array_equal(found["conv.weight"], weights["conv.weight"])


def test_rules_by_name(halfstep, model, tmp_path):
    out = tmp_path / "q.safetensors"
    report = halfstep(
        "quantize",
        model,
        "-o",
        out,
        "--recipe",
        "w8",
        "--exclude",
        "embed*",
        "--set",
        "tensor:a.weight weight=int4",
        "--json",
    ).json
    found, _ = read(out)
    assert found["embed.weight"].dtype == ml_dtypes.bfloat16
    assert found["a.weight_packed"].shape == (40, 8)
    reasons = {r["reason"]: r["examples"] for r in report["summary"]["stayed_float"]}
    assert reasons["kept float by --exclude 'embed*'"] == ["embed.weight"]
    wrong = halfstep(
        "quantize", model, "-o", tmp_path / "x", "--recipe", "w8", "--exclude", "a.wieght", code=2
    )
    assert 'did you mean "a.weight"' in wrong.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "w8, w4b32 or mxfp4"),  # the default recipe has activations
        (["--recipe", "w8", "--target", "htp_v75"], "target htp_v75"),
        (["--recipe", "w8", "--calibration", "."], "--calibration"),
        (["--recipe", "w8", "--set", "tensor:a.weight weight=uint8"], "have no form"),
        (["--stats", "none"], "stats is about models with a graph"),
        (["--method", "mse"], "method is about models with a graph"),
        (["--percentile", "99"], "method is about models with a graph"),
        (["--signature", "x"], "about TensorFlow models"),
    ],
)
def test_what_needs_a_graph_is_refused(halfstep, model, tmp_path, options, words):
    before = sorted(tmp_path.iterdir())
    result = halfstep(
        "quantize",
        model,
        "-o",
        tmp_path / "q.safetensors",
        *options,
        code=5 if words == "have no form" else 2,
    )
    assert words in result.err
    assert sorted(tmp_path.iterdir()) == before


def test_other_commands_say_what_it_is(halfstep, model):
    assert "weights in safetensors form" in halfstep("inspect", model, code=4).err


@pytest.fixture
def sharded(tmp_path) -> Path:
    folder = tmp_path / "sharded"
    folder.mkdir()
    random = np.random.default_rng(2)
    places = {}
    for i in (1, 2):
        name = f"model-0000{i}-of-00002.safetensors"
        content = {
            f"l{i}.weight": random.standard_normal((64, 64)).astype(np.float32),
            f"l{i}.bias": np.zeros(64, np.float32),
        }
        save(folder / name, content)
        places |= dict.fromkeys(content, name)
    index = {"metadata": {"total_size": 1}, "weight_map": places}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


def test_folder(halfstep, sharded, tmp_path):
    out = tmp_path / "out"
    halfstep("quantize", sharded, "-o", out, "--recipe", "w4b32")
    assert sorted(p.name for p in out.iterdir()) == sorted(p.name for p in sharded.iterdir())
    index = json.loads((out / "model.safetensors.index.json").read_text())
    data = 0
    for path in out.glob("*.safetensors"):
        arrays, _ = read(path)
        data += sum(a.nbytes for a in arrays.values())
        assert {n for n, file in index["weight_map"].items() if file == path.name} == set(arrays)
    assert index["metadata"]["total_size"] == data
    result = halfstep("quantize", sharded, "-o", out, "--recipe", "w8", code=2)
    assert "is not empty" in result.err
    halfstep("quantize", sharded, "-o", out, "--recipe", "w8", "--force")
    assert "l1.weight_scale" in read(out / "model-00001-of-00002.safetensors")[0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out", "sharded"]
    assert (
        "is the model"
        in halfstep("quantize", sharded, "-o", sharded, "--recipe", "w8", "--force", code=2).err
    )


def entry(**changes: object) -> dict:
    return {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]} | changes


@pytest.mark.parametrize(
    ("header", "data", "words"),
    [
        (b"", b"", "too few"),
        ({"a": entry()}, b"\0" * 15, 'tensor "a": data_offsets [0,16] lie outside'),
        ({"a": entry()}, b"\0" * 20, "belongs to none"),
        ({"a": entry(), "b": entry()}, b"\0" * 16, "overlaps"),
        ({"a": entry(), "b": entry(data_offsets=[20, 36])}, b"\0" * 36, "a gap"),
        ({"a": entry(shape=[2, 3])}, b"\0" * 16, "takes 24"),
        ({"a": entry(shape=[2**62, 2**62])}, b"\0" * 16, "too large"),
        ({"a": entry(shape=[-1, 2])}, b"\0" * 16, "whole numbers"),
        ({"a": entry(shape=7)}, b"\0" * 16, "expected a list"),
        ({"a": entry(data_offsets=[16, 0])}, b"\0" * 16, "lie outside"),
        ({"a": entry(data_offsets=[0, 1e3])}, b"\0" * 16, "whole numbers"),
        ({"a": entry(dtype="F31")}, b"\0" * 16, "F31"),
        ({"a": 5}, b"", "expected an object"),
        ({"a": {"dtype": "F32"}}, b"", 'has no "shape"'),
        (b'{"a": {}, "a": {}}', b"", "a"),
        (b'{"a": ', b"", "the header"),
        (b"{" + b"[" * 5000, b"", "the header"),
        ({"__metadata__": {"x": 1}}, b"", "expected a text"),
    ],
)
def test_hostile_headers(halfstep, tmp_path, header, data, words):
    path = write_raw(tmp_path / "bad.safetensors", header, data)
    if header == b"":
        path.write_bytes(b"\1\0{")
    result = halfstep("quantize", path, "-o", tmp_path / "q", "--recipe", "w8", code=4)
    assert "bad.safetensors" in result.err
    assert words in result.err
    assert [p.name for p in tmp_path.iterdir()] == ["bad.safetensors"]


@pytest.mark.parametrize("length", [2**63, 2**64 - 1, 10**9, 50])
def test_hostile_length(halfstep, tmp_path, length):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(struct.pack("<Q", length) + b'{"a": {}}')
    result = halfstep("quantize", path, "-o", tmp_path / "q", "--recipe", "w8", code=4)
    assert f"should have {length} bytes" in result.err


def test_index_and_files_disagree(halfstep, sharded, tmp_path):
    index = sharded / "model.safetensors.index.json"
    good = json.loads(index.read_text())

    def refusal(change: dict) -> str:
        index.write_text(json.dumps({"weight_map": good["weight_map"] | change}))
        return halfstep("quantize", sharded, "-o", tmp_path / "q", "--recipe", "w8", code=4).err

    assert 'no tensor "new"' in refusal({"new": "model-00001-of-00002.safetensors"})
    assert "beside the index" in refusal({"l1.weight": "../model-00001-of-00002.safetensors"})
    assert "no such file" in refusal({"l1.weight": "gone.safetensors"})
    index.write_text(json.dumps({"weight_map": {"l1.weight": "model-00001-of-00002.safetensors"}}))
    result = halfstep("quantize", sharded, "-o", tmp_path / "q", "--recipe", "w8", code=4)
    assert 'has the tensor "l1.bias"' in result.err
    index.unlink()
    save(sharded / "more.safetensors", {"l1.bias": np.zeros(3, np.float32)})
    result = halfstep("quantize", sharded, "-o", tmp_path / "q", "--recipe", "w8", code=4)
    assert 'tensor "l1.bias" is in two files' in result.err


def test_nothing_to_do(halfstep, tmp_path):
    path = save(tmp_path / "m.safetensors", {"norm": np.zeros(3, np.float32)})
    assert (
        "no tensor"
        in halfstep("quantize", path, "-o", tmp_path / "q", "--recipe", "w8", code=3).err
    )


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    write_safetensors(folder, tensors(0.15, 1024, "bfloat16"), "bfloat16")
    return folder


@pytest.mark.parametrize("recipe", ["w4b32", "w8", "mxfp4"])
def test_large_folder(halfstep, large, tmp_path, recipe, monkeypatch):
    out = tmp_path / "out"
    halfstep("quantize", large, "-o", out, "--recipe", recipe, "--threads", 2)
    monkeypatch.setattr(sys, "argv", ["check", str(large), str(out), recipe])
    large_model_check.main()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nothing_is_left_of_a_killed_run(halfstep, large, tmp_path, number):
    out = tmp_path / "out"
    arguments = ["quantize", large, "-o", out, "--recipe", "w8", "--threads", 1]
    begin = time.monotonic()
    halfstep("quantize", large, "-o", tmp_path / "first", "--recipe", "w8", "--threads", 1)
    whole = time.monotonic() - begin
    with halfstep.start(*arguments, stdout=-1, stderr=-1) as process:
        time.sleep(whole * 0.6)
        process.send_signal(number)
        process.communicate(timeout=60)
    if process.returncode != 0:
        assert [p.name for p in tmp_path.iterdir()] == ["first"]
    halfstep(*arguments, *(["--force"] if process.returncode == 0 else []))
    for path in out.iterdir():
        assert path.read_bytes() == (tmp_path / "first" / path.name).read_bytes()
