"""Makes the models and samples of calibration_methods.py: a process of its own, as NumPy is large.

usage: calibration_methods_data.py FOLDER [CASES NAME ...]

FOLDER gets NAME.onnx, where it can take several samples NAME_free.onnx with a free first axis, and
for each batch size NAME_1, NAME_3, NAME_8: the same samples, one or several a file.
"""

import importlib
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from models import encoder, mobilenet_v2, resnet18
from whole_job_data import samples

NETS = {"mobilenet_v2": mobilenet_v2, "resnet18": resnet18, "encoder": encoder}
SAMPLES = 64
BATCHES = (1, 3, 8)

Feed = dict[str, np.ndarray]


def with_free_batch(model: onnx.ModelProto, feed: Feed) -> onnx.ModelProto | None:
    """The model with a free first axis everywhere, if it then takes two samples."""
    free = onnx.ModelProto()
    free.CopyFrom(model)
    known = {tensor.name for tensor in free.graph.initializer}
    values = [v for v in free.graph.input if v.name not in known] + list(free.graph.output)
    for value in values:
        dims = value.type.tensor_type.shape.dim
        if len(dims) < 2 or dims[0].dim_value > 1:
            return None
        dims[0].dim_param = "batch"
    del free.graph.value_info[:]
    both = {name: np.concatenate([x, x]) for name, x in feed.items()}
    options = ort.SessionOptions()
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(free.SerializeToString(), options)
        outputs = zip(session.run(None, feed), session.run(None, both), strict=True)
        return free if all(len(b) == 2 * len(a) for a, b in outputs) else None
    except Exception:  # the engine's errors share no other base
        return None


def batches(feeds: list[Feed], size: int) -> list[Feed]:
    """Feeds of equal shapes joined along the first axis, in order."""
    result: list[Feed] = []
    counts: list[int] = []
    for feed in feeds:
        fits = (
            result
            and counts[-1] < size
            and all(result[-1][name].shape[1:] == x.shape[1:] for name, x in feed.items())
        )
        if fits:
            result[-1] = {name: np.concatenate([result[-1][name], x]) for name, x in feed.items()}
            counts[-1] += 1
        else:
            result.append(dict(feed))
            counts.append(1)
    return result


def write(folder: Path, name: str, model: onnx.ModelProto, feeds: list[Feed]) -> None:
    onnx.save(model, folder / f"{name}.onnx")
    free = with_free_batch(model, feeds[0])
    if free:
        onnx.save(free, folder / f"{name}_free.onnx")
    for size in BATCHES if free else (1,):
        samples = folder / f"{name}_{size}"
        samples.mkdir(exist_ok=True)
        for i, feed in enumerate(batches(feeds, size)):
            np.savez(samples / f"{i:03}.npz", **feed)


def read(folder: Path) -> list[Feed]:
    return [dict(np.load(file)) for file in sorted(folder.glob("*.npz"))]


def main() -> None:
    folder = Path(sys.argv[1])
    for name, make in NETS.items():
        model = make()
        samples(model, SAMPLES, folder / f"{name}_1")
        write(folder, name, model, read(folder / f"{name}_1"))
    if len(sys.argv) > 2:
        sys.path.insert(0, sys.argv[2])
        known = {case.name: case for case in importlib.import_module("cases_open").CASES}
        for name in sys.argv[3:]:
            feeds = [dict(feed) for feed in known[name].calib()]
            write(folder, name, onnx.load(known[name].path()), feeds)


if __name__ == "__main__":
    main()
