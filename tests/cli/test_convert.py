"""Adapting a model with encodings to a target: `halfstep convert`, `halfstep explain`."""

import dataclasses
import importlib.util
import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest

ENCODINGS = Path(__file__).resolve().parent.parent / "golden/encodings/mixed_ops"
MODEL = ENCODINGS / "model.onnx"
PLAIN = ENCODINGS / "w8a8_pc/v2.0.0.encodings"
LIBRARIES = importlib.util.find_spec("onnxruntime_qnn") is not None


def outputs(path, optimize):
    options = ort.SessionOptions()
    levels = ort.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimize else levels.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options)
    data = np.load(ENCODINGS / "data.npz")
    feeds = {i.name: data[f"in:{i.name}"] for i in session.get_inputs()}
    return session.run(None, feeds)


def sqnr(found, wanted):
    error = np.square(found.astype(np.float64) - wanted).sum()
    return 10 * np.log10(np.square(wanted.astype(np.float64)).sum() / max(error, 1e-30))


def converts(path):
    return [
        node.name
        for node in onnx.load(path).graph.node
        if any(p.key == "halfstep.op" and p.value == "Convert" for p in node.metadata_props)
    ]


def test_overrides_file_as_the_specification_writes_it(halfstep, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(MODEL.read_bytes())
    overrides = f"--quantization_overrides={PLAIN}"
    result = halfstep("convert", "-i", model, overrides, "--target_backend=HTP")
    chosen = tmp_path / ("model.dlc" if LIBRARIES else "model_htp_v75.onnx")
    assert chosen.is_file()
    assert "v75" in result.out and str(chosen) in result.out
    written = tmp_path / "o.onnx"
    halfstep("convert", "-i", model, overrides, "--target_backend=HTP", "-o", written)
    data = np.load(ENCODINGS / "data.npz")
    for optimize in (False, True):
        found = outputs(written, optimize)[0]
        wanted = next(data[key] for key in data.files if key.startswith("out:"))
        assert sqnr(found, wanted) > 30


def test_qdq_model_as_the_specification_writes_it(halfstep, tmp_path):
    qdq = tmp_path / "model_qdq.onnx"
    halfstep("encodings", "apply", MODEL, PLAIN, "-o", qdq)
    halfstep("convert", "-i", qdq, "--target_backend=htp")
    chosen = "model_qdq.dlc" if LIBRARIES else "model_qdq_htp_v75.onnx"
    assert (tmp_path / chosen).is_file()


def test_a_dlc_and_what_the_validator_says(halfstep, tmp_path):
    if not LIBRARIES:
        pytest.skip("onnxruntime-qnn is not installed")
    words = ("convert", "-i", MODEL, "--encodings", PLAIN, "--target_backend", "HTP")
    one, two, onnx_file = tmp_path / "one.dlc", tmp_path / "two.dlc", tmp_path / "o.onnx"
    document = halfstep(*words, "--validate", "-o", one, "--json").json
    validated = document["summary"]["validated"]
    assert validated["operators"] == sum(validated["accepted"].values()) > 0
    assert document["dlc"] == str(one)
    halfstep(*words, "--dlc", two, "-o", onnx_file)
    assert one.read_bytes() == two.read_bytes()
    assert onnx_file.is_file()
    graph = halfstep("inspect", one, "--json").json["dlc"]["graphs"][0]
    assert sum(op["type"] == "Transpose" for op in graph["operators"]) == 1
    kinds = {tensor["name"]: tensor["kind"] for tensor in graph["tensors"]}
    model = onnx.load(MODEL)
    assert {name for name, kind in kinds.items() if kind == "app_write"} == {
        tensor.name for tensor in model.graph.input
    }
    assert "--force" in halfstep(*words, "-o", one, code=2).err
    assert halfstep(*words, "--validate", "--dry-run").code == 0


def test_a_dlc_needs_a_target_and_libraries(halfstep, tmp_path):
    words = ("convert", "-i", MODEL, "--encodings", PLAIN)
    refused = halfstep(*words, "-o", tmp_path / "o.dlc", code=2)
    assert "htp_v75" in refused.err
    refused = halfstep(
        *words, "--target_backend", "HTP", "--qnn-libs", tmp_path, "-o", tmp_path / "o.dlc", code=5
    )
    assert "libQnnHtp.so" in refused.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "line",
    [
        "qairt-converter -i model.onnx --quantization_overrides\n"
        "model.encodings \N{EN DASH}-target_backend=HTP",
        "qairt-converter -i model_qdq.onnx \N{EN DASH}-target_backend=HTP",
    ],
)
def test_example_lines_of_the_specification(halfstep, tmp_path, line):
    """As its page prints them, dashes and line breaks included."""
    (tmp_path / "model.onnx").write_bytes(MODEL.read_bytes())
    (tmp_path / "model.encodings").write_bytes(PLAIN.read_bytes())
    qdq = tmp_path / "model_qdq.onnx"
    halfstep("encodings", "apply", MODEL, PLAIN, "-o", qdq)
    tool, *words = line.split()
    assert tool == "qairt-converter"
    result = halfstep("convert", *words, "-o", "out.onnx", cwd=tmp_path)
    assert "htp_v75" in result.out and "v75" in result.out.split("chosen")[1]
    data = np.load(ENCODINGS / "data.npz")
    wanted = next(data[key] for key in data.files if key.startswith("out:"))
    assert sqnr(outputs(tmp_path / "out.onnx", optimize=False)[0], wanted) > 30


def test_typographic_dashes_of_other_words_stay(halfstep):
    for word in ("\N{EN DASH}-no_such_option=1", "\N{EN DASH}"):
        assert word in halfstep("convert", word, code=2).err


def test_other_spellings(halfstep, tmp_path):
    out = tmp_path / "o.onnx"
    halfstep(
        *("convert", "--input_network", MODEL, "--quantization-overrides", PLAIN),
        *("--target-backend", "HTP", "--htp_arch", "69", "--output_path", out),
    )
    assert out.is_file()


@pytest.mark.parametrize("recipe", ["w2a16_bq16_shift", "w4a16_bq16_asym", "w4a16_lpbq16"])
def test_blocks_are_errors_without_fallback(halfstep, tmp_path, recipe):
    out = tmp_path / "o.onnx"
    words = ("convert", "-i", MODEL, "--encodings", ENCODINGS / recipe / "v2.0.0.encodings")
    words += ("--target_backend", "HTP", "-o", out)
    refused = halfstep(*words, code=5)
    assert "[adapt/" in refused.err and not out.exists()
    halfstep(*words, "--fallback")
    assert len(outputs(out, optimize=False)) > 0


def test_a_float_model_becomes_float16(halfstep, tmp_path):
    out, table = tmp_path / "o.onnx", tmp_path / "e.json"
    document = halfstep(
        *("convert", "-i", MODEL, "--target_backend", "HTP", "-o", out),
        *("--encodings-out", table, "--json"),
    ).json
    assert document["summary"]["adapted"]["default_float"] > 10
    assert json.loads(table.read_text())["encodings"] == []
    wanted, found = outputs(MODEL, optimize=False)[0], outputs(out, optimize=False)[0]
    assert 50 < sqnr(found, wanted) < 100


def test_without_target_nothing_is_adapted(halfstep, tmp_path):
    out, same = tmp_path / "o.onnx", tmp_path / "same.onnx"
    halfstep("convert", "-i", MODEL, "--encodings", PLAIN, "-o", out)
    halfstep("encodings", "apply", MODEL, PLAIN, "-o", same)
    assert out.read_bytes() == same.read_bytes()


def widened(folder):
    """The plain file with one activation in 16 bits, so that Converts are needed."""
    document = json.loads(PLAIN.read_text())
    entry = next(e for e in document["encodings"] if e["name"] == "add")
    entry |= {"output_dtype": "uint16", "y_scale": entry["y_scale"] / 257}
    entry["y_zero_point"] = entry.get("y_zero_point", 0) * 257
    file = folder / "wide.encodings"
    file.write_text(json.dumps(document))
    return file


def test_adapting_again_changes_nothing(halfstep, tmp_path):
    first, second = tmp_path / "1.onnx", tmp_path / "2.onnx"
    tables = tmp_path / "1.json", tmp_path / "2.json"
    words = ("--target_backend", "HTP", "--encodings-out")
    overrides = ("--encodings", widened(tmp_path))
    halfstep(*("convert", "-i", MODEL, *overrides, "-o", first), *words, tables[0])
    assert converts(first)
    halfstep(*("convert", "-i", first, "-o", second), *words, tables[1])
    assert converts(second) == converts(first)
    assert tables[0].read_bytes() == tables[1].read_bytes()


def test_a_dry_run_decides_everything_and_writes_nothing(halfstep, tmp_path):
    model = tmp_path / "model.onnx"
    model.write_bytes(MODEL.read_bytes())
    words = ("convert", "-i", model, "--encodings", widened(tmp_path), "--target_backend", "HTP")
    before = sorted(tmp_path.iterdir())
    dry = halfstep(*words, "--dry-run", "--json").json["summary"]
    assert sorted(tmp_path.iterdir()) == before
    wet = halfstep(*words, "-o", tmp_path / "o.onnx", "--json").json["summary"]
    assert dry["adapted"] == wet["adapted"] and dry["adapted"]["converts"] > 0
    assert dry["size_after"] == wet["size_after"]


def test_explain(halfstep, tmp_path):
    out = tmp_path / "o.onnx"
    mix = ENCODINGS / "w8a8_fp16mix/v2.0.0.encodings"
    halfstep("convert", "-i", MODEL, "--encodings", mix, "--target_backend", "HTP", "-o", out)
    everything = halfstep("explain", out, "--json").json["explanation"]
    assert everything["target"] == "htp_v75" and everything["totals"]["adapt/convert"] > 0
    subject = next(d["subject"] for d in everything["decisions"] if d["rule"] == "adapt/convert")
    one = halfstep("explain", out, subject)
    assert "is converted from" in one.out and "[adapt/convert]" in one.out
    wrong = halfstep("explain", out, subject + "x", code=2)
    assert f'did you mean "{subject}"' in wrong.err
    assert "no decisions are recorded" in halfstep("explain", MODEL, code=3).err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target_backend", "GPU"], "HTP, LPAI and CPU"),
        (["--target_backend", "HTP", "--htp_arch", "v99"], "v75"),
        (["--target_backend", "CPU", "--htp_arch", "v75"], "leave it out"),
        (["--target", "none", "--target_backend", "HTP"], "give one of them"),
        (["-o", "model.dlc", "--dlc", "b.dlc"], "give one of them"),
        (["--fallback", "--dry-run"], "leave it out"),
        (["--target_backend", "HTP", "--skip", "fold-bais", "--dry-run"], '"fold-bias"'),
        (["--skip", "super-groups", "--dry-run"], "leave --skip super-groups out"),
    ],
)
def test_wrong_usage(halfstep, words, message):
    refused = halfstep("convert", "-i", MODEL, *words, code=2)
    assert message in refused.err


def test_an_integer_target_names_the_float_tensors(halfstep, tmp_path):
    words = ("convert", "-i", MODEL, "--target_backend", "LPAI", "-o", tmp_path / "o.onnx")
    refused = halfstep(*words, code=5)
    assert "adapt/no-" in refused.err and "float16" in refused.err


def test_quantize_for_a_target(halfstep, job):
    document = halfstep(*job.arguments("--target", "htp_v75", "--json")).json
    assert document["summary"]["adapted"]["super_groups"] > 0
    assert document["summary"]["outputs"][0]["sqnr_db"] > 20


def test_quantize_for_a_target_dry(halfstep, job):
    """A dry run decides what the real one does."""
    words = ("quantize", job.model, "--target", "htp_v75", "--recipe", "a16w8")
    dry = halfstep(*words, "--dry-run", "--json").json["summary"]
    assert not job.output.exists() and dry["placeholders"]
    wet = halfstep(*job.arguments(*words[2:], "--json")).json["summary"]
    assert dry["adapted"] == wet["adapted"] and dry["adapted"]["super_groups"] > 0
    assert dry["types"] == wet["types"] and dry["prepared"] == wet["prepared"]
    assert abs(dry["size_after"] - wet["size_after"]) < 0.1 * wet["size_after"]
    assert "placeholders" in halfstep(*words, "--dry-run").out


def conv_add_norm(path):
    """Conv, Add of a constant, BatchNormalization, Relu."""
    rng = np.random.default_rng(3)
    shapes = {"w": (4, 3, 3, 3), "a": (4, 1, 1), "s": (4,), "t": (4,), "m": (4,), "v": (4,)}
    constants = [
        onnx.numpy_helper.from_array(rng.random(shape, np.float32) + 0.5, name)
        for name, shape in shapes.items()
    ]
    nodes = [
        onnx.helper.make_node("Conv", ["x", "w"], ["c"], "conv"),
        onnx.helper.make_node("Add", ["c", "a"], ["d"], "add"),
        onnx.helper.make_node("BatchNormalization", ["d", "s", "t", "m", "v"], ["e"], "norm"),
        onnx.helper.make_node("Relu", ["e"], ["y"], "relu"),
    ]
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, 8, 8])
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 4, 6, 6])
    graph = onnx.helper.make_graph(nodes, "net", [x], [y], constants)
    opset = onnx.helper.make_opsetid("", 17)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8), path)
    return path


def ops(path):
    skipped = ("Cast", "QuantizeLinear", "DequantizeLinear")
    return [n.op_type for n in onnx.load(path).graph.node if n.op_type not in skipped]


@pytest.mark.parametrize(
    ("skip", "left"),
    [
        ([], ["Conv", "Relu"]),
        (["fold-batch-norm"], ["Conv", "BatchNormalization", "Relu"]),
        (["fold-bias"], ["Conv", "Add", "BatchNormalization", "Relu"]),
        (["fold-bias", "fold-batch-norm"], ["Conv", "Add", "BatchNormalization", "Relu"]),
    ],
)
def test_steps_are_reported_and_can_be_skipped(halfstep, tmp_path, skip, left):
    model, out = conv_add_norm(tmp_path / "m.onnx"), tmp_path / "o.onnx"
    words = ["convert", "-i", model, "--target_backend", "HTP", "-o", out, "--json"]
    document = halfstep(*words, *(word for step in skip for word in ("--skip", step))).json
    assert ops(out) == left
    done = {"prepare/fold-bias", "prepare/fold-batch-norm"}
    done -= {f"prepare/{step}" for step in skip}
    done -= {"prepare/fold-batch-norm"} if "Add" in left else set()
    assert document["summary"]["prepared"] == dict.fromkeys(sorted(done), 1)
    told = halfstep("explain", out, "--json").json["explanation"]["totals"]
    assert {rule for rule in told if rule.startswith("prepare/")} == done
    x = np.random.default_rng(4).random((1, 3, 8, 8), np.float32)
    (wanted,) = ort.InferenceSession(model).run(None, {"x": x})
    (found,) = ort.InferenceSession(out).run(None, {"x": x})
    assert sqnr(found, wanted) > 50


def test_every_step_can_be_skipped(halfstep, tmp_path):
    """Also the passes: what is left out is missing, nothing breaks."""
    page = (Path(__file__).parents[2] / "docs/cli.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| ")]
    known = halfstep("convert", "-i", MODEL, "--skip", "?", "--dry-run", code=2).err
    steps = known.split("known are ")[1].strip().split(", ")
    assert len(steps) > 10
    for step in steps:
        assert any(step in row for row in rows), f"docs/cli.md does not list {step}"
        out = tmp_path / f"{step}.onnx"
        words = ("convert", "-i", MODEL, "--encodings", PLAIN, "--target_backend", "HTP")
        halfstep(*words, "--skip", step, "-o", out)
        onnx.checker.check_model(out)


def test_constants_are_computed(halfstep, tmp_path):
    """A scaled weight and a summed bias are constants of the operator; without an engine a note."""
    rng = np.random.default_rng(5)
    shapes = {"w": (4, 3, 1, 1), "s": (4, 1, 1, 1), "b1": (4, 1, 1), "b2": (4, 1, 1)}
    constants = [
        onnx.numpy_helper.from_array(rng.random(shape, np.float32), name)
        for name, shape in shapes.items()
    ]
    nodes = [
        onnx.helper.make_node("Mul", ["w", "s"], ["ws"], "scale"),
        onnx.helper.make_node("Conv", ["x", "ws"], ["c"], "conv"),
        onnx.helper.make_node("Add", ["b1", "b2"], ["b"], "sum"),
        onnx.helper.make_node("Add", ["c", "b"], ["y"], "add"),
    ]
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3, 4, 4])
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1, 4, 4, 4])
    graph = onnx.helper.make_graph(nodes, "net", [x], [y], constants)
    model, out = tmp_path / "m.onnx", tmp_path / "o.onnx"
    opset = onnx.helper.make_opsetid("", 17)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[opset], ir_version=8), model)
    words = ("convert", "-i", model, "--target_backend", "HTP", "-o", out, "--json")
    prepared = halfstep(*words).json["summary"]["prepared"]
    assert prepared == {"prepare/fold-bias": 1, "prepare/fold-constant": 2}
    assert ops(out) == ["Conv"]
    data = np.random.default_rng(6).random((1, 3, 4, 4), np.float32)
    (wanted,) = ort.InferenceSession(model).run(None, {"x": data})
    (found,) = ort.InferenceSession(out).run(None, {"x": data})
    assert sqnr(found, wanted) > 50
    left = halfstep(*words, "--force", "--skip", "fold-constants").json["summary"]["prepared"]
    assert "prepare/fold-constant" not in left
    nowhere = {"HALFSTEP_ORT": str(tmp_path / "no_such_library.so")}
    alone = dataclasses.replace(halfstep, environment=halfstep.environment | nowhere)
    left = alone(*words, "--force").json["summary"]["prepared"]
    assert left == {"prepare/constant-left": 1}
    assert str(tmp_path) not in onnx.load(out).metadata_props[0].value
