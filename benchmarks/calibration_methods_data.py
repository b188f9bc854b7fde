"""Makes the models and samples of calibration_methods.py: a process of its own, as NumPy is large.

usage: calibration_methods_data.py FOLDER [CASES NAME ...]

FOLDER gets NAME.onnx, and for each batch size NAME_1, NAME_3, NAME_8: the same samples, one or
several a file. Sizes that the model's fixed first axis does not allow are left out.
"""

import importlib
import sys
from pathlib import Path

import numpy as np
import onnx
from models import encoder, mobilenet_v2, resnet18
from whole_job_data import samples

NETS = {"mobilenet_v2": mobilenet_v2, "resnet18": resnet18, "encoder": encoder}
SAMPLES = 64
BATCHES = (1, 3, 8)

Feed = dict[str, np.ndarray]


def free_first_axes(model: onnx.ModelProto) -> bool:
    known = {tensor.name for tensor in model.graph.initializer}
    values = [v for v in model.graph.input if v.name not in known] + list(model.graph.output)
    shapes = [value.type.tensor_type.shape.dim for value in values]
    return all(len(dims) > 1 and not dims[0].HasField("dim_value") for dims in shapes)


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


def write(folder: Path, feeds: list[Feed]) -> None:
    folder.mkdir()
    for i, feed in enumerate(feeds):
        np.savez(folder / f"{i:03}.npz", **feed)


def main() -> None:
    folder = Path(sys.argv[1])
    for name, make in NETS.items():
        model = make()
        onnx.save(model, folder / f"{name}.onnx")
        samples(model, SAMPLES, folder / f"{name}_1")
    if len(sys.argv) > 2:
        sys.path.insert(0, sys.argv[2])
        known = {case.name: case for case in importlib.import_module("cases_open").CASES}
        for name in sys.argv[3:]:
            model = onnx.load(known[name].path())
            onnx.save(model, folder / f"{name}.onnx")
            feeds = [dict(feed) for feed in known[name].calib()]
            for size in BATCHES if free_first_axes(model) else (1,):
                write(folder / f"{name}_{size}", batches(feeds, size))


if __name__ == "__main__":
    main()
