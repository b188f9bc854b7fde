"""Models larger than memory, at a size that a test can afford: what is resident, what is left of
runs that end early, what the written files are."""

import os
import signal
import sys
import time
from pathlib import Path

import large_model_check
import numpy as np
import onnx
import pytest
from large_model_data import tensors, write_onnx

ROOT = Path(__file__).resolve().parents[2]
RECIPES = ["w4b32", "w8", "mxfp4"]
GIGABYTES = 0.2
WIDTH = 1024


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("large")
    write_onnx(folder, tensors(GIGABYTES, WIDTH, "float32"), "float32")
    return folder / "model.onnx"


def peak_of(halfstep, *arguments) -> int:
    """Peak resident memory in bytes, mapped pages included. A small Python in between: Linux hands
    the peak of the parent on to the child."""
    program = (
        "import os, subprocess, sys\n"
        "process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
        "_, status, usage = os.wait4(process.pid, 0)\n"
        "print(os.waitstatus_to_exitcode(status), usage.ru_maxrss * 1024)\n"
    )
    python = type(halfstep)(Path(sys.executable), halfstep.environment)
    out = python("-I", "-c", program, halfstep.path, *arguments).out.split()
    assert out[0] == "0"
    return int(out[1])


@pytest.mark.parametrize("recipe", RECIPES)
def test_peak_memory_is_a_part_of_the_model(halfstep, large, tmp_path, recipe):
    size = large.with_name("model.onnx.data").stat().st_size
    out = tmp_path / "q.onnx"
    peak = peak_of(halfstep, "quantize", large, "-o", out, "--recipe", recipe, "--threads", 2)
    assert size > 160e6
    assert peak < 110e6, f"{peak / 1e6:.0f} MB for {size / 1e6:.0f} MB"
    onnx.checker.check_model(out, full_check=True)


@pytest.mark.parametrize("recipe", RECIPES)
def test_codes_are_those_of_numpy_on_any_thread_count(
    halfstep, large, tmp_path, recipe, monkeypatch
):
    outputs = []
    for threads in (1, 3):
        out = tmp_path / f"{threads}" / "q.onnx"
        out.parent.mkdir()
        halfstep("quantize", large, "-o", out, "--recipe", recipe, "--threads", threads)
        outputs.append([file.read_bytes() for file in sorted(out.parent.iterdir())])
    assert outputs[0] == outputs[1]
    if recipe == "w8":  # the larger one has its weights beside it
        assert len(outputs[0]) == 1 or len(outputs[0]) == 2
    names = sorted(file.name for file in (tmp_path / "1").iterdir())
    if names == ["q.onnx", "q.onnx.data"]:
        words = ["check", str(large), str(tmp_path / "1" / "q.onnx"), recipe]
        monkeypatch.setattr(sys, "argv", words)
        large_model_check.main()


def test_external_data_stays_external(halfstep, large, tmp_path):
    out = tmp_path / "q.onnx"
    report = halfstep("quantize", large, "-o", out, "--recipe", "mxfp4", "--json").json
    assert sorted(p.name for p in tmp_path.iterdir()) == ["q.onnx"]  # 50 MB fit in one file
    assert report["summary"]["size_after"] == out.stat().st_size
    set_free = tmp_path / "w8.onnx"
    report = halfstep(
        "quantize", large, "-o", set_free, "--recipe", "w8", "--exclude", "layers.0.*", "--json"
    ).json
    data = tmp_path / "w8.onnx.data"
    assert report["summary"]["size_after"] == set_free.stat().st_size + data.stat().st_size
    float_kept = onnx.load(set_free, load_external_data=False).graph.initializer
    assert {t.external_data[0].value for t in float_kept if t.external_data} == {"w8.onnx.data"}


def test_existing_external_data_is_not_overwritten(halfstep, large, tmp_path):
    (tmp_path / "q.onnx.data").write_text("precious")
    arguments = ["quantize", large, "-o", tmp_path / "q.onnx", "--recipe", "w8"]
    result = halfstep(*arguments, code=2)
    assert "q.onnx.data exists" in result.err
    assert [p.name for p in tmp_path.iterdir()] == ["q.onnx.data"]
    assert (tmp_path / "q.onnx.data").read_text() == "precious"


def test_data_of_the_model_itself_is_no_output(halfstep, large, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    os.link(large, folder / "model.onnx")
    os.link(large.with_name("model.onnx.data"), folder / "model.onnx.data")
    # -o model would write model.data: fine; -o with the model's own data file is refused
    result = halfstep(
        "quantize",
        folder / "model.onnx",
        "-o",
        folder / "model.onnx",
        "--recipe",
        "w8",
        "--force",
        code=2,
    )
    assert "is also an input" in result.err


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_of_a_killed_run(halfstep, large, tmp_path, number):
    """At many moments, also while the data is being written."""
    out = tmp_path / "q.onnx"
    arguments = ["quantize", large, "-o", out, "--recipe", "w8", "--threads", 1, "--no-progress"]
    begin = time.monotonic()
    halfstep(*arguments)
    whole = time.monotonic() - begin
    wanted = [p.read_bytes() for p in sorted(tmp_path.iterdir())]
    for file in tmp_path.iterdir():
        file.unlink()
    killed = 0
    for part in (0.3, 0.5, 0.7):
        with halfstep.start(*arguments, stdout=-1, stderr=-1) as process:
            time.sleep(whole * part)
            process.send_signal(number)
            process.communicate(timeout=60)
        if process.returncode == 0:  # it was faster this time
            for file in tmp_path.iterdir():
                file.unlink()
            continue
        killed += 1
        assert process.returncode == (-number if number == signal.SIGKILL else 130)
        assert list(tmp_path.iterdir()) == []
    halfstep(*arguments)
    assert [p.read_bytes() for p in sorted(tmp_path.iterdir())] == wanted


def test_dry_run_says_the_same_sizes(halfstep, large, tmp_path):
    out = tmp_path / "q.onnx"
    plan = halfstep("quantize", large, "--recipe", "w4b32", "--dry-run", "--json").json["summary"]
    done = halfstep("quantize", large, "-o", out, "--recipe", "w4b32", "--json").json["summary"]
    assert plan["weights_after"] == done["weights_after"]


def test_non_finite_weights_are_reported(halfstep, tmp_path):
    values = np.random.default_rng(0).standard_normal((256, 256)).astype(np.float32)
    values[3, 4], values[5, 6] = np.nan, np.inf
    weight = onnx.numpy_helper.from_array(values, "w")
    node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"], "product")
    ports = [onnx.helper.make_tensor_value_info(n, 1, [1, 256]) for n in "xy"]
    graph = onnx.helper.make_graph([node], "g", ports[:1], ports[1:], [weight])
    onnx.save(onnx.helper.make_model(graph, ir_version=10), tmp_path / "m.onnx")
    for extra in (["-o", tmp_path / "q.onnx"], ["--dry-run"]):
        found = halfstep("quantize", tmp_path / "m.onnx", "--recipe", "w8", "--json", *extra).json
        (told,) = [d for d in found["diagnostics"] if d["rule"] == "weights/non-finite"]
        assert "1 NaN and 1 infinite" in told["message"]
        assert "weight 'w' of MatMul 'product'" in told["message"]
