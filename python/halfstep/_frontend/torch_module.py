"""Makes a module ready for export: observers and fake quantizers become fixed quantization, and
weights that know how they are quantized say so in operators.

The caller's module is left as it is; the copy shares its tensors.
"""

import copy
from typing import Any

import torch

from halfstep._errors import InvalidArgument, Unsupported
from halfstep._frontend.torch_ops import DEQUANTIZE, quantize_dequantize
from halfstep._frontend.torch_program import Notes


def prepared(module: Any, notes: Notes) -> Any:
    """A copy of the module in evaluation mode, without observers and fake quantizers."""
    tensors = [*module.parameters(), *module.buffers()]
    try:
        copied = copy.deepcopy(module, {id(tensor): tensor for tensor in tensors})
    except Exception as error:
        raise Unsupported(
            f"the {type(module).__name__} can't be copied ({type(error).__name__}: {error}). Give "
            "its program: torch.export.export(module.eval(), example_inputs)"
        ) from error
    _evaluate(copied, notes)
    _replace_children(copied, "", notes, {})
    _unwrap_weights(copied, notes)
    return copied


def _evaluate(module: Any, notes: Notes) -> None:
    if not module.training:
        return
    try:
        module.eval()
    except NotImplementedError:
        return  # a program that torch.export made: what it does in training is in its graph
    if isinstance(module, torch.fx.GraphModule):
        return
    notes.append(
        {
            "severity": "note",
            "rule": "torch/evaluation",
            "subject": type(module).__name__,
            "message": "the module was in training mode; it is taken in evaluation mode",
        }
    )


def _from(instance: Any, *packages: str) -> bool:
    """Is one of the classes of `instance` defined in one of these packages?"""
    return any(
        base.__module__ == package or base.__module__.startswith(package + ".")
        for base in type(instance).__mro__
        for package in packages
    )


def _is_quantizer(module: Any) -> bool:
    """An observer or fake quantizer of torch.ao or of torchao's pt2e, told by what it can do."""
    ours = _from(module, "torch.ao.quantization", "torchao.quantization")
    return ours and hasattr(module, "calculate_qparams") and not isinstance(module, _Fixed)


def _replace_children(module: Any, path: str, notes: Notes, fixed: dict[Any, Any]) -> None:
    for name, child in list(module._modules.items()):
        if child is None:
            continue
        place = f"{path}.{name}" if path else name
        if _is_quantizer(child):
            if child not in fixed:  # one that is shared by several places stays so
                fixed[child] = _fixed(child, place, notes)
            setattr(module, name, fixed[child])
        elif _from(child, "torch.ao.nn.intrinsic.qat") and hasattr(child, "bn"):
            _replace_children(child, place, notes, fixed)
            _fold_batch_norm(child)
        else:
            _refuse_quantized(child, place)
            _replace_children(child, place, notes, fixed)


def _refuse_quantized(module: Any, place: str) -> None:
    kind = f"{type(module).__module__}.{type(module).__qualname__}"
    if _from(module, "torch.ao.nn.quantized", "torch.ao.nn.intrinsic.quantized"):
        raise Unsupported(
            f"module {place} is a {kind}, which computes with torch's quantized kernels and can't "
            "be exported. Give the module to halfstep.from_torch as it was before convert(): its "
            "observers and fake quantizers become encodings"
        )
    if _from(module, "torchao.quantization.qat") and "FakeQuantize" in kind:
        raise Unsupported(
            f"module {place} is a {kind}, which quantizes in training. Convert it first: "
            "torchao.quantization.quantize_(module, QATConfig(..., step='convert'))"
        )


# Observers and fake quantizers.


class _Fixed(torch.nn.Module):  # type: ignore[misc]
    """Fake quantization with parameters that are known."""

    def __init__(
        self, scale: Any, zero_point: Any, limits: tuple[int, int], axis: int | None
    ) -> None:
        super().__init__()
        self.register_buffer("scale", scale)
        self.register_buffer("zero_point", zero_point)
        self.limits = limits
        self.axis = axis

    def forward(self, x: Any) -> Any:
        axis = -1 if self.axis is None else self.axis % x.dim()
        return quantize_dequantize(x, self.scale, self.zero_point, *self.limits, axis)


def _fixed(module: Any, place: str, notes: Notes) -> Any:
    observer = getattr(module, "activation_post_process", module)
    kind = type(observer).__name__
    if kind in ("NoopObserver", "PlaceholderObserver", "RecordingObserver"):
        dynamic = getattr(observer, "is_dynamic", False)
        if kind == "PlaceholderObserver" and not dynamic and observer.dtype == torch.float:
            return torch.nn.Identity()
        wanted = "quantization at run time" if dynamic else str(getattr(observer, "dtype", "float"))
        notes.append(
            {
                "severity": "warning",
                "rule": "torch/dynamic-activation",
                "subject": place,
                "message": f"module {place}, a {kind}, asks for {wanted} without a range: the "
                "tensor is float from here on, calibrate to give it an encoding",
            }
        )
        return torch.nn.Identity()
    scale, zero_point = _parameters(module, observer, place)
    limits = _limits(module, observer, place)
    axis = getattr(observer, "ch_axis", None)
    per_channel = "per_channel" in str(getattr(observer, "qscheme", "")) or scale.numel() > 1
    if "float_qparams" in str(getattr(observer, "qscheme", "")):
        raise Unsupported(f"module {place} has zero points that are no integers (float_qparams)")
    return _Fixed(scale, zero_point, limits, axis if per_channel else None)


def _parameters(module: Any, observer: Any, place: str) -> tuple[Any, Any]:
    """The numbers that forward() would use: those of the module, else of its observer's range."""
    low: Any = getattr(observer, "min_val", None)
    high: Any = getattr(observer, "max_val", None)
    ranged = low is not None and high is not None
    seen = not ranged or (low.numel() > 0 and bool((low <= high).all()))
    has_own = module is not observer and hasattr(module, "scale") and hasattr(module, "zero_point")
    learned = "Learnable" in type(module).__name__
    if learned:
        scale, zero_point = module.calculate_qparams()
    elif has_own and (seen or bool((module.scale != 1).any())):
        untouched = bool((module.scale == 1).all()) and bool((module.zero_point == 0).all())
        scale, zero_point = module.scale, module.zero_point
        if untouched and ranged:
            scale, zero_point = module.calculate_qparams()
    elif seen:
        scale, zero_point = module.calculate_qparams()
    else:
        raise InvalidArgument(
            f"module {place}, a {type(module).__name__}, has seen no data: its range is empty. Run "
            "the prepared model on samples before it is handed over"
        )
    scale, zero_point = scale.detach().flatten().float(), zero_point.detach().flatten()
    return scale, zero_point.round().to(torch.int32)


def _limits(module: Any, observer: Any, place: str) -> tuple[int, int]:
    low = getattr(observer, "quant_min", None)
    high = getattr(observer, "quant_max", None)
    if low is None or high is None:
        low, high = getattr(module, "quant_min", None), getattr(module, "quant_max", None)
    if low is None or high is None:
        raise Unsupported(f"module {place}, a {type(module).__name__}, has no quant_min, quant_max")
    return int(low), int(high)


def _fold_batch_norm(fused: Any) -> None:
    """A convolution or linear layer that was trained with its batch normalization inside.

    Formula: factor = gamma / sqrt(variance + eps); weight = fake_quantize(weight * factor);
             bias = (bias - mean) * factor + beta, as its forward() computes
    """
    bn = fused.bn
    factor = bn.weight.detach() / torch.sqrt(bn.running_var + bn.eps)
    shape = [1] * fused.weight.dim()
    shape[0] = -1
    bias = torch.zeros_like(bn.running_mean) if fused.bias is None else fused.bias.detach()
    fused.weight = torch.nn.Parameter(fused.weight.detach() * factor.reshape(shape))
    fused.bias = torch.nn.Parameter((bias - bn.running_mean) * factor + bn.bias.detach())
    del fused.bn
    _change_class(fused, {"forward": _folded_forward})


def _folded_forward(self: Any, x: Any) -> Any:
    weight = self.weight_fake_quant(self.weight)
    if hasattr(self, "_conv_forward"):
        y = self._conv_forward(x, weight, self.bias)
    else:
        y = torch.nn.functional.linear(x, weight, self.bias)
    return torch.nn.functional.relu(y) if "ReLU" in type(self).__name__ else y


def _change_class(module: Any, attributes: dict[str, Any]) -> None:
    kind = type(module)
    module.__class__ = type(kind.__name__, (kind,), {"__module__": kind.__module__, **attributes})


# Weights of torchao.


def _is_subclass(tensor: Any) -> bool:
    return type(tensor) not in (torch.Tensor, torch.nn.Parameter) and hasattr(
        type(tensor), "__tensor_flatten__"
    )


def _unwrap_weights(module: Any, notes: Notes) -> None:
    for place, owner in module.named_modules():
        for name, parameter in [*owner._parameters.items(), *owner._buffers.items()]:
            if parameter is not None and _is_subclass(parameter):
                _unwrap(owner, name, parameter, f"{place}.{name}" if place else name, notes)


def _unwrap(owner: Any, name: str, weight: Any, place: str, notes: Notes) -> None:
    """The parameter becomes an attribute that dequantizes its integers, which become buffers."""
    kind = type(weight).__name__
    if kind == "Float8Tensor" and getattr(weight, "act_quant_kwargs", None) is None:
        return  # its arithmetic is recognized (torch_patterns.py)
    known = kind in ("Int8Tensor", "IntxUnpackedToInt8Tensor")
    if not known or not hasattr(weight, "qdata") or not hasattr(weight, "scale"):
        raise Unsupported(
            f"tensor {place} is a {type(weight).__module__}.{type(weight).__qualname__}, a form of "
            "quantization that is not known to halfstep; known are torchao's Int8Tensor and "
            "IntxUnpackedToInt8Tensor (Int8WeightOnlyConfig, IntxWeightOnlyConfig and their "
            "configurations with dynamic activations)"
        )
    activations = [
        getattr(weight, attribute, None)
        for attribute in ("act_quant_kwargs", "activation_quantization")
    ]
    if getattr(weight, "act_quant_scale", None) is not None:
        raise Unsupported(f"tensor {place} has a static scale for activations (act_quant_scale)")
    if any(kwargs is not None for kwargs in activations):
        notes.append(
            {
                "severity": "warning",
                "rule": "torch/dynamic-activation",
                "subject": place,
                "message": f"the operand of {place} is quantized at run time (dynamic "
                "quantization): it is float from here on, calibrate to give it an encoding",
            }
        )
    bits = {f"torch.int{n}": n for n in range(1, 9)}.get(
        str(getattr(weight, "target_dtype", "")), 8
    )
    limits = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    zero_point = getattr(weight, "zero_point", None)
    codes, scale = f"{name}_quantized", f"{name}_scale"
    for attributes in (owner._parameters, owner._buffers):
        attributes.pop(name, None)
    owner.register_buffer(codes, weight.qdata.detach())
    owner.register_buffer(scale, weight.scale.detach().float())
    owner.register_buffer(f"{name}_zero_point", None if zero_point is None else zero_point.detach())
    bias = getattr(owner, "bias", None)  # a module that changed its type has weights that did not
    dtype = bias.dtype if isinstance(bias, torch.Tensor) else weight.dtype
    block = list(weight.block_size)

    def dequantized(self: Any) -> Any:
        point = getattr(self, f"{name}_zero_point")
        parameters = (getattr(self, scale), point, 0.0, 0, *limits, -1, block)
        return DEQUANTIZE(getattr(self, codes), *parameters, dtype, False)

    _change_class(owner, {name: property(dequantized)})
