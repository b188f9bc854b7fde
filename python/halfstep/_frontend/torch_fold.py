"""Folds what is computed from constants, with the names of the parameters they were made of."""

from typing import Any

from onnx_ir.passes import common as passes
from onnxscript import optimizer

from halfstep._errors import Unsupported
from halfstep._frontend.torch_ops import DOMAIN
from halfstep._frontend.torch_patterns import turns_integers_to_floats

_BITWISE = {"BitShift", "BitwiseAnd", "BitwiseNot", "BitwiseOr", "BitwiseXor"}
_GROWING = {"Expand", "ConstantOfShape", "Range", "Tile", "Resize", "Upsample", "OneHot"}


def fold(model: Any, parameters: set[str]) -> None:
    passes.InlinePass()(model)
    origins = _origins(model, parameters)

    _refuse_packed(model, origins)

    def should_fold(node: Any) -> bool | None:
        if node.domain == DOMAIN or turns_integers_to_floats(node):
            return False
        weights = any(origins.get(x.name) for x in node.inputs if x is not None)
        return True if weights and node.op_type not in _GROWING else None

    optimizer.fold_constants(model, onnx_shape_inference=True, should_fold=should_fold)
    passes.RemoveUnusedNodesPass()(model)
    passes.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    passes.RemoveUnusedNodesPass()(model)
    _name_by_origin(model.graph, parameters, origins)


def _refuse_packed(model: Any, origins: dict[str, set[str]]) -> None:
    """Integers that a program takes apart bit by bit are weights of a form of its own."""
    for node in model.graph:
        names = [name for x in node.inputs if x is not None for name in origins.get(x.name, ())]
        if node.op_type in _BITWISE and names:
            raise Unsupported(
                f"tensor {names[0]} holds packed integers that the program unpacks by itself "
                f"({node.op_type}): a form of quantization that is not known to halfstep"
            )


def _origins(model: Any, parameters: set[str]) -> dict[str, set[str]]:
    """Constant tensor -> parameters that it is computed from."""
    origins = {name: {name} & parameters for name in model.graph.initializers}
    for node in model.graph:
        inputs = [x.name for x in node.inputs if x is not None]
        if node.domain != DOMAIN and all(name in origins for name in inputs):
            union = set().union(*(origins[name] for name in inputs))
            origins.update((y.name, union) for y in node.outputs)
    return origins


def _name_by_origin(graph: Any, parameters: set[str], origins: dict[str, set[str]]) -> None:
    """What was made of one parameter alone, which nobody else needs, is called as that one."""
    made: dict[str, list[Any]] = {}
    for name, value in graph.initializers.items():
        if name not in parameters and len(origins.get(name, ())) == 1:
            (origin,) = origins[name]
            made.setdefault(origin, []).append(value)
    for origin, values in made.items():
        if len(values) == 1 and origin not in graph.initializers:
            rename(graph, values[0], origin)


def rename(graph: Any, value: Any, name: str) -> None:
    del graph.initializers[value.name]
    value.name = name
    value.const_value.name = name
    graph.register_initializer(value)
