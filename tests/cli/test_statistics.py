"""halfstep calibrate, halfstep stats, quantize --stats and --method."""

import json
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

TFLITE = Path(__file__).resolve().parent.parent / "data/tflite"


class Call:
    def __init__(self, command, words):
        self.command, self.words = command, words

    def expect(self, code, text=""):
        result = self.command(*self.words, code=code)
        assert text in result.out + result.err
        return result


@pytest.fixture
def halfstep(halfstep):
    """The command, whose calls say what they expect."""
    return lambda *words: Call(halfstep, words)


def model_of(tmp_path, name="net.onnx", scale=1.0):
    """x -> Conv -> Relu -> Conv -> Sigmoid -> Conv; the first dimension is free."""
    random = np.random.default_rng(5)
    weights = [
        numpy_helper.from_array((scale * random.normal(size=shape)).astype(np.float32), tensor)
        for tensor, shape in [("w1", (4, 2, 3, 3)), ("w2", (3, 4, 1, 1)), ("w3", (2, 3, 1, 1))]
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["conv1"], name="conv1"),
        helper.make_node("Relu", ["conv1"], ["relu"], name="relu"),
        helper.make_node("Conv", ["relu", "w2"], ["conv2"], name="conv2"),
        helper.make_node("Sigmoid", ["conv2"], ["sigmoid"], name="sigmoid"),
        helper.make_node("Conv", ["sigmoid", "w3"], ["y"], name="conv3"),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info("x", 1, ["batch", 2, 8, 8])],
        [helper.make_tensor_value_info("y", 1, ["batch", 2, 6, 6])],
        weights,
    )
    path = tmp_path / name
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def write_samples(folder, samples):
    folder.mkdir()
    for i, sample in enumerate(samples):
        np.savez(folder / f"{i:03}.npz", x=sample)
    return folder


@pytest.fixture
def net(tmp_path):
    return model_of(tmp_path)


@pytest.fixture
def arrays():
    random = np.random.default_rng(6)
    return [random.standard_t(3, size=(1, 2, 8, 8)).astype(np.float32) for _ in range(12)]


@pytest.fixture
def data(tmp_path, arrays):
    return write_samples(tmp_path / "data", arrays)


def calibrate(halfstep, net, data, out, *more):
    return halfstep("calibrate", net, "--calibration", data, "-o", out, *more)


METHODS = ["minmax", "moving_average", "percentile", "entropy", "mse", "sqnr"]


@pytest.mark.parametrize("method", METHODS)
def test_statistics_take_the_place_of_samples(halfstep, net, data, tmp_path, method):
    stats = tmp_path / "s"
    calibrate(halfstep, net, data, stats, "--method", method).expect(0)
    direct = tmp_path / "direct.onnx"
    saved = tmp_path / "saved.onnx"
    halfstep("quantize", net, "--calibration", data, "-o", direct, "--method", method).expect(0)
    result = halfstep("quantize", net, "--stats", stats, "-o", saved, "--json").expect(0)
    assert direct.read_bytes() == saved.read_bytes()
    summary = json.loads(result.out)["summary"]
    assert summary["method"] == method
    assert summary["samples"] == 12


@pytest.mark.parametrize("method", [m for m in METHODS if m != "moving_average"])
def test_merged_parts_have_the_bytes_of_one_run(halfstep, net, data, arrays, tmp_path, method):
    calibrate(halfstep, net, data, tmp_path / "whole", "--method", method).expect(0)
    parts = []
    for i, part in enumerate([arrays[:5], arrays[5:6], arrays[6:]]):
        folder = write_samples(tmp_path / f"part{i}", part)
        parts.append(tmp_path / f"s{i}")
        calibrate(halfstep, net, folder, parts[-1], "--method", method).expect(0)
    merged = tmp_path / "merged"
    halfstep("stats", "merge", parts[2], parts[0], parts[1], "-o", merged).expect(0)
    assert merged.read_bytes() == (tmp_path / "whole").read_bytes()
    resumed = tmp_path / "resumed"
    calibrate(halfstep, net, tmp_path / "part0", tmp_path / "a", "--method", method).expect(0)
    calibrate(
        halfstep, net, tmp_path / "part1", tmp_path / "b", "--method", method, "--resume",
        tmp_path / "a",
    ).expect(0)  # fmt: skip
    calibrate(
        halfstep, net, tmp_path / "part2", resumed, "--method", method, "--resume", tmp_path / "b"
    ).expect(0)
    assert resumed.read_bytes() == merged.read_bytes()


@pytest.mark.parametrize("method", METHODS)
def test_batches_and_threads_do_not_matter(halfstep, net, data, arrays, tmp_path, method):
    ranges = []
    for size in (1, 3, 8):
        batches = [np.concatenate(arrays[i : i + size]) for i in range(0, len(arrays), size)]
        folder = write_samples(tmp_path / f"batch{size}", batches)
        for threads in ("1", "2"):
            out = tmp_path / f"s{size}{threads}"
            calibrate(halfstep, net, folder, out, "--method", method, "--threads", threads).expect(
                0
            )
            ranges.append(out.read_bytes())
    assert all(found == ranges[0] for found in ranges)


def test_percentile_is_that_of_all_values(halfstep, net, data, arrays, tmp_path):
    out = tmp_path / "q.onnx"
    encodings = tmp_path / "e.json"
    halfstep(
        "quantize", net, "--calibration", data, "-o", out, "--encodings-out", encodings,
        "--method", "percentile", "--percentile", "98", "--no-check",
    ).expect(0)  # fmt: skip
    entries = {e["name"]: e for e in json.loads(encodings.read_text())["encodings"]}
    values = np.stack(arrays)
    low, high = np.percentile(values, [2, 98])
    width = 2 ** (np.floor(np.log2((values.max() - values.min()) / 8192)) + 1)
    assert entries["x"]["y_scale"] * 255 == pytest.approx(high - low, abs=float(2 * width))


def test_range_settles(halfstep, net, data, tmp_path):
    result = calibrate(halfstep, net, data, tmp_path / "s", "--json").expect(0)
    movement = json.loads(result.out)["summary"]["movement"]
    assert {m["tensor"] for m in movement} >= {"x", "relu"}
    assert all(m["share"] >= 0 and not m["expected"] for m in movement)
    text = calibrate(halfstep, net, data, tmp_path / "t").expect(0)
    assert "settled" in text.out
    shown = halfstep("stats", "show", tmp_path / "s", "--json").expect(0)
    tensors = json.loads(shown.out)["statistics"]["tensors"]
    assert {t["name"] for t in tensors} >= {"x", "relu"}


def test_bounded_functions_need_no_samples(halfstep, net, data, tmp_path):
    recipe = tmp_path / "r.json"
    act = {"dtype": "uint8", "qscheme": "asymmetric", "qparam_calculator_cls": "global_minmax"}
    weight = {"dtype": "int8", "granularity": {"type": "per_channel"}}
    recipe.write_text(
        json.dumps({"activation": act, "weight": weight, "fixed_ranges": True, "method": "mse"})
    )
    encodings = tmp_path / "e.json"
    stats = tmp_path / "s"
    calibrate(halfstep, net, data, stats, "--recipe", recipe).expect(0)
    shown = halfstep("stats", "show", stats, "--json").expect(0)
    names = {t["name"] for t in json.loads(shown.out)["statistics"]["tensors"]}
    assert "y" in names
    assert "sigmoid" not in names
    halfstep(
        "quantize", net, "--stats", stats, "--recipe", recipe, "-o", tmp_path / "q.onnx",
        "--encodings-out", encodings,
    ).expect(0)  # fmt: skip
    entries = {e["name"]: e for e in json.loads(encodings.read_text())["encodings"]}
    assert entries["sigmoid"]["y_scale"] == pytest.approx(1 / 255)
    recipe.write_text(
        json.dumps({"activation": act, "weight": weight, "fixed_ranges": {"Tanh": 3}})
    )
    calibrate(halfstep, net, data, tmp_path / "t", "--recipe", recipe).expect(
        2, "range of Tanh: expected [LOW, HIGH]"
    )


def test_the_method_of_the_file_goes_on(halfstep, net, data, tmp_path):
    calibrate(halfstep, net, data, tmp_path / "a", "--method", "percentile").expect(0)
    result = calibrate(halfstep, net, data, tmp_path / "b", "--resume", tmp_path / "a", "--json")
    assert json.loads(result.expect(0).out)["summary"]["samples"] == 24


def test_a_tflite_file_of_other_extents(halfstep, tmp_path):
    model = TFLITE / "cnn_float.tflite"
    name = "serving_default_keras_tensor:0"
    samples = {name: np.random.default_rng(1).random((2, 32, 32, 3), np.float32)}
    data = tmp_path / "data"
    data.mkdir()
    np.savez(data / "0.npz", **samples)
    extents = ["-d", name, "2,32,32,3"]
    stats = tmp_path / "s"
    calibrate(halfstep, model, data, stats, *extents).expect(0)
    out = tmp_path / "q.onnx"
    halfstep("quantize", model, "--stats", stats, "-o", out, *extents).expect(0)
    halfstep("quantize", model, "--stats", stats, "-o", tmp_path / "r.onnx").expect(
        2, "statistics of another model"
    )


def test_what_is_wrong_is_named(halfstep, net, data, tmp_path):
    stats = tmp_path / "s"
    calibrate(halfstep, net, data, stats).expect(0)
    before = sorted(p.name for p in tmp_path.iterdir())
    calibrate(halfstep, net, data, stats).expect(2, "--force")
    calibrate(halfstep, net, data, tmp_path / "t", "--method", "percentil").expect(
        2, 'did you mean "percentile"?'
    )
    calibrate(halfstep, net, data, tmp_path / "t", "--percentile", "99").expect(
        2, "--method percentile"
    )
    calibrate(
        halfstep, net, data, tmp_path / "t", "--method", "percentile", "--percentile", "30"
    ).expect(2, "above 50")
    halfstep("calibrate", net, "--calibration", data).expect(2, "add -o STATS")
    halfstep("calibrate", net, "-o", tmp_path / "t").expect(2, "add --calibration DATA")
    calibrate(halfstep, net, data, tmp_path / "t", "--recipe", "w8").expect(3, "recipe w8")
    for percentile in ("", "abc", "nan", "99,9", "1e9"):
        calibrate(halfstep, net, data, tmp_path / "t", "--percentile", percentile).expect(
            2, f"above 50 and at most 100, found '{percentile}'"
        )
    recipe = tmp_path.parent / f"{tmp_path.name}.json"
    recipe.write_text(json.dumps({"activation": {"dtype": "int8"}, "weight": "float"} | {
        "fixed_ranges": {"Softmx": [0, 1]}}))  # fmt: skip
    calibrate(halfstep, net, data, tmp_path / "t", "--recipe", recipe).expect(
        2, 'no operator "Softmx"; did you mean "Softmax"?'
    )
    halfstep("stats", "merge", stats, stats, "-o", tmp_path / "t").expect(2, "same statistics as")
    halfstep("stats", "merge", stats, "-o", "-").expect(2, "files only")
    quantize = ["quantize", net, "-o", tmp_path / "q.onnx", "--stats", stats, "--recipe", "w8"]
    halfstep(*quantize).expect(2, "statistics have nothing to tell")
    calibrate(halfstep, net, data, tmp_path / "t", "--fallback").expect(2, "--fallback")
    halfstep("stats").expect(2, "no action given")
    halfstep("stats", "merg").expect(2, "'merge'")
    halfstep("stats", "merge", "-o", tmp_path / "t").expect(2, "one file or more")
    halfstep("stats", "merge", stats, "-o", stats, "--force").expect(2, "statistics to merge")
    halfstep("stats", "show", net).expect(4, "no statistics of halfstep")
    halfstep("stats", "show", tmp_path / "none").expect(4, "none")
    quantize = ["quantize", net, "-o", tmp_path / "q.onnx", "--stats"]
    halfstep(*quantize, stats, "--method", "mse").expect(5, "hold no histogram, which mse needs")
    halfstep(*quantize, stats, "--recipe", "a16w8", "--set", "node:sigmoid act=int8").expect(0)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*before, "q.onnx"])


def test_files_of_something_else_are_refused(halfstep, net, data, tmp_path):
    stats = tmp_path / "s"
    calibrate(halfstep, net, data, stats).expect(0)
    other = model_of(tmp_path, "other.onnx", scale=2.0)
    calibrate(halfstep, other, data, tmp_path / "o").expect(0)
    halfstep("stats", "merge", stats, tmp_path / "o", "-o", tmp_path / "m").expect(
        2, f"{tmp_path / 'o'}: statistics of model"
    )
    halfstep("quantize", other, "--stats", stats, "-o", tmp_path / "q.onnx").expect(
        2, "statistics of another model"
    )
    calibrate(halfstep, net, data, tmp_path / "p", "--method", "mse").expect(0)
    halfstep("stats", "merge", stats, tmp_path / "p", "-o", tmp_path / "m").expect(2, "method mse")
    again = ["--resume", tmp_path / "p", "--method", "minmax"]
    calibrate(halfstep, net, data, tmp_path / "r", *again).expect(2, "go on in the same way")
    cut = tmp_path / "cut"
    cut.write_bytes(stats.read_bytes()[:-20])
    halfstep("stats", "merge", stats, cut, "-o", tmp_path / "m").expect(4, f"{cut}: its checksum")
    halfstep("quantize", net, "--stats", cut, "-o", tmp_path / "q.onnx").expect(4, f"{cut}: ")
    # Equal models under another name are the same model.
    shutil.copy(net, tmp_path / "copy.onnx")
    halfstep(
        "quantize", tmp_path / "copy.onnx", "--stats", stats, "-o", tmp_path / "c.onnx"
    ).expect(0)
    # More tensors are observed for a target than for another.
    halfstep(
        "quantize", net, "--stats", stats, "-o", tmp_path / "h.onnx", "--exclude", "relu",
    ).expect(2, "no statistics of")  # fmt: skip
    assert not (tmp_path / "m").exists()
    assert not (tmp_path / "q.onnx").exists()


def test_moving_average_depends_on_the_order_and_says_so(halfstep, net, data, arrays, tmp_path):
    other = write_samples(tmp_path / "other", arrays[::-1])
    for name, samples in (("a", data), ("b", other)):
        calibrate(halfstep, net, samples, tmp_path / name, "--method", "moving_average").expect(0)
    halfstep("stats", "merge", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "m").expect(
        5, "depend on the order of samples"
    )
