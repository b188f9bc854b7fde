"""The command as users run it: a child process, its exit code, what it prints and leaves."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

ROOT = Path(__file__).resolve().parent.parent.parent


def find_command() -> Path:
    """HALFSTEP_COMMAND, else the installed command, else that of the development build."""
    given = os.environ.get("HALFSTEP_COMMAND")
    places = [Path(given)] if given else []
    places += [Path(sys.executable).parent / "halfstep", ROOT / "build/dev/cli/halfstep"]
    for place in places:
        if place.is_file():
            return place
    pytest.exit(f"no halfstep command; looked at {', '.join(map(str, places))}", returncode=4)


@dataclass
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict:
        return json.loads(self.out)


@dataclass
class Command:
    path: Path
    environment: dict[str, str]

    def start(self, *arguments: object, **options: object) -> subprocess.Popen:
        words = [str(self.path), *map(str, arguments)]
        return subprocess.Popen(words, env=self.environment, text=True, **options)

    def __call__(self, *arguments: object, code: int = 0, **options: object) -> Result:
        """Runs the command and checks its exit code."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        with self.start(*arguments, **options) as process:
            out, err = process.communicate(timeout=120)
        shown = f"{arguments} -> {process.returncode}\n{out}\n{err}"
        assert process.returncode == code, shown
        assert "terminate called" not in (err or ""), shown
        return Result(process.returncode, out, err)


def worker_package(folder: Path) -> Path:
    """The package halfstep of this tree as far as the worker needs it: no native module."""
    package = folder / "halfstep"
    package.mkdir()
    (package / "__init__.py").touch()
    for part in ("_worker", "_frontend"):
        (package / part).symlink_to(ROOT / "python/halfstep" / part)
    return folder


@pytest.fixture(scope="session")
def halfstep(tmp_path_factory: pytest.TempPathFactory) -> Command:
    dropped = ("HALFSTEP_", "NO_COLOR")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(dropped)}
    environment["HALFSTEP_PYTHON"] = sys.executable
    environment["PYTHONPATH"] = str(worker_package(tmp_path_factory.mktemp("package")))
    if not list(find_command().parent.glob("../lib/python3*/site-packages/onnxruntime")):
        import onnxruntime

        library = next(Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*"))
        environment["HALFSTEP_ORT"] = str(library)
    return Command(find_command(), environment)


def conv_net(width: int = 8, size: int = 16) -> onnx.ModelProto:
    """Conv, Relu, Conv, pooling, Gemm: input `x` [1, 3, size, size], output `y` [1, 4]."""
    rng = np.random.default_rng(1)

    def weight(name: str, *shape: int) -> onnx.TensorProto:
        scale = 1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 1 else 1)
        return numpy_helper.from_array(
            (rng.standard_normal(shape) * scale).astype(np.float32), name
        )

    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], "conv1", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], "conv2", pads=[1, 1, 1, 1]),
        helper.make_node("GlobalAveragePool", ["c2"], ["p"], "pool"),
        helper.make_node("Flatten", ["p"], ["f"], "flatten"),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["y"], "head", transB=1),
    ]
    weights = [
        weight("w1", width, 3, 3, 3),
        weight("b1", width),
        weight("w2", width, width, 3, 3),
        weight("b2", width),
        weight("w3", 4, width),
        weight("b3", 4),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, size, size])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])
    graph = helper.make_graph(nodes, "net", [x], [y], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def write_samples(folder: Path, count: int = 6, size: int = 16) -> Path:
    folder.mkdir()
    rng = np.random.default_rng(2)
    for i in range(count):
        x = rng.standard_normal((1, 3, size, size)).astype(np.float32)
        np.savez(folder / f"{i:03}.npz", x=x)
    return folder


@dataclass
class Job:
    """A model, samples and a place for results."""

    folder: Path
    model: Path
    samples: Path

    @property
    def output(self) -> Path:
        return self.folder / "out.onnx"

    def arguments(self, *more: object) -> list[object]:
        paths = [self.model, "--calibration", self.samples, "-o", self.output]
        return ["quantize", *paths, *more]

    def left_behind(self) -> list[str]:
        """Everything in the folder besides what the test put there."""
        return sorted(p.name for p in self.folder.iterdir() if p not in (self.model, self.samples))


@pytest.fixture
def job(tmp_path: Path) -> Job:
    model = tmp_path / "net.onnx"
    onnx.save(conv_net(), model)
    return Job(tmp_path, model, write_samples(tmp_path / "samples"))


@pytest.fixture
def refused(halfstep: Command) -> Callable[..., str]:
    """Runs a job that must fail with `code` and `words` in its error, leaving nothing behind."""

    def check(job: Job, code: int, *words: str, more: tuple[object, ...] = ()) -> str:
        result = halfstep(*job.arguments(*more), code=code)
        assert any(line.startswith("error: ") for line in result.err.splitlines()), result.err
        for word in words:
            assert word in result.err, f"expected {word!r} in: {result.err}"
        assert result.out == ""
        assert job.left_behind() == []
        return result.err

    return check


@pytest.fixture
def again(halfstep, tmp_path):
    """Folds and writes a model again; returns the path and the file of encodings."""

    def write(model, **options):
        encodings = tmp_path / "e.json"
        out = model.with_name(model.stem + "_again.onnx")
        version = options.get("version", "2.0.0")
        halfstep("encodings", "from-model", model, "--to", version, "-o", encodings, "--force")
        halfstep("encodings", "apply", model, encodings, "-o", out, "--force", "-q")
        return out, encodings

    return write


# A run started in the background ignores Ctrl-C, and so would every child that tests interrupt.
signal.signal(signal.SIGINT, signal.default_int_handler)
