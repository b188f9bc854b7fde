"""PyTorch models as ONNX with QuantizeLinear and DequantizeLinear.

A live module or program comes through model_of(), a file through convert(), which runs in a child
process. Nothing that a file holds is executed: pickles are read with weights_only.
"""

import contextlib
import copy
import logging
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import onnx_ir as ir
import torch

from halfstep._errors import Error, InvalidArgument, Unsupported
from halfstep._frontend.report import Diagnostic, FrontendError, Request
from halfstep._frontend.torch_files import program_of
from halfstep._frontend.torch_lower import lowered
from halfstep._frontend.torch_module import prepared
from halfstep._frontend.torch_ops import OPSET, translation_table
from halfstep._frontend.torch_program import Notes, ProgramRewriter, user_inputs

_LOGGERS = ("torch", "torch.onnx", "torch.__trace", "onnxscript", "onnx_ir")
BIGGEST_MESSAGE = 1 << 30  # bytes of weights; beyond, they go beside the model


def model_of(
    source: Any,
    args: Sequence[Any] = (),
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    notes: Notes | None = None,
) -> Any:
    """The onnx_ir.Model of a module (with inputs) or of a torch.export.ExportedProgram."""
    notes = [] if notes is None else notes
    with _quiet(), torch.no_grad():
        names: dict[str, str] = {}
        if isinstance(source, torch.export.ExportedProgram):
            program = _copied(source)
        elif not isinstance(source, torch.nn.Module):
            raise InvalidArgument(
                f"module is of type {type(source).__name__}; expected a torch.nn.Module or a "
                "torch.export.ExportedProgram"
            )
        else:
            program = _exported(prepared(source, notes), args, kwargs, dynamic_shapes)
            names = _dimension_names(program, dynamic_shapes)
        ProgramRewriter(program, notes).rewrite()
        norms = [node.name for node in program.graph.nodes if "batch_norm" in str(node.target)]
        model = _onnx_program(program).model
        _name_norms(model.graph, norms)
        model = lowered(model, notes)
    _name_dimensions(model, names)
    _strip(model)
    return model


def convert(request: Request) -> list[Diagnostic]:
    """Writes request.output for request.model, a .pt2 or TorchScript file (report.Request)."""
    notes: Notes = []
    try:
        with _quiet():
            program, names = program_of(request.model, request.input_extents)
        model = model_of(program, notes=notes)
        _name_inputs(model, names)
        write(model, request.output)
    except Error as error:
        raise FrontendError(error.kind, str(error)) from error
    return [Diagnostic(**note) for note in notes]


def _name_inputs(model: Any, names: Sequence[str]) -> None:
    taken = {value.name for node in model.graph for value in node.outputs}
    taken |= set(model.graph.initializers)
    if len(names) == len(model.graph.inputs) and not taken & set(names):
        for value, name in zip(model.graph.inputs, names, strict=True):
            value.name = name


def write(model: Any, path: str) -> bool:
    """Writes the model, with big weights into a file beside it; were there any?"""
    size = sum(value.const_value.nbytes for value in model.graph.initializers.values())
    external = f"{os.path.basename(path)}.data" if size > BIGGEST_MESSAGE else None
    ir.save(model, path, external_data=external)
    return external is not None


# Steps.


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """The exporter's progress, which says nothing that matters here."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def _copied(program: Any) -> Any:
    """A program of its own, that shares the tensors."""
    tensors = [*program.state_dict.values(), *program.constants.values()]
    return copy.deepcopy(program, {id(tensor): tensor for tensor in tensors})


def _exported(module: Any, args: Any, kwargs: Any, dynamic_shapes: Any) -> Any:
    shapes = _without_names(dynamic_shapes)
    try:
        return torch.export.export(
            module, tuple(args), kwargs or {}, dynamic_shapes=shapes, strict=False
        )
    except Exception as error:
        raise Unsupported(
            f"torch.export.export can't take the {type(module).__name__}: {_summary(error)}"
        ) from error


def _onnx_program(program: Any) -> Any:
    try:
        return torch.onnx.export(
            program,
            dynamo=True,
            opset_version=OPSET,
            verbose=False,
            optimize=False,
            custom_translation_table=translation_table(),
        )
    except Exception as error:
        raise Unsupported(f"torch.onnx.export can't write the program: {_reason(error)}") from error


def _summary(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0][:500] if lines else type(error).__name__


def _reason(error: BaseException) -> str:
    """The innermost cause, and the node that it is about."""
    node, last = "", error
    while last.__cause__ is not None:
        found = re.search(r"Error when translating node (%\S+)", str(last))
        node = found.group(1) if found else node
        last = last.__cause__
    return f"{'node ' + node + ': ' if node else ''}{_summary(last)}"


def _name_norms(graph: Any, names: Sequence[str]) -> None:
    """Batch normalization is called as in the program, and not getitem, as in torch's rewriting."""
    nodes = [node for node in graph if node.op_type == "BatchNormalization"]
    taken = {value.name for node in graph for value in node.outputs}
    if len(nodes) == len(names) and not taken & set(names):
        for node, name in zip(nodes, names, strict=True):
            node.outputs[0].name = name


# Names of extents that are open.


def _leaves(shapes: Any) -> list[Any]:
    """The entry of each tensor: a dict or sequence of Dim, int, str or None; or None."""
    if shapes is None:
        return [None]
    values = list(shapes.values()) if isinstance(shapes, dict) else list(shapes)
    plain = all(value is None or not isinstance(value, dict | list | tuple) for value in values)
    if plain and not (isinstance(shapes, dict) and any(isinstance(key, str) for key in shapes)):
        return [shapes]
    return [leaf for value in values for leaf in _leaves(value)]


def _without_names(shapes: Any) -> Any:
    """Names in place of Dim objects: extents that torch finds out."""
    if isinstance(shapes, dict):
        return {key: _without_names(value) for key, value in shapes.items()}
    if isinstance(shapes, list | tuple):
        return type(shapes)(_without_names(value) for value in shapes)
    return torch.export.Dim.DYNAMIC if isinstance(shapes, str) else shapes


def _dimension_names(program: Any, dynamic_shapes: Any) -> dict[str, str]:
    """Symbol -> the name that the caller gave it."""
    names: dict[str, str] = {}
    if dynamic_shapes is None:
        return names
    entries, inputs = dynamic_shapes, user_inputs(program)
    if isinstance(entries, dict):
        known = [node.target for node in inputs]
        entries = [entries.get(name) for name in known] if set(entries) <= set(known) else entries
    leaves = [leaf for entry in _sequence(entries) for leaf in _leaves(entry)]
    for node, leaf in zip(inputs, leaves, strict=False):
        value = node.meta.get("val")
        if leaf is None or not hasattr(value, "shape"):
            continue
        axes = leaf.items() if isinstance(leaf, dict) else enumerate(leaf)
        for axis, dim in axes:
            name = dim if isinstance(dim, str) else getattr(dim, "__name__", None)
            symbol = str(value.shape[axis])
            if isinstance(name, str) and not symbol.isdigit():
                names.setdefault(symbol, name)
    return names


def _sequence(entries: Any) -> Sequence[Any]:
    return list(entries.values()) if isinstance(entries, dict) else list(entries)


def _name_dimensions(model: Any, names: dict[str, str]) -> None:
    """Extents without a name: "batch" for the first axis, else input and axis."""
    taken = set(names.values())
    for value in model.graph.inputs:
        for axis, extent in enumerate(value.shape or ()):
            symbol = str(getattr(extent, "value", extent))
            if re.fullmatch(r"[su]\d+", symbol) and symbol not in names:
                name = "batch" if axis == 0 and "batch" not in taken else f"{value.name}_{axis}"
                names[symbol] = name
                taken.add(name)
    if not names:
        return
    pattern = re.compile(r"\b(" + "|".join(re.escape(symbol) for symbol in names) + r")\b")
    values = [*model.graph.inputs, *model.graph.initializers.values()]
    values += [value for node in model.graph for value in node.outputs]
    for value in values:
        if value.shape is None:
            continue
        extents = [
            extent
            if isinstance(extent, int)
            else ir.SymbolicDim(
                None
                if extent.value is None
                else pattern.sub(lambda found: names[found.group(1)], str(extent.value))
            )
            for extent in value.shape
        ]
        if not value.is_initializer():
            value.shape = ir.Shape(extents)


def _strip(model: Any) -> None:
    """The exporter's notes: source paths, stack traces."""
    model.metadata_props.clear()
    model.graph.metadata_props.clear()
    model.doc_string = model.graph.doc_string = None
    values = [*model.graph.inputs, *model.graph.initializers.values()]
    for node in model.graph:
        node.doc_string = None
        for key in [key for key in node.metadata_props if not key.startswith("halfstep.")]:
            del node.metadata_props[key]
        values += node.outputs
    for value in values:
        value.metadata_props.clear()
        value.doc_string = None


def check_inputs(example_inputs: Any) -> tuple[Any, ...]:
    """One tensor, or the positional arguments."""
    if isinstance(example_inputs, torch.Tensor):
        return (example_inputs,)
    if isinstance(example_inputs, tuple | list):
        return tuple(example_inputs)
    raise InvalidArgument(
        f"example_inputs is of type {type(example_inputs).__name__}; expected a tensor or a tuple "
        "of the arguments of forward()"
    )
