"""Writes the models and samples of whole_job.py.

A program of its own, so that the process that measures stays small (see processes.py).

usage: whole_job_data.py FOLDER
"""

import sys
from collections.abc import Callable
from pathlib import Path

import models
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SAMPLES = 64
FEW_SAMPLES = 16
NETS: dict[str, Callable[[], onnx.ModelProto]] = {
    "mobilenet_v2": models.mobilenet_v2,
    "resnet18": models.resnet18,
    "encoder": models.encoder,
}


def one_conv() -> onnx.ModelProto:
    """A model with a single convolution: what is left is the fixed cost of the command."""
    weight = np.random.default_rng(0).normal(0, 0.2, (8, 3, 3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Conv", ["x", "w"], ["y"], name="conv", pads=[1, 1, 1, 1])],
        "one_conv",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 16, 16])],
        [numpy_helper.from_array(weight, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def samples(model: onnx.ModelProto, count: int, folder: Path) -> None:
    """Random samples for every input: normal floats, integers below 100."""
    folder.mkdir(parents=True)
    chance = np.random.default_rng(1)
    initializers = {tensor.name for tensor in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in initializers]
    for index in range(count):
        arrays = {}
        for value in inputs:
            tensor = value.type.tensor_type
            shape = [dim.dim_value or 1 for dim in tensor.shape.dim]
            dtype = helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            values = (
                chance.normal(size=shape) if dtype.kind == "f" else chance.integers(100, size=shape)
            )
            arrays[value.name] = values.astype(dtype)
        np.savez(folder / f"{index:03}.npz", **arrays)


def main() -> None:
    folder = Path(sys.argv[1])
    for name, make in NETS.items():
        model = make()
        onnx.save(model, folder / f"{name}.onnx")
        samples(model, SAMPLES, folder / f"{name}_{SAMPLES}")
        samples(model, FEW_SAMPLES, folder / f"{name}_{FEW_SAMPLES}")
    onnx.save(one_conv(), folder / "one_conv.onnx")
    samples(one_conv(), 4, folder / "one_conv_4")


if __name__ == "__main__":
    main()
