"""Live PyTorch models. torch itself is imported only when one is handed over."""

import importlib.util
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from halfstep import _core
from halfstep._errors import Unsupported
from halfstep._quantize import load

_NEEDED = ("torch", "onnxscript", "onnx_ir", "onnx")


def _installed(name: str) -> bool:
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.origin is not None  # a folder of that name is no package


def from_torch(
    module: Any,
    example_inputs: Any = (),
    dynamic_shapes: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
) -> _core.Model:
    """The model of a PyTorch module, or of a program that torch.export made.

    What is quantized arrives with its encodings, as QuantizeLinear and DequantizeLinear, and every
    function takes them from there (extract_encodings, convert, quantize, verify):

    * programs that prepare_pt2e and convert_pt2e made
    * observers and fake quantizers of torch.ao and torchao, with the ranges that they have seen,
      and the fake_quantize functions of torch
    * weights of torchao.quantization.quantize_ (int8, int4 and other widths, float8): the integers
      are those of the source

    Parameters
    ----------
    module : torch.nn.Module or torch.export.ExportedProgram
        Left as it is. A module is taken in evaluation mode.
    example_inputs : tensor or tuple
        Arguments of forward(); their shapes are those of the model. A program needs none.
    dynamic_shapes : optional
        As for torch.export.export: which extents are open. A name in place of a torch.export.Dim
        is a Dim.DYNAMIC with that name: `{"x": {0: "batch"}}`. Names of Dim objects are kept, the
        first open axis of an input without one is called "batch".
    kwargs : mapping, optional
        Keyword arguments of forward().

    Returns
    -------
    Model
        Constants are called as the parameters of the module ("conv1.weight"), other tensors as the
        nodes of the exported graph.

    Raises
    ------
    Unsupported
        torch is not installed; an operator or a form of quantization that is not known, by name;
        what torch.export can't take.
    InvalidArgument
        An observer that has seen no data; inputs of another type.

    Activations that are quantized with scales known at run time only are float, which a
    UserWarning says.
    """
    missing = [name for name in _NEEDED if not _installed(name)]
    if missing:
        raise Unsupported(
            f"PyTorch models need {', '.join(missing)}, which the extra brings: "
            "pip install 'halfstep[torch]'"
        )
    from halfstep._frontend import torch as frontend

    notes: list[dict[str, str]] = []
    inputs = frontend.check_inputs(example_inputs)
    model = frontend.model_of(module, inputs, dict(kwargs or {}), dynamic_shapes, notes)
    for note in notes:
        if note["severity"] == "warning":
            warnings.warn(f"{note['message']} [{note['rule']}]", stacklevel=2)
    with tempfile.TemporaryDirectory(prefix="halfstep-") as folder:
        path = Path(folder, "model.onnx")
        external = frontend.write(model, str(path))  # big weights stay mapped when they are gone
        return load(path if external else path.read_bytes())
