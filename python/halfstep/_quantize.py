"""The whole road and its steps, on models and data in the forms that Python users have them in."""

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Protocol, cast

from halfstep import _core
from halfstep._checks import (
    check_callable,
    check_flag,
    check_integer,
    check_optional_number,
    check_optional_path,
    check_optional_text,
    check_path,
    check_text,
    check_texts,
)
from halfstep._engine import make_onnxruntime_engine
from halfstep._errors import InvalidArgument
from halfstep._samples import Calibration, as_samples

Path = str | PathLike[str]
MOST_THREADS = 1024
MOST_CHECK_SAMPLES = 1_000_000

ProgressCallback = Callable[[str, int, int], object]
"""Called with the phase, the steps done and the steps expected (0: unknown)."""


class SupportsSerialize(Protocol):
    """An onnx.ModelProto, or whatever else serializes to one."""

    def SerializeToString(self) -> bytes: ...  # noqa: N802


ModelLike = Path | bytes | SupportsSerialize | _core.Model


def load(
    model: ModelLike,
    *,
    input_extents: Mapping[str, Sequence[int]] | None = None,
    signature: str | None = None,
    inputs: str | Iterable[str] = (),
    outputs: str | Iterable[str] = (),
) -> _core.Model:
    """The model of a path, of bytes (ONNX or TFLite) or an onnx.ModelProto; a `Model` as it is.

    Paths: ONNX, TFLite; the folder of a TensorFlow SavedModel, a frozen graph (.pb), a Keras file
    (halfstep[tensorflow]); a PyTorch exported program or TorchScript (halfstep[torch]; a module in
    memory: from_torch). The frameworks run in a process of their own. What the source says of
    quantization stands in the model as Q/DQ.

    Args:
        input_extents: of inputs of a TFLite model, where they are others than it was converted
            with: all tensors follow. Of inputs of TorchScript, which may not say them.
        signature: of a SavedModel; None: serving_default.
        inputs, outputs: of a frozen graph, such as "x:0"; none: what nothing writes or reads.

    Errors: InvalidFile (missing, of a form without a graph, truncated, refused by the ONNX
    checker), Unsupported (an operator; the framework is not installed), InvalidArgument (no such
    signature or tensor, extents that the model does not take; an option that this form of model
    does not have).
    """
    extents = {name: list(sizes) for name, sizes in (input_extents or {}).items()}
    if isinstance(model, str | PathLike):
        return _load_path(model, extents, signature, inputs, outputs)[0]
    if signature is not None or inputs or outputs:
        raise InvalidArgument("signature, inputs and outputs are for a path of a TensorFlow model")
    if isinstance(model, bytes | bytearray | memoryview):
        return _core.model_from_bytes(bytes(model), extents)[0]
    if extents:
        raise InvalidArgument("input_extents are for TFLite and TorchScript models")
    if isinstance(model, _core.Model):
        return model
    if hasattr(model, "SerializeToString"):
        return _core.Model.from_bytes(model.SerializeToString())
    if any(base.__module__.startswith("torch.") for base in type(model).__mro__):
        raise InvalidArgument(
            f"model is a {type(model).__name__} of PyTorch; expected "
            "halfstep.from_torch(module, example_inputs)"
        )
    raise InvalidArgument(
        f"model is of type {type(model).__name__}; expected a path, bytes, an onnx.ModelProto or a "
        "halfstep.Model"
    )


def _load_path(
    path: Path,
    extents: Mapping[str, list[int]],
    signature: str | None = None,
    inputs: str | Iterable[str] = (),
    outputs: str | Iterable[str] = (),
) -> tuple[_core.Model, list[_core.Diagnostic]]:
    return _core.load_model(
        path,
        python=os.environ.get("HALFSTEP_PYTHON") or sys.executable or "",
        signature="" if signature is None else check_text("signature", signature),
        inputs=check_texts("inputs", inputs),
        outputs=check_texts("outputs", outputs),
        extents=extents,
    )


def inspect(model: ModelLike) -> dict[str, Any]:
    """What is in a model, as plain values.

    Operators with counts, inputs, outputs, opsets, weights by type in values and bytes, the biggest
    weights, encodings it carries already, and under "diagnostics" the traps on the way to a
    quantized model.

    Errors: as load().
    """
    return _core.inspect(load(model))


def quantize(
    model: ModelLike,
    calibration: Calibration = None,
    recipe: Path | None = None,
    target: Path = "cpu",
    output: Path | None = None,
    *,
    encodings: Path | None = None,
    encodings_out: Path | None = None,
    method: str | None = None,
    percentile: float | None = None,
    stats: Path | None = None,
    set: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    threads: int = 1,
    dry_run: bool = False,
    check: bool = True,
    check_samples: int = 4,
    strict: bool = False,
    lenient: bool = False,
    fallback: bool = False,
    skip: str | Iterable[str] = (),
    force: bool = False,
    cast_inputs: bool = False,
    progress: ProgressCallback | None = None,
) -> _core.QuantizeResult:
    """The quantized model: load, check, calibrate, adapt to the target, write, measure.

    Args:
        model: path, bytes, onnx.ModelProto or halfstep.Model (which is left as it is); or the path
            of a safetensors file or of a folder of them (weight-only recipes; `output` is a file or
            folder like it).
        calibration: a folder or .npz file; an iterable of dicts of arrays by input name (also a
            generator: samples are taken one by one); for models of one input an iterable of arrays;
            or all samples in one array per input. None for weight-only recipes.
        recipe: name of a shipped recipe or path of a recipe file. None: a8w8, or nothing beside
            `encodings` where there is no calibration.
        target: name of a shipped target or path of a target file.
        output: where the Q/DQ model is written; None keeps it in memory only.
        encodings: an encodings file of any version. It wins over the model's own Q/DQ (which are
            taken over), over recipe and calibration; summary["overrides"] accounts for each entry.
        encodings_out: where the encodings are written (version 2.0.0).
        method: how ranges of activations are chosen from the samples: minmax, moving_average,
            percentile, entropy, mse, sqnr. None: what the recipe or `stats` say.
        percentile: of method percentile, above 50 and at most 100; None: 99.99.
        stats: statistics that calibrate() saved, in place of `calibration`, whose samples are then
            for the check only.
        set: rules as on the command line, such as "tensor:m act=uint16"; later ones win.
        exclude: globs on node names, tensor names and op types that stay float.
        threads: 1 to 1024; the result does not depend on it.
        dry_run: decide everything and report it; nothing is written, and no sample is read.
        check: run the result on up to `check_samples` samples and measure it (SQNR in dB).
        strict: warnings are errors.
        lenient: entries of `encodings` for tensors that the model lacks are warnings.
        fallback: operators whose symmetry or granularity no kernel of the target takes move to the
            nearest precision that does, instead of being errors.
        skip: names of steps to leave out, such as "fold-batch-norm" (`halfstep convert` in the
            documentation of the command lists them).
        force: overwrite existing outputs.
        cast_inputs: allow conversion of samples to the type of the input.
        progress: called with phase, steps done, steps expected. What it raises stops the work.

    Returns: a QuantizeResult with model, encodings, summary (a dict) and diagnostics; of
    safetensors files a TensorsResult, the same without a model.

    Errors: InvalidArgument (recipe, target, option, an argument of another type, an output that is
    an input), InvalidFile (model, samples), Unsupported
    (target or engine), NothingToDo (no tensor would change), IoError. What the iterable or
    `progress` raises arrives as it was raised. Outputs appear only when everything succeeded.
    """
    alone = encodings is not None and calibration is None and stats is None
    standard = "" if alone else "a8w8"
    request = wishes(
        recipe=standard if recipe is None else check_path("recipe", recipe),
        target=target,
        method=method,
        percentile=percentile,
        encodings=encodings,
        set=set,
        exclude=exclude,
        skip=skip,
        threads=threads,
        strict=strict,
        lenient=lenient,
        force=force,
    )
    request.output = check_optional_path("output", output)
    request.encodings_out = check_optional_path("encodings_out", encodings_out)
    request.stats = check_optional_path("stats", stats)
    request.dry_run = check_flag("dry_run", dry_run)
    request.check = check_flag("check", check)
    request.check_samples = check_integer("check_samples", check_samples, 1, MOST_CHECK_SAMPLES)
    request.fallback = check_flag("fallback", fallback)
    request.defer_weights = True
    cast_inputs = check_flag("cast_inputs", cast_inputs)
    check_callable("progress", progress)
    if isinstance(model, str | PathLike) and _core.is_safetensors(model):
        if calibration is not None:
            raise InvalidArgument(
                "calibration is about models with a graph, and safetensors files have none"
            )
        if output is None and not dry_run:
            raise InvalidArgument(
                "safetensors files become files: give output=, or dry_run=True to see the plan only"
            )
        tensors = _core.quantize_tensors(model, request, progress=progress)
        return cast(_core.QuantizeResult, tensors)
    loaded, loading = load_with_diagnostics(model, strict)
    runs = calibration is not None and not dry_run
    return _core.quantize(
        loaded,
        make_onnxruntime_engine() if runs else None,
        as_samples(calibration, _core.sample_inputs(loaded)),
        request,
        loading,
        cast_inputs=cast_inputs,
        progress=progress,
    )


def wishes(
    *,
    recipe: str,
    target: Path,
    method: str | None,
    percentile: float | None,
    encodings: Path | None,
    set: str | Iterable[str],
    exclude: str | Iterable[str],
    skip: str | Iterable[str],
    threads: int,
    strict: bool,
    lenient: bool,
    force: bool,
) -> _core.QuantizeRequest:
    """What quantize() and calibrate() are asked alike, checked."""
    request = _core.QuantizeRequest()
    request.recipe = recipe
    request.target = check_path("target", target)
    request.method = check_optional_text("method", method)
    request.percentile = check_optional_number("percentile", percentile)
    request.encodings = check_optional_path("encodings", encodings)
    request.set = check_texts("set", set)
    request.exclude = check_texts("exclude", exclude)
    request.skip = check_texts("skip", skip)
    request.threads = check_integer("threads", threads, 1, MOST_THREADS)
    request.strict = check_flag("strict", strict)
    request.lenient = check_flag("lenient", lenient)
    request.force = check_flag("force", force)
    return request


def load_with_diagnostics(
    model: ModelLike, strict: bool
) -> tuple[_core.Model, list[_core.Diagnostic]]:
    """The model, and what is worth saying about its file."""
    if not isinstance(model, str | PathLike):
        return load(model), []
    loaded, diagnostics = _load_path(model, {})
    warnings = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "warning"]
    if strict and warnings:
        raise InvalidArgument(f"strict: {warnings[0]}")
    return loaded, diagnostics
