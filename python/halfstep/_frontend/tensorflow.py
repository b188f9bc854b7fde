"""TensorFlow and Keras: a SavedModel, a frozen graph or a Keras file becomes an ONNX model.

tf2onnx converts the graph. FakeQuant nodes are taken out before and put back behind it as
QuantizeLinear and DequantizeLinear with the numbers that TensorFlow computes (fake_quant.py), so
that none of them is rounded to 8 bits on the way. Opset 17; DequantizeLinear and QuantizeLinear of
other widths than 8 bits stand in the domain com.microsoft, which has them.
"""

import logging
import os
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")  # the reference order of additions
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy as np
import onnx
import tensorflow as tf
import tf2onnx
from tf2onnx import tf_loader

from halfstep._frontend import fake_quant, tensorflow_files
from halfstep._frontend.report import Diagnostic, FrontendError, Request, first_line
from halfstep._frontend.tensorflow_files import SourceGraph
from halfstep._frontend.tensorflow_onnx import finish
from halfstep._frontend.tensorflow_ops import HANDLERS

OPSET = 17  # from 18 on tf2onnx leaves transposes in front of reductions


def silence() -> None:
    logging.disable(logging.CRITICAL)
    warnings.filterwarnings("ignore")
    tf.get_logger().setLevel("ERROR")


class UnknownOps(logging.Handler):
    """tf2onnx goes on after an operator that it can't convert; what it says of it is kept."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def to_onnx(source: SourceGraph, markers: fake_quant.Markers) -> onnx.ModelProto:
    """The graph in ONNX, with a marker node in the place of each FakeQuant of an activation."""
    inputs = source.inputs + [weight.tensor for weight in markers.weights.values()]
    handlers = HANDLERS | {op: (markers.convert, []) for op in fake_quant.OPS}
    with tf.Graph().as_default(), tf.device("/cpu:0"):
        graph_def = tf_loader.tf_optimize(list(inputs), list(source.outputs), source.graph_def)
        model, _ = tf2onnx.convert._convert_common(  # from_graph_def freezes by running the graph
            graph_def,
            name="model",
            continue_on_error=True,
            opset=OPSET,
            custom_op_handlers=handlers,
            input_names=inputs,
            output_names=list(source.outputs),
            tensors_to_rename=source.renamed or None,
        )
    return model


def require_converted(model: onnx.ModelProto, graph_def: Any) -> None:
    """Errors: unsupported naming the operators that tf2onnx left as they were."""
    schemas = {schema.name for schema in onnx.defs.get_all_schemas()}
    left = [
        node
        for node in model.graph.node
        if node.domain not in ("", "ai.onnx") or node.op_type not in schemas
    ]
    if left:
        named = ", ".join(f'{node.op_type} "{node.name}"' for node in left[:5])
        rest = f" and {len(left) - 5} more" if len(left) > 5 else ""
        raise FrontendError(
            "unsupported",
            f"tf2onnx {tf2onnx.__version__} can't say in ONNX: {named}{rest}; replace these "
            "operators in TensorFlow, or cut the model in front of them",
        )


def convert(request: Request) -> list[Diagnostic]:
    silence()
    source = tensorflow_files.load(request)
    diagnostics: list[Diagnostic] = list(source.diagnostics)
    markers = fake_quant.take_out(source)
    try:
        model = to_onnx(source, markers)
    except FrontendError:
        raise
    except (ValueError, KeyError, RuntimeError, AssertionError, NotImplementedError) as error:
        raise FrontendError(
            "unsupported", f"tf2onnx {tf2onnx.__version__} can't convert it: {first_line(error)}"
        ) from error
    require_converted(model, source.graph_def)
    finished = finish(model, source, markers, diagnostics)
    data = finished.SerializeToString()
    Path(request.output).write_bytes(data)
    return diagnostics


__all__ = ["convert", "np"]
