"""What the tests with TensorFlow share: models in, ONNX out, run."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import tensorflow as tf
from halfstep._frontend import tensorflow as frontend
from halfstep._frontend.report import Diagnostic, Request


def convert(
    path: Path | str, folder: Path, **options: object
) -> tuple[onnx.ModelProto, list[Diagnostic]]:
    """What the front end makes of a model, in this process."""
    request = Request(
        kind="tensorflow",
        model=str(path),
        output=str(folder / "model.onnx"),
        report=str(folder / "report.json"),
        **options,
    )
    diagnostics = frontend.convert(request)
    model = onnx.load(request.output)
    onnx.checker.check_model(model)
    return model, diagnostics


def save(function, folder: Path, *specs: tf.TensorSpec, variables=()) -> Path:
    """A SavedModel of a function of tensors."""
    module = tf.Module()
    module.held = list(variables)
    module.call = tf.function(function, input_signature=specs)
    path = folder / "saved"
    tf.saved_model.save(module, str(path), signatures=module.call)
    return path


def run(model: onnx.ModelProto, *inputs: np.ndarray, optimized: bool = False) -> list[np.ndarray]:
    options = ort.SessionOptions()
    if not optimized:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options)
    names = [value.name for value in session.get_inputs()]
    return session.run(None, dict(zip(names, inputs, strict=True)))


def ops(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in model.graph.node]
