"""Rewrites the quantization in an exported program as the operators of torch_ops.py."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch

from halfstep._errors import Unsupported
from halfstep._frontend.torch_ops import DEQUANTIZE, QUANTIZE

Notes = list[dict[str, str]]

# Operators on quantized values that are left when the known ones are rewritten.
_QUANTIZED_NAMESPACES = ("torchao", "quantized_decomposed", "quantized", "_quantized")
_QUANTIZED_ATEN = {
    "_dyn_quant_matmul_4bit",
    "_dyn_quant_pack_4bit_weight",
    "_fake_quantize_learnable_per_channel_affine",
    "_fake_quantize_learnable_per_tensor_affine",
    "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
    "_fused_moving_avg_obs_fq_helper",
    "_fused_moving_avg_obs_fq_helper_functional",
    "_int_mm",
    "_make_per_channel_quantized_tensor",
    "_make_per_tensor_quantized_tensor",
    "_scaled_mm",
    "_weight_int4pack_mm",
    "_weight_int4pack_mm_for_cpu",
    "_weight_int8pack_mm",
    "dequantize",
    "fake_quantize_per_channel_affine",
    "fake_quantize_per_channel_affine_cachemask",
    "fake_quantize_per_tensor_affine",
    "fake_quantize_per_tensor_affine_cachemask",
    "fused_moving_avg_obs_fake_quant",
    "int_repr",
    "quantize_per_channel",
    "quantize_per_tensor",
    "quantize_per_tensor_dynamic",
}
_DYNAMIC = (
    "scales of activations that are known at run time only (dynamic quantization); such "
    "activations are float from here on, calibrate to give them encodings"
)


def _plain(name: str) -> str:
    """torchao.quantize_affine.default -> torchao.quantize_affine"""
    return name.rsplit(".", 1)[0]


def _is_quantization(node: Any) -> bool:
    if node.op != "call_function" or not hasattr(node.target, "_schema"):
        return False
    space, name = _plain(str(node.target)).split(".", 1)
    return space in _QUANTIZED_NAMESPACES or (space == "aten" and name in _QUANTIZED_ATEN)


def user_inputs(program: Any) -> list[Any]:
    """The placeholders of the model's inputs; a copy of a graph may have renamed them."""
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    specs = program.graph_signature.input_specs
    pairs = zip(placeholders, specs, strict=True)
    return [node for node, spec in pairs if spec.kind.name == "USER_INPUT"]


class ProgramRewriter:
    """One use: rewrite() changes the program."""

    def __init__(self, program: Any, notes: Notes) -> None:
        self.program = program
        self.graph = program.graph_module.graph
        self.notes = notes
        self.at_run_time: set[Any] = set()
        self.dynamic: dict[Any, Any] = {}

    def rewrite(self) -> None:
        self._find_run_time()
        self._refuse_training()
        for node in list(self.graph.nodes):
            rule = self._rule(node)
            if rule is not None:
                rule(node, self._arguments(node))
        self._drop_dynamic()
        self.graph.eliminate_dead_code()
        self._erase_unread()
        self._refuse_the_rest()
        self.program.graph_module.recompile()

    # What is known of a node.

    def _find_run_time(self) -> None:
        """Nodes whose values depend on the inputs of the model."""
        self.at_run_time.update(user_inputs(self.program))
        for node in self.graph.nodes:
            if any(x in self.at_run_time for x in node.all_input_nodes):
                self.at_run_time.add(node)

    def _refuse_training(self) -> None:
        for node in self.graph.nodes:
            name = str(node.target)
            if node.op != "call_function" or not ("dropout" in name or "batch_norm" in name):
                continue
            given = self._arguments(node) if hasattr(node.target, "_schema") else {}
            if given.get("training") is True or given.get("train") is True:
                raise Unsupported(
                    f"node {node.name}: {node.target} in training mode. Call eval() on the module "
                    "(of a program: torchao.quantization.pt2e.move_exported_model_to_eval) before "
                    "the export"
                )

    @staticmethod
    def _arguments(node: Any) -> dict[str, Any]:
        found = {}
        for i, argument in enumerate(node.target._schema.arguments):
            if i < len(node.args):
                found[argument.name] = node.args[i]
            else:
                found[argument.name] = node.kwargs.get(argument.name, argument.default_value)
        return found

    def _rule(self, node: Any) -> Callable[[Any, dict[str, Any]], None] | None:
        if node.op != "call_function" or not hasattr(node.target, "_schema"):
            return None
        rule = _RULES.get(_plain(str(node.target)))
        return partial(rule, self) if rule else None

    # What takes its place.

    def _replace(self, node: Any, new: Any) -> None:
        """`new` takes over the readers and the name of `node`, also as an output."""
        name = node.name
        node.replace_all_uses_with(new)
        self.graph.erase_node(node)
        if new.op == "call_function" and new.target in (QUANTIZE, DEQUANTIZE):
            new._rename(name)
        if new.name != name:
            self.program.graph_signature.replace_all_uses(name, new.name)

    def _call(self, node: Any, target: Any, x: Any, parameters: tuple[Any, ...], dtype: Any) -> Any:
        scale, zero_point, quant_min, quant_max, axis, block, wide = parameters
        scalars = [None, float(scale)] if isinstance(scale, float | int) else [scale, 0.0]
        tensor = isinstance(zero_point, torch.fx.Node)
        points = [zero_point, 0] if tensor else [None, int(zero_point or 0)]
        limits = [self._integer(node, limit) for limit in (quant_min, quant_max)]
        arguments = (x, scalars[0], points[0], scalars[1], points[1], *limits, axis, list(block))
        with self.graph.inserting_before(node):
            new = self.graph.call_function(target, (*arguments, dtype, wide))
        new.meta = dict(node.meta)
        value = node.meta.get("val")
        new.meta["val"] = value[0] if isinstance(value, tuple | list) else value
        return new

    def _integer(self, node: Any, limit: Any) -> int:
        if isinstance(limit, torch.fx.Node):
            raise Unsupported(
                f"node {node.name}: {node.target} has limits that are tensors; expected numbers"
            )
        return int(limit)

    def _dynamic_scale(self, scale: Any) -> bool:
        return isinstance(scale, torch.fx.Node) and scale in self.at_run_time

    def quantize(self, node: Any, x: Any, parameters: tuple[Any, ...], dtype: Any) -> None:
        if self._dynamic_scale(parameters[0]):
            self.dynamic[node] = x
            return
        self._replace(node, self._call(node, QUANTIZE, x, parameters, dtype))

    def dequantize(self, node: Any, q: Any, parameters: tuple[Any, ...], dtype: Any) -> None:
        if not isinstance(dtype, torch.dtype):  # the default, which is a number in a schema
            dtype = torch.float32
        if q in self.dynamic:
            x = self.dynamic[q]
            self._note_dynamic(x)
            if x.meta["val"].dtype != dtype:
                with self.graph.inserting_before(node):
                    cast = self.graph.call_function(torch.ops.aten.to.dtype, (x, dtype))
                cast.meta = dict(node.meta)
                x = cast
            self._replace(node, x)
            return
        self._replace(node, self._call(node, DEQUANTIZE, q, parameters, dtype))

    def fake_quantize(self, node: Any, x: Any, parameters: tuple[Any, ...]) -> None:
        """Also of operators that give a mask beside, which only gradients need."""
        value = node.meta["val"]
        several = isinstance(value, tuple | list)
        dtype = (value[0] if several else value).dtype
        if self._dynamic_scale(parameters[0]):
            self._note_dynamic(x)
            new = x
        else:
            codes = self._call(node, QUANTIZE, x, parameters, torch.int32)
            codes.meta["val"] = codes.meta["val"].to(torch.int32)
            new = self._call(node, DEQUANTIZE, codes, parameters, dtype)
        if not several:
            self._replace(node, new)
            return
        for user in list(node.users):
            if user.args[1] == 0:
                self._replace(user, new)
            elif user.users:
                raise Unsupported(f"node {user.name}: the mask of {node.target} is used")
            else:
                self.graph.erase_node(user)
        self.graph.erase_node(node)

    def _note_dynamic(self, x: Any) -> None:
        self.notes.append(
            {
                "severity": "warning",
                "rule": "torch/dynamic-activation",
                "subject": x.name,
                "message": f"{x.name} has {_DYNAMIC}",
            }
        )

    def _drop_dynamic(self) -> None:
        """Quantization at run time whose integers go elsewhere than to a dequantization."""
        for node in self.dynamic:
            for user in node.users:
                raise Unsupported(
                    f"node {node.name}: {node.target} quantizes at run time, and {user.target} "
                    "computes with its integers, which has no counterpart. Give the module itself "
                    "to halfstep.from_torch, or export it before it is quantized"
                )

    def _erase_unread(self) -> None:
        """Operators of torchao count as impure: dead code keeps them."""
        for node in reversed(list(self.graph.nodes)):
            runtime = node in self.dynamic or "choose_qparams" in str(node.target)
            part = "getitem" in str(node.target) or runtime
            if node.op == "call_function" and part and not node.users:
                self.graph.erase_node(node)

    def _refuse_the_rest(self) -> None:
        root = self.program.graph_module
        for name, module in root.named_modules():
            for node in module.graph.nodes if hasattr(module, "graph") else ():
                if module is not root and _is_quantization(node):
                    raise Unsupported(
                        f"node {node.name} in {name}: {node.target} in a branch or a loop, where "
                        "no encoding can be told"
                    )
        for node in self.graph.nodes:
            if _is_quantization(node):
                raise Unsupported(
                    f"node {node.name}: the quantization operator {node.target} is not known to "
                    "halfstep. Known are quantized_decomposed.(de)quantize_per_tensor, "
                    "_per_channel and _per_channel_group, torchao.(de)quantize_affine and aten's "
                    "fake_quantize operators"
                )


# Rules: what each operator of torch says, in terms of the two.


def _per_tensor(self: ProgramRewriter, node: Any, a: dict[str, Any]) -> None:
    # Python numbers are inverted in double, tensors in float32.
    wide = isinstance(a["scale"], float)
    parameters = (a["scale"], a["zero_point"], a["quant_min"], a["quant_max"], -1, (), wide)
    if "dequantize" in str(node.target):
        self.dequantize(node, a["input"], parameters, a.get("out_dtype"))
    else:
        self.quantize(node, a["input"], parameters, a["dtype"])


def _per_channel(self: ProgramRewriter, node: Any, a: dict[str, Any]) -> None:
    axis = a["axis"] % node.meta["val"].dim()
    limits = (a["quant_min"], a["quant_max"])
    parameters = (a["scales"], a["zero_points"], *limits, axis, (), False)
    if "dequantize" in str(node.target):
        self.dequantize(node, a["input"], parameters, a.get("out_dtype"))
    else:
        self.quantize(node, a["input"], parameters, a["dtype"])


def _per_token(self: ProgramRewriter, node: Any, a: dict[str, Any]) -> None:
    if not self._dynamic_scale(a["scales"]):
        raise Unsupported(f"node {node.name}: {node.target} with scales that are constant")
    parameters = (a["scales"], a["zero_points"], a["quant_min"], a["quant_max"], -1, (), False)
    if "dequantize" in str(node.target):
        self.dequantize(node, a["input"], parameters, a["output_dtype"])
    else:
        self.quantize(node, a["input"], parameters, a["dtype"])


def _per_group(self: ProgramRewriter, node: Any, a: dict[str, Any]) -> None:
    block = (*[1] * (node.meta["val"].dim() - 1), a["group_size"])
    limits = (a["quant_min"], a["quant_max"])
    parameters = (a["scales"], a["zero_points"], *limits, -1, block, False)
    if "dequantize" in str(node.target):
        self.dequantize(node, a["input"], parameters, a["output_dtype"])
    else:
        self.quantize(node, a["input"], parameters, a["dtype"])


def _affine(self: ProgramRewriter, node: Any, a: dict[str, Any]) -> None:
    dequantizes = "dequantize" in str(node.target)
    dtype = a["input_dtype"] if dequantizes else a["output_dtype"]
    domain = a.get("zero_point_domain", "INT")
    if domain not in ("INT", None):
        raise Unsupported(f"node {node.name}: {node.target} has zero points of the domain {domain}")
    low, high = a["quant_min"], a["quant_max"]
    if low is None or high is None:
        low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    block = tuple(a["block_size"]) if not self._dynamic_scale(a["scale"]) else ()
    parameters = (a["scale"], a["zero_point"], low, high, -1, block, False)
    if dequantizes:
        self.dequantize(node, a["input"], parameters, a["output_dtype"])
    else:
        self.quantize(node, a["input"], parameters, a["output_dtype"])


def _whole(self: ProgramRewriter, node: Any, point: Any) -> Any:
    """A zero point that is learned counts rounded."""
    if "learnable" not in str(node.target):
        return point
    with self.graph.inserting_before(node):
        rounded = self.graph.call_function(torch.ops.aten.round.default, (point,))
    rounded.meta["val"] = point.meta["val"]
    return rounded


def _fake_per_tensor(self: ProgramRewriter, node: Any, a: dict[str, Any]) -> None:
    point = _whole(self, node, a["zero_point"])
    limits = (a["quant_min"], a["quant_max"])
    self.fake_quantize(node, a["self"], (a["scale"], point, *limits, -1, (), False))


def _fake_per_channel(self: ProgramRewriter, node: Any, a: dict[str, Any]) -> None:
    x = a["self"] if "self" in a else a["input"]
    scale = a["scale"] if "scale" in a else a["scales"]
    point = a["zero_point"] if "zero_point" in a else a["zero_points"]
    axis = a["axis"] % x.meta["val"].dim()
    limits = (a["quant_min"], a["quant_max"])
    point = _whole(self, node, point)
    self.fake_quantize(node, x, (scale, point, *limits, axis, (), False))


def _table(prefix: str, names: Iterable[str], rule: Any) -> dict[str, Any]:
    return {f"{prefix}.{name}": rule for name in names}


_RULES: dict[str, Any] = {
    **_table("quantized_decomposed", ("quantize_per_tensor", "dequantize_per_tensor"), _per_tensor),
    **_table(
        "quantized_decomposed", ("quantize_per_channel", "dequantize_per_channel"), _per_channel
    ),
    **_table("quantized_decomposed", ("quantize_per_token", "dequantize_per_token"), _per_token),
    **_table(
        "quantized_decomposed",
        ("quantize_per_channel_group", "dequantize_per_channel_group"),
        _per_group,
    ),
    "quantized_decomposed.fake_quant_per_channel": _fake_per_channel,
    **_table("torchao", ("quantize_affine", "dequantize_affine"), _affine),
    **_table(
        "aten",
        (
            "fake_quantize_per_tensor_affine",
            "fake_quantize_per_tensor_affine_cachemask",
            "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
            "_fake_quantize_learnable_per_tensor_affine",
        ),
        _fake_per_tensor,
    ),
    **_table(
        "aten",
        (
            "fake_quantize_per_channel_affine",
            "fake_quantize_per_channel_affine_cachemask",
            "_fake_quantize_learnable_per_channel_affine",
        ),
        _fake_per_channel,
    ),
}
