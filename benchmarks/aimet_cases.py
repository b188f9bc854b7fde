#!/usr/bin/env python3
"""Compares what halfstep makes of encodings files with what the tool that wrote them computes.

usage: benchmarks/aimet_cases.py FOLDER [--version V] [--same-biases] [--halfstep COMMAND]
                                 [--json FILE] [CASE...]

FOLDER/MODEL/model.onnx            float model (or MODEL/RECIPE/model.onnx, one per recipe)
FOLDER/MODEL/data.npz              one sample, `in:NAME`; else the inputs are in sim_out.npz
FOLDER/MODEL/RECIPE/vX.encodings   encodings files, one per version
FOLDER/MODEL/RECIPE/sim_out.npz    the tool's own simulation, `out:NAME`
FOLDER/MODEL/RECIPE/qdq.onnx       its Q/DQ model, if it could write one

Per case: `halfstep encodings apply` writes our Q/DQ model, ONNX Runtime runs it without
optimizations, and the largest difference to the simulation is counted in steps of the output's
encoding, beside that of the tool's own Q/DQ model. A case fails if ours is further away by more
than a step, or if integer constants of both Q/DQ models differ other than at a tie: the tool rounds
x / scale + 2^(bits-1) in float32, half away from zero, so quotients within a float32 step of a half
may come out one code higher. Exit code 1 if any case fails.

Recipes with float16 tensors ("f16") are shown, not judged: on this target they stay float32.

Version 1.0.0 is what the simulation computes. Files 2.0.0 add int32 biases, which the simulation
and most of the tool's Q/DQ models leave float: rounding them moves single values over a rounding
threshold, and layers behind multiply that. The recipe with biases in its Q/DQ model shows the same
distance for both. With --same-biases the tool's Q/DQ models get the biases of the file that
halfstep reads, so that both say the same.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

NOTHING_TO_DO = 3  # exit code


@dataclass
class Case:
    name: str
    step: float = 0.0
    ours: float | None = None
    theirs: float | None = None
    codes: int = 0
    different: int = 0
    ties: int = 0
    largest: int = 0
    where: list[str] = field(default_factory=list)
    float16: bool = False
    error: str = ""

    @property
    def ok(self) -> bool:
        if self.error or self.ours is None or self.different > self.ties:
            return False
        if self.theirs is None or self.float16:
            return (
                True  # nothing to be worse than: the engine refuses their model, or there is none
            )
        return self.ours <= self.theirs + 1.01 * max(self.step, 1e-6)


def run(model: Path, feeds: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(str(model), options)
    names = [output.name for output in session.get_outputs()]
    wanted = {i.name for i in session.get_inputs()}
    values = session.run(names, {k: v for k, v in feeds.items() if k in wanted})
    return dict(zip(names, values, strict=True))


def part(path: Path, prefix: str) -> dict[str, np.ndarray]:
    with np.load(path) as data:
        return {k.removeprefix(prefix): data[k] for k in data.files if k.startswith(prefix)}


def output_step(encodings: Path, outputs: dict[str, np.ndarray]) -> float:
    """The largest scale among the outputs' encodings; 2^-11 of the range for float16 ones."""
    document = json.loads(encodings.read_text())
    scales = {e["name"]: e.get("y_scale") for e in document.get("encodings", [])}
    steps = []
    for name, value in outputs.items():
        scale = scales.get(name)
        whole = isinstance(scale, float | int)
        steps.append(float(scale) if whole else float(np.abs(value).max()) / 2048)
    return max(steps)


def furthest(ours: dict[str, np.ndarray], reference: dict[str, np.ndarray]) -> float:
    return max(float(np.abs(ours[name] - reference[name]).max()) for name in reference)


def integer_constants(path: Path) -> dict[str, np.ndarray]:
    """Codes by the name of the tensor that the DequantizeLinear writes for its reader."""
    model = onnx.load(path)
    stored = {t.name: t for t in model.graph.initializer}
    stored |= {
        n.output[0]: helper.get_node_attr_value(n, "value")
        for n in model.graph.node
        if n.op_type == "Constant" and n.attribute[0].name == "value"
    }
    readers = {name: n for n in model.graph.node for name in n.input}
    codes = {}
    for node in model.graph.node:
        if node.op_type != "DequantizeLinear" or node.input[0] not in stored:
            continue
        output = node.output[0]
        barrier = readers.get(output)
        if barrier is not None and barrier.op_type == "Reshape" and output.count("_dequantized"):
            output = barrier.output[0]
        zero = stored.get(node.input[2]) if len(node.input) > 2 else None
        zero_point = numpy_helper.to_array(zero).astype(np.int64) if zero is not None else 0
        codes[base_name(output)] = (numpy_helper.to_array(stored[node.input[0]]), zero_point)
    return codes


def base_name(name: str) -> str:
    for ending in ("_qdq", "_q_dq", "_dequantized", "_updated", "_dq"):
        name = name.removesuffix(ending)
    return name


def tie_count(x: np.ndarray, scale: np.ndarray, wrong: np.ndarray, bits: int) -> int:
    """How many codes in `wrong` (of the shape of x) lie at a tie of float32 x / scale + 2^(b-1)."""
    quotient = np.abs(x.astype(np.float64) / scale)
    off = np.abs(quotient - np.floor(quotient) - 0.5)
    spacing = np.spacing(np.float32(quotient.max() + 2.0 ** (bits - 1)))
    return int((wrong & (off <= spacing)).sum())


def compare_codes(case: Case, model: Path, ours: Path, theirs: Path) -> None:
    mine, other = integer_constants(ours), integer_constants(theirs)
    values = {t.name: numpy_helper.to_array(t) for t in onnx.load(model).graph.initializer}
    stored = {t.name: numpy_helper.to_array(t) for t in onnx.load(ours).graph.initializer}
    for name in sorted(mine.keys() & other.keys()):
        (a, az), (b, bz) = mine[name], other[name]
        if a.shape != b.shape:
            continue
        bits = 8 * a.dtype.itemsize
        signs = np.issubdtype(a.dtype, np.signedinteger), np.issubdtype(b.dtype, np.signedinteger)
        a, b = a.astype(np.int64), b.astype(np.int64)
        if signs[0] != signs[1] and np.ndim(az) == 0 and np.ndim(bz) == 0:
            a, b = a - az, b - bz
        case.codes += a.size
        wrong = a != b
        if wrong.any():
            case.different += int(wrong.sum())
            case.largest = max(case.largest, int(np.abs(a - b).max()))
            case.where.append(f"{name}: {int(wrong.sum())}")
            scale = stored[f"{name}_scale"]
            if scale.size > 1:  # per channel: the axis whose extent fits and that rounds to `a`
                shapes = [[-1 if i == axis else 1 for i in range(a.ndim)] for axis in range(a.ndim)]
                fits = [s for s, n in zip(shapes, a.shape, strict=True) if n == scale.size]
                scale = min((scale.reshape(s) for s in fits),
                            key=lambda s: np.abs(values[name] / s - a).max())  # fmt: skip
            case.ties += tie_count(values[name], scale, wrong & (np.abs(a - b) == 1), bits)


def with_biases(qdq: Path, encodings: Path, result: Path) -> Path:
    """The Q/DQ model with its float biases rounded as the file's 32-bit entries say."""
    document = json.loads(encodings.read_text())
    entries = {e["name"]: e for e in document.get("encodings", []) if "name" in e}
    model = onnx.load(qdq)
    for tensor in model.graph.initializer:
        entry = entries.get(tensor.name, {})
        if entry.get("output_dtype") not in ("int32", "uint32"):
            continue
        if tensor.data_type != onnx.TensorProto.FLOAT:
            continue
        values = numpy_helper.to_array(tensor).astype(np.float64)
        scale = np.asarray(entry["y_scale"], np.float64)
        rounded = (np.round(values / scale) * scale).astype(np.float32)
        tensor.CopyFrom(numpy_helper.from_array(rounded, tensor.name))
    onnx.save(model, result)
    return result


def check(folder: Path, recipe: Path, version: str, command: list[str], work: Path,
          same_biases: bool) -> Case:  # fmt: skip
    case = Case(f"{folder.name}/{recipe.name}")
    own = recipe / "model.onnx"
    model = own if own.exists() else folder / "model.onnx"
    data = folder / "data.npz"
    feeds = part(data if data.exists() else recipe / "sim_out.npz", "in:")
    reference = part(recipe / "sim_out.npz", "out:") or part(recipe / "sim_out.npz", "")
    encodings = recipe / f"v{version}.encodings"
    result = work / "ours.onnx"
    apply = subprocess.run(
        [*command, "encodings", "apply", model, encodings, "-o", result, "--force", "-q"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if apply.returncode == NOTHING_TO_DO:
        result = model  # a file without entries: everything is float
    elif apply.returncode != 0:
        case.error = apply.stderr.strip().splitlines()[0]
        return case
    newest = recipe / "v2.0.0.encodings"
    older = recipe / "v1.0.0.encodings"
    case.float16 = older.exists() and "FLOAT" in older.read_text()
    try:
        outputs = run(result, feeds)
        reference = {k: v for k, v in reference.items() if k in outputs} or dict(
            zip(outputs, reference.values(), strict=True)
        )
        case.step = output_step(newest if newest.exists() else encodings, reference)
        case.ours = furthest(outputs, reference)
        if (recipe / "qdq.onnx").exists():
            compare_codes(case, model, result, recipe / "qdq.onnx")
            try:
                theirs = recipe / "qdq.onnx"
                if same_biases:
                    theirs = with_biases(theirs, encodings, work / "theirs.onnx")
                case.theirs = furthest(run(theirs, feeds), reference)
            except Exception:  # the engine refuses it: then there is nothing to be worse than
                case.theirs = None
    except Exception as error:  # one case must not end the table
        case.error = f"{type(error).__name__}: {str(error).splitlines()[0][:150]}"
    return case


def line(case: Case) -> str:
    if case.error:
        return f"FAIL {case.name:36} {case.error}"
    theirs = "-" if case.theirs is None else f"{case.theirs / case.step:9.2f}"
    codes = f"{case.different}/{case.codes}" if case.codes else "-"
    largest = f" by {case.largest}, {case.ties} at ties: {', '.join(case.where)}"
    largest = largest if case.different else ""
    mark = "f16 " if case.float16 else "ok  " if case.ok else "FAIL"
    return f"{mark} {case.name:36} {case.ours / case.step:9.2f} {theirs:>9} {codes:>12}{largest}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("cases", nargs="*", help="MODEL or MODEL/RECIPE")
    parser.add_argument("--version", default="1.0.0")
    parser.add_argument("--same-biases", action="store_true")
    parser.add_argument("--halfstep", default="halfstep")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_intermixed_args()
    command = [arguments.halfstep]
    cases = []
    print(f"     {'case':36} {'ours':>9} {'theirs':>9} {'codes':>12}   (steps of the output)")
    with tempfile.TemporaryDirectory() as work:
        for folder in sorted(p for p in arguments.folder.iterdir() if p.is_dir()):
            for recipe in sorted(p for p in folder.iterdir() if p.is_dir()):
                name = f"{folder.name}/{recipe.name}"
                chosen = not arguments.cases or {name, folder.name} & set(arguments.cases)
                there = (recipe / "sim_out.npz").exists()
                if chosen and there and (recipe / f"v{arguments.version}.encodings").exists():
                    cases.append(
                        check(folder, recipe, arguments.version, command, Path(work),
                              arguments.same_biases)
                    )  # fmt: skip
                    print(line(cases[-1]), flush=True)
    failed = [case for case in cases if not case.ok]
    codes, different = sum(c.codes for c in cases), sum(c.different for c in cases)
    ties = sum(c.ties for c in cases)
    print(f"{len(cases) - len(failed)} of {len(cases)} cases; {different} of {codes} codes differ, "
          f"{ties} of them at ties")  # fmt: skip
    if arguments.json:
        document = [asdict(case) | {"ok": case.ok} for case in cases]
        arguments.json.write_text(json.dumps(document, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
