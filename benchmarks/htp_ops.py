#!/usr/bin/env python3
"""One operator at a time on the HTP emulator: float, quantize, DLC, run; beside the simulation.

usage: benchmarks/htp_ops.py [--arch v75] [--halfstep COMMAND] [--ops GLOB] [--types u8,s8,...]

For each operator and type a model with that operator alone is made, quantized with random samples
(`halfstep quantize --target htp_vXX --dlc`), loaded and run as DLC by `halfstep verify`. A cell
says how many steps the emulator and the simulation are apart at most, and how many codes are equal;
floats: their SQNR in dB; or why it is refused.
"""

import argparse
import fnmatch
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TYPES = ("u8", "s8", "u16", "s16", "f16")
DTYPES = {"u8": "uint8", "s8": "int8", "u16": "uint16", "s16": "int16"}
OPSET = 21


@dataclass
class Case:
    """A model of one operator."""

    name: str
    op: str
    shapes: tuple[tuple[int, ...], ...] = ((1, 8, 8, 8),)
    attributes: dict = field(default_factory=dict)
    constants: dict[int, np.ndarray] = field(default_factory=dict)  # by input slot
    outputs: int = 1  # of the node; the first is the output of the model
    low: float = -3.0
    high: float = 3.0
    weight: str = "int8 per_channel"
    opset: int = OPSET


def random(*shape: int, low: float = -1.0, high: float = 1.0, seed: int = 7) -> np.ndarray:
    """Reproducible values."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)


def ints(*values: int) -> np.ndarray:
    """A constant of indices."""
    return np.array(values, np.int64)


def floats(*values: float) -> np.ndarray:
    """A constant of values."""
    return np.array(values, np.float32)


def scalar(value: float) -> np.ndarray:
    """A constant without axes."""
    return np.array(value, np.float32)


def weighted() -> list[Case]:
    """Operators with weights, by granularity and width."""
    cases = []
    for weight in ("int8 per_channel", "int8 per_tensor", "int4 per_channel"):
        more = {"weight": weight}
        label = "" if weight == "int8 per_channel" else f", {weight.replace('_', ' ')}"
        pads = {"pads": [1, 1, 1, 1]}
        bias = random(16, seed=9)
        cases += [
            Case(f"Conv{label}", "Conv", attributes=pads,
                 constants={1: random(16, 8, 3, 3), 2: bias}, **more),
            Case(f"Conv, depthwise{label}", "Conv", attributes=pads | {"group": 8},
                 constants={1: random(8, 1, 3, 3), 2: bias[:8]}, **more),
            Case(f"Gemm{label}", "Gemm", shapes=((4, 32),), attributes={"transB": 1},
                 constants={1: random(16, 32), 2: bias}, **more),
            Case(f"MatMul, constant{label}", "MatMul", shapes=((1, 16, 32),),
                 constants={1: random(32, 24)}, **more),
        ]  # fmt: skip
    cases += [
        Case("Conv, 1 x 1", "Conv", constants={1: random(16, 8, 1, 1), 2: random(16)}),
        Case("Conv, stride 2", "Conv", attributes={"pads": [1, 1, 1, 1], "strides": [2, 2]},
             constants={1: random(16, 8, 3, 3), 2: random(16)}),
        Case("Conv, dilation 2", "Conv", attributes={"pads": [2, 2, 2, 2], "dilations": [2, 2]},
             constants={1: random(16, 8, 3, 3), 2: random(16)}),
        Case("Conv, groups", "Conv", attributes={"pads": [1, 1, 1, 1], "group": 2},
             constants={1: random(16, 4, 3, 3), 2: random(16)}),
        Case("Conv, 1D", "Conv", shapes=((1, 8, 32),), attributes={"pads": [1, 1]},
             constants={1: random(16, 8, 3), 2: random(16)}),
        Case("Conv, 3D", "Conv", shapes=((1, 4, 4, 8, 8),), attributes={"pads": [1] * 6},
             constants={1: random(8, 4, 3, 3, 3), 2: random(8)}, weight="int8 per_tensor"),
        Case("ConvTranspose", "ConvTranspose", attributes={"strides": [2, 2]},
             constants={1: random(8, 6, 2, 2), 2: random(6)}),
        Case("MatMul, two activations", "MatMul", shapes=((1, 16, 32), (1, 32, 16))),
    ]  # fmt: skip
    return cases


def elementwise() -> list[Case]:
    """Operators on each value."""
    two = ((1, 8, 8, 8), (1, 8, 8, 8))
    cases = [Case(op, op, shapes=two) for op in ("Add", "Sub", "Mul", "Max", "Min")]
    cases += [
        Case("Add, constant", "Add", constants={1: random(8, 1, 1)}),
        Case("Mul, constant", "Mul", constants={1: random(8, 1, 1)}),
        Case("Div", "Div", shapes=two, low=0.5),
        Case("Pow", "Pow", constants={1: floats(2.0)}, low=0.1),
        Case("Exp", "Exp"), Case("Log", "Log", low=1.1), Case("Sqrt", "Sqrt", low=0.0),
        Case("Reciprocal", "Reciprocal", low=0.5), Case("Abs", "Abs"), Case("Neg", "Neg"),
        Case("Sin", "Sin"), Case("Cos", "Cos"), Case("Floor", "Floor"), Case("Ceil", "Ceil"),
        Case("Round", "Round"), Case("Sign", "Sign"), Case("Atan", "Atan"),
        Case("Asin", "Asin", low=-0.9, high=0.9),
        Case("Relu", "Relu"), Case("Sigmoid", "Sigmoid"), Case("Tanh", "Tanh"), Case("Elu", "Elu"),
        Case("Gelu", "Gelu"), Case("HardSwish", "HardSwish"),
        Case("HardSigmoid", "HardSigmoid"), Case("Softplus", "Softplus"),
        Case("LeakyRelu", "LeakyRelu", attributes={"alpha": 0.1}),
        Case("PRelu", "PRelu", constants={1: random(8, 1, 1, low=0.0)}),
        Case("Clip", "Clip", constants={1: scalar(0.0), 2: scalar(2.0)}),
        Case("Softmax", "Softmax", attributes={"axis": -1}),
        Case("LogSoftmax", "LogSoftmax", attributes={"axis": -1}),
    ]  # fmt: skip
    return cases


def norms_and_pools() -> list[Case]:
    """Operators that look at several values."""
    ones = random(8, low=0.5, high=1.5)
    window = {"kernel_shape": [2, 2], "strides": [2, 2]}
    cases = [
        Case("LayerNormalization", "LayerNormalization", constants={1: ones, 2: random(8)}),
        Case("RMSNormalization", "RMSNormalization", constants={1: ones}, opset=23),
        Case("InstanceNormalization", "InstanceNormalization", constants={1: ones, 2: random(8)}),
        Case("GroupNormalization", "GroupNormalization", attributes={"num_groups": 2},
             constants={1: ones, 2: random(8)}),
        Case("LpNormalization", "LpNormalization", attributes={"axis": -1, "p": 2}),
        Case("LRN", "LRN", attributes={"size": 3}),
        Case("MaxPool", "MaxPool", attributes=window),
        Case("AveragePool", "AveragePool", attributes=window),
        Case("GlobalAveragePool", "GlobalAveragePool"),
        Case("CumSum", "CumSum", shapes=((1, 4, 8),), constants={1: np.array(2, np.int64)}),
        Case("TopK", "TopK", shapes=((2, 32),), constants={1: ints(4)}, outputs=2),
    ]  # fmt: skip
    for op in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"):
        cases.append(Case(op, op, constants={1: ints(-1)}))
    return cases


def movement() -> list[Case]:
    """Operators that move values."""
    return [
        Case("Reshape", "Reshape", constants={1: ints(1, 64, 8)}),
        Case("Transpose", "Transpose", attributes={"perm": [0, 2, 3, 1]}),
        Case("Concat", "Concat", shapes=((1, 4, 4, 8), (1, 4, 4, 8)), attributes={"axis": 1}),
        Case("Split", "Split", attributes={"axis": 1, "num_outputs": 2}, outputs=2),
        Case("Slice", "Slice", constants={1: ints(1), 2: ints(7), 3: ints(2), 4: ints(2)}),
        Case("Pad", "Pad", constants={1: ints(0, 0, 1, 1, 0, 0, 1, 1)}),
        Case("Tile", "Tile", shapes=((1, 4, 4, 8),), constants={1: ints(1, 2, 1, 1)}),
        Case("Expand", "Expand", shapes=((1, 4, 1, 8),), constants={1: ints(1, 4, 6, 8)}),
        Case("Gather", "Gather", attributes={"axis": 1}, constants={1: ints(0, 3, 5)}),
        Case("GatherElements", "GatherElements", shapes=((4, 8),), attributes={"axis": 1},
             constants={1: np.arange(12).reshape(4, 3) % 8}),
        Case("GatherND", "GatherND", shapes=((4, 8),), constants={1: np.array([[0, 1], [3, 7]])}),
        Case("DepthToSpace", "DepthToSpace", attributes={"blocksize": 2}),
        Case("SpaceToDepth", "SpaceToDepth", attributes={"blocksize": 2}),
        Case("Resize, nearest", "Resize",
             attributes={"mode": "nearest", "coordinate_transformation_mode": "asymmetric",
                         "nearest_mode": "floor"},
             constants={1: floats(), 2: floats(1, 1, 2, 2)}),
        Case("Resize, linear", "Resize",
             attributes={"mode": "linear", "coordinate_transformation_mode": "half_pixel"},
             constants={1: floats(), 2: floats(1, 1, 2, 2)}),
    ]  # fmt: skip


def model_of(case: Case) -> onnx.ModelProto:
    """The operator with inputs, constants and outputs."""
    inputs, names, constants = [], [], []
    shapes = iter(case.shapes)
    for slot in range(len(case.shapes) + len(case.constants)):
        name = f"c{slot}" if slot in case.constants else f"x{slot}"
        names.append(name)
        if slot in case.constants:
            constants.append(numpy_helper.from_array(case.constants[slot], name))
        else:
            inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, next(shapes)))
    outputs = [f"y{k}" for k in range(case.outputs)]
    node = helper.make_node(case.op, names, outputs, name="node", **case.attributes)
    graph = helper.make_graph(
        [node],
        "one",
        inputs,
        [helper.make_tensor_value_info(outputs[0], TensorProto.FLOAT, None)],
        constants,
    )
    opsets = [helper.make_opsetid("", case.opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    # Types of the outputs are those that are inferred.
    inferred = onnx.shape_inference.infer_shapes(model)
    return inferred


def recipe_of(case: Case, kind: str) -> dict:
    """Activations of one type, weights as the case asks."""
    dtype, granularity = case.weight.split()
    activation = {
        "dtype": DTYPES[kind],
        "qscheme": "symmetric" if kind == "s16" else "asymmetric",
        "granularity": {"type": "per_tensor"},
    }
    weight = {
        "dtype": dtype,
        "qscheme": "symmetric_with_clipping",
        "granularity": {"type": granularity},
    }
    return {"activation": activation, "weight": weight, "bias": "int32"}


class Runner:
    """Quantizes and runs models in a folder."""

    def __init__(self, command: str, arch: str, folder: Path) -> None:
        """`folder` holds one case at a time."""
        self.command, self.arch, self.folder = command, arch, folder

    def call(self, *words: object) -> str:
        """Standard output; the first line of the error is raised."""
        done = subprocess.run(
            [self.command, *map(str, words)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            lines = [x for x in done.stderr.splitlines() if x.startswith("error")] or [done.stderr]
            raise RuntimeError(lines[0].removeprefix("error: "))
        return done.stdout

    def run(self, case: Case, kind: str) -> dict:
        """The row of the compared output."""
        model, written, dlc = (self.folder / n for n in ("one.onnx", "out.onnx", "out.dlc"))
        samples, recipe = self.folder / "samples.npz", self.folder / "recipe.json"
        onnx.save(model_of(case), model)
        inputs = onnx.load(model).graph.input
        arrays = {
            f"{i:03}/{value.name}": random(*shape, low=case.low, high=case.high, seed=10 * i + k)
            for i in range(4)
            for k, (value, shape) in enumerate(zip(inputs, case.shapes, strict=True))
        }
        np.savez(samples, **arrays)
        target = ["--dlc", dlc, "-o", written, "--force", "-q"]
        if kind == "f16":
            words = ["convert", "-i", model, "--target_backend", "HTP", "--htp_arch", self.arch]
            self.call(*words, "-o", written, "--force", "-q")
            self.call(*words, "-o", dlc, "--force", "-q")
        else:
            recipe.write_text(json.dumps(recipe_of(case, kind)))
            self.call(
                "quantize", model, "--calibration", samples, "--recipe", recipe, "--target",
                f"htp_{self.arch}", *target,
            )  # fmt: skip
        document = json.loads(
            self.call(
                "verify",
                dlc,
                "--simulation",
                written,
                "--on",
                "htp",
                "--arch",
                self.arch,
                "--data",
                samples,
                "--float",
                model,
                "--json",
                "-q",
            )
        )
        rows = {row["tensor"]: row for row in document["verify"]["tensors"]}
        row = rows.get("y0") or next(iter(rows.values()))
        return row


def cell(row: dict) -> str:
    """Steps and equal codes, or dB."""
    if row["equal"] is not None:
        return f"{row['max_steps']}, {100 * row['equal']:.1f} %"
    value = row["target_simulation_db"]
    return "exact" if value == "inf" else f"{value:.0f} dB" if value is not None else "-"


def main() -> int:
    """See the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--arch", default="v75")
    parser.add_argument("--halfstep", default="halfstep")
    parser.add_argument("--ops", default="*")
    parser.add_argument("--types", default=",".join(TYPES))
    options = parser.parse_args()
    kinds = options.types.split(",")
    makers: list[Callable[[], list[Case]]] = [weighted, elementwise, norms_and_pools, movement]
    print("| operator | " + " | ".join(kinds) + " |\n|" + "---|" * (len(kinds) + 1))
    remarks = []
    with tempfile.TemporaryDirectory() as folder:
        runner = Runner(options.halfstep, options.arch, Path(folder))
        for case in [c for make in makers for c in make()]:
            if not fnmatch.fnmatch(case.name, options.ops):
                continue
            cells = []
            for kind in kinds:
                try:
                    cells.append(cell(runner.run(case, kind)))
                except RuntimeError as error:
                    remarks.append(f"{case.name}, {kind}: {error}")
                    cells.append(f"({len(remarks)})")
            print(f"| {case.name} | " + " | ".join(cells) + " |", flush=True)
    for number, remark in enumerate(remarks, 1):
        print(f"\n{number}. {remark}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
