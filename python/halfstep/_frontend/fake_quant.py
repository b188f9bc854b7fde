"""FakeQuantWithMinMaxArgs, ...Vars and ...VarsPerChannel: their numbers, and a place in the graph.

Formula: scale = (max - min) / (quant_max - quant_min), in float32
         zero_point = quant_min - min / scale, rounded (half away from zero) into
         [quant_min, quant_max]; value = (q - zero_point) * scale
         quant_min = 1 if narrow_range else 0, quant_max = 2^num_bits - 1
Shapes:  per channel: [C] along the last axis
Source:  the documentation of tf.quantization.fake_quant_with_min_max_args, and its results
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from halfstep._frontend.report import FrontendError
from halfstep._frontend.tensorflow_files import SourceGraph

OPS = ("FakeQuantWithMinMaxArgs", "FakeQuantWithMinMaxVars", "FakeQuantWithMinMaxVarsPerChannel")
MARK = np.float32(2.0**100)  # times 1 + number / 2^20: no graph clips there
MARK_STEP = 2.0**-20

Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Grid:
    """The numbers of one FakeQuant: values (q - zero_point) * scale, q from quant_min on."""

    node: str
    bits: int
    narrow: bool
    scale: Floats  # [] or [C]
    zero_point: Integers

    @property
    def quant_min(self) -> int:
        return 1 if self.narrow else 0

    @property
    def quant_max(self) -> int:
        return int(2**self.bits - 1)

    @property
    def per_channel(self) -> bool:
        return self.scale.ndim > 0 and self.scale.size > 1


@dataclass(frozen=True)
class Weight:
    """A FakeQuant of a constant: `tensor` is read in its place, `codes` are what it holds."""

    tensor: str
    name: str  # of the variable, or of the node
    grid: Grid
    codes: Integers


@dataclass
class Markers:
    """What was taken out of a graph: weights by node, grids of activations by their number."""

    weights: dict[str, Weight] = field(default_factory=dict)
    grids: list[Grid] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)  # by node

    def convert(self, ctx: Any, node: Any, name: str, args: Any) -> None:
        """Handler for tf2onnx: Clip or, per channel, Max with a constant that holds the number.

        Both let transposes pass, and the constant of Max shows along which axis channels lie.
        """
        number = self.numbers[node.name]
        grid = self.grids[number]
        mark = mark_of(number)
        shape, dtype = ctx.get_shape(node.output[0]), ctx.get_dtype(node.output[0])
        outputs, source = list(node.output), node.input[0]
        ctx.remove_node(node.name)
        constant = ctx.make_const(
            f"{node.name}_mark", np.full(grid.scale.shape if grid.per_channel else (), mark)
        ).output[0]
        operands = [source, constant] if grid.per_channel else [source, constant, constant]
        ctx.make_node(
            "Max" if grid.per_channel else "Clip",
            operands,
            outputs=outputs,
            name=node.name,
            shapes=[shape],
            dtypes=[dtype],
        )

    def number_of(self, value: float) -> int | None:
        """The number that a marker's constant holds."""
        number = (value / float(MARK) - 1.0) / MARK_STEP
        whole = round(number) if 0 <= number < len(self.grids) else -1
        return whole if whole >= 0 and np.float32(value) == mark_of(whole) else None


def mark_of(number: int) -> np.float32:
    return np.float32(MARK * np.float32(1.0 + number * MARK_STEP))


def grid_of(node: str, low: Any, high: Any, bits: int, narrow: bool) -> Grid:
    """Errors: unsupported if a range is empty or not finite."""
    one = np.float32(1.0)
    quant_min, quant_max = np.float32(1 if narrow else 0), np.float32(2**bits - 1)
    low, high = np.asarray(low, np.float32), np.asarray(high, np.float32)
    nothing = (low == 0) & (high == 0)  # TensorFlow makes 0 of everything
    if not (np.isfinite(low) & np.isfinite(high) & ((low < high) | nothing)).all():
        raise FrontendError(
            "unsupported",
            f'FakeQuant "{node}": its range [{low.min()}, {high.max()}] is empty or not finite',
        )
    scale = np.where(nothing, one, (high - low) / (quant_max - quant_min)).astype(np.float32)
    exact = (quant_min - np.where(nothing, 0, low) / scale).astype(np.float32)
    rounded = np.floor(np.abs(exact.astype(np.float64)) + 0.5) * np.sign(exact)
    zero_point = np.clip(rounded, quant_min, quant_max).astype(np.int64)
    return Grid(node, bits, narrow, scale, zero_point)


def source_node(tensor: str) -> str:
    return tensor.removeprefix("^").split(":")[0]


class Constants:
    """Which nodes of a graph depend on constants alone."""

    def __init__(self, nodes: dict[str, Any]) -> None:
        self._nodes = nodes
        self._known: dict[str, bool] = {}

    def __contains__(self, name: str) -> bool:
        pending = [name]
        while pending:
            top = pending[-1]
            node = self._nodes.get(top)
            inputs = [source_node(i) for i in node.input] if node is not None else []
            if top in self._known or not inputs:
                self._known.setdefault(top, node is not None and node.op == "Const")
                pending.pop()
                continue
            unknown = [i for i in inputs if i not in self._known]
            self._known.update((i, False) for i in unknown if i in pending)  # a loop
            open_inputs = [i for i in unknown if i not in pending]
            if open_inputs:
                pending += open_inputs
                continue
            self._known[top] = all(self._known[i] for i in inputs)
            pending.pop()
        return self._known[name]

    def roots(self, name: str) -> set[str]:
        """The Const nodes that a constant comes from."""
        seen, pending, found = set(), [name], set()
        while pending:
            top = pending.pop()
            if top in seen:
                continue
            seen.add(top)
            node = self._nodes[top]
            pending += [source_node(i) for i in node.input]
            found |= {top} if node.op == "Const" else set()
        return found


def full(tensor: str) -> str:
    return tensor if ":" in tensor else tensor + ":0"


def fetches_of(node: Any, constants: Constants) -> list[str]:
    """The tensors to be computed: of a weight its values; then min and max, if they are inputs.

    Errors: unsupported if the range is computed while the model runs.
    """
    wanted = [f"{node.name}:0"] if source_node(node.input[0]) in constants else []
    for tensor in node.input[1:3]:
        if source_node(tensor) not in constants:
            raise FrontendError(
                "unsupported",
                f'{node.op} "{node.name}": its range ("{tensor}") is computed while the model runs;'
                " save the model for inference, with ranges that are constants or variables",
            )
        wanted.append(full(tensor))
    return wanted


def evaluate(graph_def: Any, fetches: list[str]) -> dict[str, Any]:
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(graph_def, name="")
    names = sorted(set(fetches))
    with tf.compat.v1.Session(graph=graph) as session:
        return dict(zip(names, session.run(names), strict=True))


def name_of(node: Any, constants: Constants, source: SourceGraph, taken: set[str]) -> str:
    """The variable that a weight was, else the constant, else the node; a name of its own."""
    roots = constants.roots(source_node(node.input[0]))
    named = {source.variables[root] for root in roots if root in source.variables}
    name = named.pop() if len(named) == 1 else roots.pop() if len(roots) == 1 else node.name
    if name in taken or name.startswith("unknown"):  # of captured values without a name
        name = node.name
    taken.add(name)
    return name


def refuse_inside_functions(graph_def: Any) -> None:
    for function in graph_def.library.function:
        for node in function.node_def:
            if node.op in OPS:
                raise FrontendError(
                    "unsupported",
                    f'{node.op} "{node.name}" stands in the body of a loop or branch '
                    f'("{function.signature.name}"), where encodings have no place; save the model '
                    "with the loop unrolled",
                )


def take_out(source: SourceGraph) -> Markers:
    """Finds every FakeQuant. Those of constants become placeholders in `source.graph_def`.

    Errors: unsupported naming the node: a range that is not constant or empty, a loop's body.
    """
    markers = Markers()
    graph_def = source.graph_def
    refuse_inside_functions(graph_def)
    found = [node for node in graph_def.node if node.op in OPS]
    if not found:
        return markers
    constants = Constants({node.name: node for node in graph_def.node})
    wanted = {node.name: fetches_of(node, constants) for node in found}
    values = evaluate(graph_def, [name for names in wanted.values() for name in names])
    taken: set[str] = set()
    for node in found:
        ends = (
            (np.float32(node.attr["min"].f), np.float32(node.attr["max"].f))
            if node.op == OPS[0]
            else (values[full(node.input[1])], values[full(node.input[2])])
        )
        bits = node.attr["num_bits"].i or 8
        grid = grid_of(node.name, ends[0], ends[1], bits, node.attr["narrow_range"].b)
        if source_node(node.input[0]) not in constants:
            markers.numbers[node.name] = len(markers.grids)
            markers.grids.append(grid)
            continue
        data = values[f"{node.name}:0"]
        codes = np.rint(data.astype(np.float64) / grid.scale).astype(np.int64) + grid.zero_point
        name = name_of(node, constants, source, taken)
        markers.weights[node.name] = Weight(f"{node.name}:0", name, grid, codes)
        become_placeholder(node, data.shape)
    return markers


def become_placeholder(node: Any, shape: tuple[int, ...]) -> None:
    node.op = "Placeholder"
    del node.input[:]
    node.attr.clear()
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(tf.TensorShape(shape).as_proto())
