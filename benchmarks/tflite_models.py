#!/usr/bin/env python3
"""Runs TFLite models in TFLite's own runtime and as halfstep reads them; prints a table.

usage: benchmarks/tflite_models.py [--halfstep COMMAND] [--htp] [--tf2onnx PYTHON] FILE.tflite...

For each file: is it read, how many Transposes it has, and the largest difference of its outputs
over 3 random inputs: relative to the largest output for float models, in steps of the output (with
the share of values that differ) for quantized ones. "own" is how far two sets of kernels of the
runtime itself (default and built-in) are from each other. --tf2onnx: a Python that has tf2onnx,
whose conversion of the same file has its Transposes counted beside ours. --htp also writes the
model for the HTP emulator as Q/DQ and as DLC and runs `halfstep verify`. Needs ai-edge-litert,
onnx, onnxruntime, numpy.
"""

import argparse
import collections
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from ai_edge_litert.interpreter import Interpreter, OpResolverType

RUNTIMES = (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)


def inputs_of(details, seed):
    """Random integers or reals, and the real values that they stand for."""
    rng = np.random.default_rng(seed)
    given, real = [], []
    for detail in details:
        shape, kind = tuple(detail["shape"]), detail["dtype"]
        scale, zero = detail["quantization"]
        x = rng.uniform(-1, 1, shape).astype(np.float32)
        if kind != np.float32 and scale:
            info = np.iinfo(kind)
            q = np.clip(np.round(x / scale) + zero, info.min, info.max).astype(kind)
            given.append(q)
            real.append(((q.astype(np.float64) - zero) * scale).astype(np.float32))
        else:
            x = x if kind == np.float32 else rng.integers(0, 4, shape).astype(kind)
            given.append(x)
            real.append(x)
    return given, real


def run_tflite(interpreter, arrays):
    interpreter.reset_all_variables()
    for detail, array in zip(interpreter.get_input_details(), arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def difference(detail, actual, wanted):
    """Largest difference and share of values that differ; in steps if the output is quantized."""
    scale, zero = detail["quantization"]
    if wanted.dtype != np.float32 and scale:
        actual = np.round(actual / scale) + zero if actual.dtype == np.float32 else actual
        steps = np.abs(actual.astype(np.float64) - wanted.astype(np.float64))
        return steps.max(), float((steps > 0).mean()), True
    error = np.abs(actual.astype(np.float64) - wanted.astype(np.float64)).max()
    return error / max(np.abs(wanted).max(), 1e-3), 0.0, False


def worst(rows):
    value, share, steps = (max(row[i] for row in rows) for i in range(3))
    return f"{value:.0f} step, {share:.1%}" if steps else f"{value:.1e}"


def compare(path, written):
    interpreters = []
    for kind in RUNTIMES:
        try:
            interpreter = Interpreter(str(path), experimental_op_resolver_type=kind)
            interpreter.allocate_tensors()
        except Exception:
            if not interpreters:
                raise
            continue
        interpreters.append(interpreter)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(written, options)
    names = [info.name for info in session.get_inputs()]
    ours, own = [], []
    for seed in range(3):
        given, real = inputs_of(interpreters[0].get_input_details(), seed)
        actual = session.run(None, dict(zip(names, real, strict=True)))
        wanted = run_tflite(interpreters[0], given)
        details = interpreters[0].get_output_details()
        ours += map(difference, details, actual, wanted)
        try:
            own += map(difference, details, run_tflite(interpreters[1], given), wanted)
        except (IndexError, RuntimeError, ValueError):
            own = []
    return worst(ours), worst(own) if own else "-"


def on_htp(command, path, folder):
    """What `convert` and `verify` say of the file for the emulator."""
    results = []
    for name in ("out.onnx", "out.dlc"):
        target = Path(folder) / name
        arguments = [command, "convert", "-i", path, "--target_backend", "HTP", "-o", target]
        done = subprocess.run([*arguments, "--force", "-q"], capture_output=True, text=True)
        if done.returncode:
            results.append(f"{name[4:]}: exit {done.returncode}")
            continue
        results.append(f"{name[4:]}: written")
    sample = Path(folder) / "samples.npz"
    model = onnx.load(Path(folder) / "out.onnx", load_external_data=False)
    rng = np.random.default_rng(0)
    arrays = {}
    for info in model.graph.input:
        shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
        arrays[f"000/{info.name}"] = rng.uniform(-1, 1, shape).astype(np.float32)
    np.savez(sample, **arrays)
    verify = [command, "verify", Path(folder) / "out.onnx", "--on", "htp", "--data", sample, "-qq"]
    done = subprocess.run(verify, capture_output=True, text=True)
    said = done.stderr.strip().splitlines()
    results.append(
        "runs" if done.returncode in (0, 1) else f"verify: {said[0][:80] if said else '?'}"
    )
    return ", ".join(results)


def transposes(path):
    return str(sum(node.op_type == "Transpose" for node in onnx.load(path).graph.node))


def of_tf2onnx(python, path, folder):
    """Transposes in what tf2onnx makes of the file; empty if it can't."""
    made = Path(folder) / "tf2onnx.onnx"
    made.unlink(missing_ok=True)
    command = [python, "-m", "tf2onnx.convert", "--tflite", path, "--output", made, "--opset", "18"]
    subprocess.run(command, capture_output=True)
    return transposes(made) if made.exists() else ""


def row(options, path, folder):
    command, htp = options.halfstep, options.htp
    other = of_tf2onnx(options.tf2onnx, path, folder) if options.tf2onnx else ""
    written = Path(folder) / "model.onnx"
    arguments = [command, "convert", "-i", path, "-o", written, "--force", "-qq"]
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr.strip().splitlines()[0]
        return [f"refused: {said.split(': ', 2)[-1]}", "", other, "", "", ""]
    ops = collections.Counter(node.op_type for node in onnx.load(written).graph.node)
    # A process of its own: some files end the runtime with a signal.
    child = subprocess.run([sys.executable, __file__, "--compare", path, written],
                           capture_output=True, text=True)  # fmt: skip
    answer = child.stdout.strip().splitlines()
    ours, own = answer[-1].split("|") if child.returncode == 0 else ("the runtime dies", "")
    where = on_htp(command, path, folder) if htp and ops["QuantizeLinear"] else ""
    return ["read", str(ops["Transpose"]), other, ours, own, where]


def answer(path, written):
    try:
        print("|".join(compare(path, written)))
    except Exception as error:
        print(f"not run: {str(error).splitlines()[0][:60]}|")


def main():
    if sys.argv[1:2] == ["--compare"]:
        answer(*sys.argv[2:4])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--halfstep", default="halfstep")
    parser.add_argument("--htp", action="store_true")
    parser.add_argument("--tf2onnx", metavar="PYTHON")
    options = parser.parse_args()
    head = ["file", "read", "Transposes", "tf2onnx", "differs", "own", "HTP"]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    with tempfile.TemporaryDirectory() as folder:
        for path in options.files:
            cells = row(options, path, folder)
            print(f"| {path.name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
