"""Files of TensorFlow and Keras as a frozen graph with its inputs and outputs."""

import os
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

from halfstep._frontend.report import Diagnostic, FrontendError, Request, closest, first_line

DEFAULT_SIGNATURE = "serving_default"
KERAS_ALIAS = "serve"  # what Keras exports beside it is the same
SAVE_LINE = (
    'tf.saved_model.save(model, "folder", signatures=tf.function(model.__call__)'
    '.get_concrete_function(tf.TensorSpec([None, 224, 224, 3], name="x")))'
)
VARIABLES = {"Variable", "VariableV2", "VarHandleOp", "ReadVariableOp"}
# Nodes that nothing reads and that are no results.
NO_RESULTS = {"Const", "NoOp", "Assert", "Placeholder", "PlaceholderWithDefault"}


@dataclass
class SourceGraph:
    """A graph without variables; inputs and outputs are tensors of it, such as "x:0"."""

    graph_def: Any
    inputs: list[str]
    outputs: list[str]
    renamed: dict[str, str] = field(default_factory=dict)  # names that the signature gives
    variables: dict[str, str] = field(default_factory=dict)  # node of a constant -> its variable
    diagnostics: list[Diagnostic] = field(default_factory=list)


def load(request: Request) -> SourceGraph:
    path = request.model
    if os.path.isdir(path):
        return saved_model(path, request.signature)
    with open(path, "rb") as file:
        head = file.read(6)
    if head.startswith((b"PK", b"\x89HDF")):
        return keras_file(path)
    return frozen_graph(path, request.inputs, request.outputs)


def saved_model(path: str, wanted: str) -> SourceGraph:
    try:
        loaded = tf.saved_model.load(path)
    except Exception as error:  # TensorFlow raises nearly everything here
        text = first_line(error)
        kind = "unsupported" if "Op type not registered" in text else "invalid_file"
        raise FrontendError(kind, f"TensorFlow can't read the SavedModel: {text}") from error
    signatures = dict(getattr(loaded, "signatures", {}) or {})
    if not signatures:
        raise FrontendError(
            "invalid_file",
            f"the SavedModel has no signatures, so it has no inputs; save it with {SAVE_LINE}",
        )
    name = wanted or (DEFAULT_SIGNATURE if DEFAULT_SIGNATURE in signatures else "")
    if not name and len(signatures) == 1:
        name = next(iter(signatures))
    if name not in signatures:
        asked = f'no signature "{name}"' if name else f'no signature "{DEFAULT_SIGNATURE}"'
        raise FrontendError("invalid_argument", asked + closest(wanted, signatures))
    source = of_function(signatures[name])
    others = ", ".join(sorted(set(signatures) - {name, KERAS_ALIAS}))
    if others and not wanted:
        source.diagnostics.append(
            Diagnostic(
                "note",
                "tensorflow/other-signature",
                name,
                f'the signature "{name}" is read; the file also has: {others} (--signature)',
            )
        )
    return source


def of_function(function: Any) -> SourceGraph:
    frozen = convert_variables_to_constants_v2(
        function, lower_control_flow=False, aggressive_inlining=True
    )
    known = function.graph.variables
    counts = Counter(variable.name for variable in known)
    handles = {id(v.handle): v.name for v in known if counts[v.name] == 1}
    variables = {
        inner.op.name: handles[id(outer)].removesuffix(":0")
        for outer, inner in function.graph.captures
        if id(outer) in handles
    }
    inputs = [tensor for tensor in frozen.inputs if tensor.dtype != tf.resource]
    specs = function.structured_input_signature[1]
    renamed = {t.name: t.name.removesuffix(":0") for t in inputs}
    for name in specs:  # arguments of a signature are named; placeholders are called after them
        for tensor in inputs:
            if tensor.op.name in (name, f"{DEFAULT_SIGNATURE}_{name}"):
                renamed[tensor.name] = name
    outputs = [tensor.name for tensor in frozen.outputs]
    names = sorted(function.structured_outputs)
    if len(names) == len(outputs):
        renamed.update(zip(outputs, names, strict=True))
    return SourceGraph(
        frozen.graph.as_graph_def(), [t.name for t in inputs], outputs, renamed, variables
    )


def keras_file(path: str) -> SourceGraph:
    try:
        model = tf.keras.models.load_model(path, compile=False)
    except Exception as error:
        raise FrontendError(
            "invalid_file",
            f"Keras can't read it: {first_line(error)}; in the program that made the model write "
            'model.export("folder") and give the folder',
        ) from error
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as folder:
        try:
            model.export(folder, verbose=False)
        except Exception as error:
            raise FrontendError(
                "unsupported", f"Keras can't export the model: {first_line(error)}"
            ) from error
        return saved_model(folder, "")


def frozen_graph(path: str, inputs: list[str], outputs: list[str]) -> SourceGraph:
    graph_def = tf.compat.v1.GraphDef()
    try:
        graph_def.ParseFromString(Path(path).read_bytes())
    except Exception as error:
        raise FrontendError(
            "invalid_file", "is a damaged TensorFlow graph: protobuf can't parse it"
        ) from error
    variables = [node.name for node in graph_def.node if node.op in VARIABLES]
    if variables:
        raise FrontendError(
            "invalid_file",
            f'the graph has variables ("{variables[0]}"), it is not frozen; save a SavedModel, or '
            "freeze it with tf.compat.v1.graph_util.convert_variables_to_constants",
        )
    try:
        graph = tf.Graph()
        with graph.as_default():
            tf.import_graph_def(graph_def, name="")
    except Exception as error:
        text = first_line(error)
        kind = "unsupported" if "Op type not registered" in text else "invalid_file"
        raise FrontendError(kind, f"TensorFlow can't read the graph: {text}") from error
    if not inputs:
        inputs = [
            t.name for op in graph.get_operations() if op.type == "Placeholder" for t in op.outputs
        ]
    if not outputs:
        outputs = [
            op.outputs[0].name
            for op in graph.get_operations()
            if op.outputs
            and op.type not in NO_RESULTS
            and not any(tensor.consumers() for tensor in op.outputs)
        ]
    inputs = [tensor_named(graph, name, "inputs") for name in inputs]
    outputs = [tensor_named(graph, name, "outputs") for name in outputs]
    for what, names in (("inputs", inputs), ("outputs", outputs)):
        if not names:
            raise FrontendError(
                "invalid_file", f"the graph has no {what} that can be told; name them: --{what} x:0"
            )
    return SourceGraph(graph_def, inputs, outputs)


def tensor_named(graph: Any, name: str, option: str) -> str:
    full = name if ":" in name else name + ":0"
    names = [tensor.name for op in graph.get_operations() for tensor in op.outputs]
    if full not in names:
        raise FrontendError(
            "invalid_argument",
            f'--{option}: no tensor "{full}" in the graph' + closest(full, names),
        )
    return full
