"""The content of a model file shows its kind: it is read, or refused with a remedy."""

import json
import os
import pickle
import signal
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest


def protobuf_field(number: int, content: bytes) -> bytes:
    assert len(content) < 128
    return bytes([number << 3 | 2, len(content)]) + content


def zipped(path: Path, *names: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, b"content")


def state_dict(path: Path) -> None:
    zipped(path, "net/data.pkl", "net/byteorder", "net/data/0", "net/version")


def script(path: Path) -> None:
    zipped(path, "net/code/__torch__.py", "net/data.pkl", "net/constants.pkl")


def exported(path: Path) -> None:
    zipped(path, "net/models/model.json", "net/archive_format", "net/data/weights/weight_0")


def plain_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps({"w": [1.0]}))


def safetensors(path: Path) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(4))


def arrays(path: Path) -> None:
    with path.open("wb") as file:
        np.savez(file, x=np.zeros(2))


def array(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.zeros(2))


def other_zip(path: Path) -> None:
    zipped(path, "readme.txt")


def graph_text(path: Path) -> None:
    path.write_text('node { name: "x" op: "Placeholder" }')


def meta_graph(path: Path) -> None:
    path.write_bytes(protobuf_field(1, protobuf_field(2, b"stripped_op_list")))


def empty_folder(path: Path) -> None:
    path.mkdir()


def checkpoint(path: Path) -> None:
    path.mkdir()
    (path / "checkpoint").touch()


def weights_folder(path: Path) -> None:
    path.mkdir()
    (path / "model.safetensors").touch()


def core_ml(path: Path) -> None:
    path.mkdir()
    (path / "Manifest.json").touch()


REFUSED = [
    ("net.pt", state_dict, "torch.export.save"),
    ("net.pkl", plain_pickle, "torch.export.save"),
    ("net.safetensors", safetensors, "torch.export.save"),
    ("folder", weights_folder, "torch.export.save"),
    ("net.npz", arrays, "--calibration"),
    ("net.npy", array, "--calibration"),
    ("net.zip", other_zip, "unpack it"),
    ("net.pbtxt", graph_text, "as_text=False"),
    ("net.meta", meta_graph, "simple_save"),
    ("folder", empty_folder, "SavedModel"),
    ("folder", checkpoint, "tf.saved_model.save"),
    ("net.mlpackage", core_ml, "ONNX"),
]


@pytest.mark.parametrize(
    ("name", "make", "remedy"), REFUSED, ids=[row[1].__name__ for row in REFUSED]
)
def test_refused(halfstep, tmp_path, name, make, remedy):
    model = tmp_path / name
    make(model)
    result = halfstep("inspect", model, code=4)
    assert str(model) in result.err
    assert remedy in result.err
    assert result.out == ""


def test_the_name_does_not_count(halfstep, tmp_path):
    model = tmp_path / "net.onnx"
    state_dict(model)
    assert "torch.export.save" in halfstep("inspect", model, code=4).err


def saved_model(path: Path) -> Path:
    path.mkdir()
    (path / "saved_model.pb").write_bytes(b"\x08\x01")
    return path


def frozen(path: Path) -> Path:
    node = protobuf_field(1, b"x") + protobuf_field(2, b"Placeholder")
    path.write_bytes(protobuf_field(1, node))
    return path


def hdf5(path: Path) -> Path:
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    return path


def keras(path: Path) -> Path:
    zipped(path, "metadata.json", "config.json", "model.weights.h5")
    return path


def pt2(path: Path) -> Path:
    exported(path)
    return path


def torch_script(path: Path) -> Path:
    script(path)
    return path


FRAMEWORKS = [
    (saved_model, "tensorflow"),
    (frozen, "tensorflow"),
    (hdf5, "tensorflow"),
    (keras, "tensorflow"),
    (pt2, "torch"),
    (torch_script, "torch"),
]
IDS = [row[0].__name__ for row in FRAMEWORKS]


def with_python(halfstep, python: Path | str, **more: str):
    return type(halfstep)(
        halfstep.path, halfstep.environment | {"HALFSTEP_PYTHON": str(python)} | more
    )


def script_python(folder: Path, text: str) -> Path:
    python = folder / "python"
    python.write_text(f"#!{sys.executable}\n{text}\n")
    python.chmod(0o755)
    return python


@pytest.mark.parametrize(("make", "extra"), FRAMEWORKS, ids=IDS)
@pytest.mark.parametrize("command", ["inspect", "quantize", "convert", "from-model", "explain"])
def test_missing_extra(halfstep, tmp_path, make, extra, command):
    """The framework is not installed here: the line that installs it, exit code 5, no file left."""
    model = make(tmp_path / "net")
    out = tmp_path / "out.onnx"
    places = tmp_path / "tmp"
    places.mkdir()
    arguments = {
        "inspect": ("inspect", model),
        "explain": ("explain", model),
        "quantize": ("quantize", model, "--recipe", "w8", "-o", out),
        "convert": ("convert", "-i", model, "-o", out),
        "from-model": ("encodings", "from-model", model, "-o", tmp_path / "e.json"),
    }[command]
    # An import that fails is all that this test needs of a framework.
    blocked = tmp_path / "blocked"
    for name in ("tensorflow", "torch"):
        (blocked / name).mkdir(parents=True)
        (blocked / name / "__init__.py").write_text("raise ModuleNotFoundError('no framework')")
    path = f"{blocked}{os.pathsep}{halfstep.environment['PYTHONPATH']}"
    run = with_python(halfstep, sys.executable, PYTHONPATH=path, TMPDIR=str(places))
    result = run(*arguments, code=5)
    assert f"pip install 'halfstep[{extra}]'" in result.err
    assert list(places.iterdir()) == []
    assert not out.exists()


def test_python_without_halfstep(halfstep, tmp_path):
    text = "import sys\nsys.exit('No module named halfstep')"
    run = with_python(halfstep, script_python(tmp_path, text))
    result = run("inspect", saved_model(tmp_path / "net"), code=5)
    assert "No module named halfstep" in result.err
    assert "pip install 'halfstep[tensorflow]'" in result.err


def test_no_python(halfstep, tmp_path):
    run = with_python(halfstep, tmp_path / "nowhere")
    assert "cannot start" in run("inspect", saved_model(tmp_path / "net"), code=5).err


def test_the_child_crashes(halfstep, tmp_path):
    text = "import os, sys\nprint('last words', file=sys.stderr, flush=True)\nos.abort()"
    run = with_python(halfstep, script_python(tmp_path, text))
    result = run("inspect", saved_model(tmp_path / "net"), code=5)
    assert "ended with signal 6" in result.err
    assert "last words" in result.err


@pytest.mark.parametrize("kind", ["invalid_file", "invalid_argument", "unsupported", "internal"])
def test_errors_of_the_child(halfstep, tmp_path, kind):
    text = (
        "import json, sys\n"
        "request = json.loads(sys.argv[-1])\n"
        f"error = {{'kind': {kind!r}, 'message': 'what is wrong'}}\n"
        "json.dump({'error': error}, open(request['report'], 'w'))\n"
        "sys.exit(1)"
    )
    run = with_python(halfstep, script_python(tmp_path, text))
    codes = {"invalid_file": 4, "invalid_argument": 2, "unsupported": 5, "internal": 70}
    model = saved_model(tmp_path / "net")
    result = run("inspect", model, code=codes[kind])
    assert str(model) in result.err
    assert "what is wrong" in result.err


def test_ctrl_c_ends_the_child(halfstep, tmp_path):
    text = (
        "import json, os, sys, time\n"
        "request = json.loads(sys.argv[-1])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "time.sleep(100)"
    )
    places = tmp_path / "tmp"
    places.mkdir()
    run = with_python(halfstep, script_python(tmp_path, text), TMPDIR=str(places))
    with run.start("inspect", saved_model(tmp_path / "net"), stdout=-1, stderr=-1) as process:
        deadline = time.monotonic() + 60
        while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert list(places.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_options_of_another_form(halfstep, job):
    result = halfstep("inspect", job.model, "--signature", "serve", code=2)
    assert "signature" in result.err
    result = halfstep("inspect", job.model, "--outputs", "y:0", code=2)
    assert "outputs" in result.err


def test_options_without_a_model(halfstep, tmp_path):
    file = tmp_path / "e.json"
    file.write_text("{}")
    assert "--model" in halfstep("encodings", "lint", file, "--signature", "a", code=2).err


def test_request_and_result(halfstep, job, tmp_path):
    """The options arrive, the ONNX file that the child writes is the model, its notes are said."""
    text = (
        "import json, shutil, sys\n"
        "request = json.loads(sys.argv[-1])\n"
        f"shutil.copy({str(job.model)!r}, request['output'])\n"
        f"json.dump(request, open({str(tmp_path / 'request')!r}, 'w'))\n"
        "note = {'severity': 'warning', 'rule': 'tensorflow/other-signature', 'subject': 's',\n"
        "        'message': 'something to know'}\n"
        "json.dump({'diagnostics': [note]}, open(request['report'], 'w'))"
    )
    run = with_python(halfstep, script_python(tmp_path, text))
    model = frozen(tmp_path / "net.pb")
    result = run("inspect", model, "--inputs", "x:0,z", "--outputs", "y", "--outputs", "w:1")
    assert "something to know" in result.err
    assert "conv" in result.out.lower()
    request = json.loads((tmp_path / "request").read_text())
    assert request["model"] == str(model)
    assert request["inputs"] == ["x:0", "z"]
    assert request["outputs"] == ["y", "w:1"]
    assert not Path(request["output"]).parent.exists()
