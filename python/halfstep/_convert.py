"""From a model with encodings to what a target runs, and why it became so."""

from collections.abc import Iterable
from typing import Any

from halfstep import _core
from halfstep._checks import (
    check_callable,
    check_flag,
    check_integer,
    check_optional_path,
    check_path,
    check_text,
    check_texts,
)
from halfstep._engine import find_onnxruntime
from halfstep._quantize import (
    MOST_THREADS,
    ModelLike,
    Path,
    ProgressCallback,
    load,
    load_with_diagnostics,
)


def convert(
    model: ModelLike,
    quantization_overrides: Path | None = None,
    target_backend: str | None = None,
    htp_arch: str | None = None,
    target: Path | None = None,
    output: Path | None = None,
    *,
    encodings_out: Path | None = None,
    fallback: bool = False,
    skip: str | Iterable[str] = (),
    threads: int = 1,
    dry_run: bool = False,
    strict: bool = False,
    lenient: bool = False,
    force: bool = False,
    progress: ProgressCallback | None = None,
) -> _core.QuantizeResult:
    """Make a model with encodings run on a target.

    Takes what is known of the model (its own Q/DQ, and a file that wins over it), adapts it to what
    the target's kernels take, and writes it as Q/DQ. The command is `halfstep convert`.

    Parameters
    ----------
    model : path, bytes, onnx.ModelProto or Model
        The model, float or with Q/DQ. A Model is left as it is.
    quantization_overrides : path, optional
        An encodings file of any version. It wins over the model; summary["overrides"] accounts for
        each entry.
    target_backend : str, optional
        "HTP", "LPAI" or "CPU", in any case. Without it (and without htp_arch and target) encodings
        are applied as they are.
    htp_arch : str, optional
        "v68" to "v81", also without the v. With the backend HTP alone it is v75, which
        summary["remark"] says.
    target : path or str, optional
        A shipped target (see targets()) or a target file, in place of backend and arch.
    output : path, optional
        Where the adapted model is written; None keeps it in memory only.
    encodings_out : path, optional
        Where its encodings are written (version 2.0.0).
    fallback : bool
        Operators whose symmetry or granularity no kernel takes move to the nearest precision that
        does, instead of being errors.
    skip : str or iterable of str
        Names of steps to leave out, such as "fold-batch-norm" or "super-groups".
    threads : int
        1 to 1024; the result does not depend on it.
    dry_run : bool
        Decide everything, write nothing.
    strict : bool
        Warnings are errors.
    lenient : bool
        Entries of the overrides for tensors that the model lacks are warnings.
    force : bool
        Overwrite existing outputs.
    progress : callable, optional
        Called with phase, steps done, steps expected. What it raises stops the work.

    Returns
    -------
    QuantizeResult
        The adapted model, its encodings, summary (a dict) and diagnostics: every decision with its
        rule.

    Raises
    ------
    InvalidArgument
        An unknown backend, arch, target or step (with the closest one), an argument of another
        type, an output that exists or is an input.
    InvalidFile
        The model or the encodings file.
    Unsupported
        The target can't run the model; every node is listed with its rule.
    """
    request = _core.ConvertRequest()
    request.quantization_overrides = check_optional_path(
        "quantization_overrides", quantization_overrides
    )
    request.target_backend = _optional_text("target_backend", target_backend)
    request.htp_arch = _optional_text("htp_arch", htp_arch)
    request.target = check_optional_path("target", target)
    request.output = check_optional_path("output", output)
    request.encodings_out = check_optional_path("encodings_out", encodings_out)
    request.fallback = check_flag("fallback", fallback)
    request.skip = check_texts("skip", skip)
    request.threads = check_integer("threads", threads, 1, MOST_THREADS)
    request.dry_run = check_flag("dry_run", dry_run)
    request.strict = check_flag("strict", strict)
    request.lenient = check_flag("lenient", lenient)
    request.force = check_flag("force", force)
    check_callable("progress", progress)
    loaded, loading = load_with_diagnostics(model, strict)
    return _core.convert(loaded, find_onnxruntime(), request, loading, progress=progress)


def explain(model: ModelLike, name: str | None = None) -> dict[str, Any]:
    """What was decided about an adapted model.

    Parameters
    ----------
    model : path, bytes, onnx.ModelProto or Model
        A model that convert() or quantize() adapted to a target.
    name : str, optional
        A tensor or node. None: everything.

    Returns
    -------
    dict
        "target"; "name"; "encoding" of the tensor in words; "decisions", in order, each with
        "severity", "rule", "subject" and "message"; "totals": how often by rule.

    Raises
    ------
    NothingToDo
        No decisions are recorded in the model.
    InvalidArgument
        The model has no such tensor or node; the closest one is named.
    """
    return _core.explain(load(model), _optional_text("name", name))


def rule(id: str) -> str:
    """The page about a diagnostic: what happened, why, what to do.

    Parameters
    ----------
    id : str
        The rule of a Diagnostic, such as "adapt/convert".

    Raises
    ------
    InvalidArgument
        There is no such rule; the closest one is named.
    """
    return _core.rule(check_text("id", id))


def targets(name: Path | None = None) -> dict[str, Any]:
    """The shipped targets, or what one can run.

    Parameters
    ----------
    name : str or path, optional
        A shipped target or a target file. None: all shipped ones.

    Returns
    -------
    dict
        Of None: name -> summary. Of a target: "name", "summary", "source", "default_float", "arch",
        "ops", "kernels", "data_movement" and "super_groups".

    Raises
    ------
    InvalidArgument
        There is no such target (the closest one is named), or its file is wrong.
    """
    return _core.targets() if name is None else _core.target(check_path("name", name))


def _optional_text(name: str, value: object) -> str:
    return "" if value is None else check_text(name, value)
