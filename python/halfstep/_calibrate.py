"""What tensors show on samples: as a result, or saved for later, in parts if need be."""

import tempfile
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path as FilePath
from typing import Any, overload

from halfstep import _core
from halfstep._checks import (
    check_callable,
    check_flag,
    check_integer,
    check_optional_path,
    check_path,
    check_texts,
)
from halfstep._engine import make_onnxruntime_engine
from halfstep._errors import InvalidArgument
from halfstep._quantize import (
    MOST_THREADS,
    ModelLike,
    Path,
    ProgressCallback,
    load,
    load_with_diagnostics,
    wishes,
)
from halfstep._samples import Calibration, as_samples

Tensors = Iterable[str] | Mapping[str, Mapping[str, Any]]
StatisticsLike = Path | bytes | _core.Statistics


@overload
def calibrate(
    model: ModelLike,
    calibration: Calibration,
    tensors: Tensors,
    *,
    engine: _core.Engine | None = None,
    threads: int = 1,
    cast_inputs: bool = False,
    progress: ProgressCallback | None = None,
) -> _core.CalibrationResult: ...
@overload
def calibrate(
    model: ModelLike,
    calibration: Calibration,
    tensors: None = None,
    *,
    output: Path | None = None,
    recipe: Path | None = None,
    target: Path = "cpu",
    method: str | None = None,
    percentile: float | None = None,
    encodings: Path | None = None,
    resume: Path | None = None,
    set: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    skip: str | Iterable[str] = (),
    strict: bool = False,
    lenient: bool = False,
    force: bool = False,
    engine: _core.Engine | None = None,
    threads: int = 1,
    cast_inputs: bool = False,
    progress: ProgressCallback | None = None,
) -> _core.Statistics: ...
def calibrate(
    model: ModelLike,
    calibration: Calibration,
    tensors: Tensors | None = None,
    *,
    output: Path | None = None,
    recipe: Path | None = None,
    target: Path = "cpu",
    method: str | None = None,
    percentile: float | None = None,
    encodings: Path | None = None,
    resume: Path | None = None,
    set: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    skip: str | Iterable[str] = (),
    strict: bool = False,
    lenient: bool = False,
    force: bool = False,
    engine: _core.Engine | None = None,
    threads: int = 1,
    cast_inputs: bool = False,
    progress: ProgressCallback | None = None,
) -> _core.CalibrationResult | _core.Statistics:
    """What the float model's tensors show over all samples.

    Without `tensors`: everything that quantize() with the same recipe, target, method and encodings
    needs of samples, as Statistics that can be saved, merged and passed on as `stats`. With them: a
    CalibrationResult of these tensors alone.

    Args:
        model, calibration, recipe, target, method, percentile, encodings, set, exclude, skip,
            strict, lenient, force, threads, cast_inputs, progress: as for quantize().
        tensors: names of float tensors, or the wanted QuantizationSpec (as a dict) by name, whose
            calculators and float_range count here. Names alone: the range over all samples.
        output: where the statistics are saved; None: they are only returned.
        resume: statistics of other samples to go on from.
        engine: None for ONNX Runtime.

    Memory does not grow with the number of samples. NaN and infinity that arise inside the network,
    and masks beyond 1e30, are left out, counted and named.

    Errors: InvalidArgument (unknown tensor, spec, recipe; statistics of another model or method),
    InvalidFile (samples, damaged statistics), Unsupported (engine), NothingToDo (no activation is
    quantized).
    """
    threads = check_integer("threads", threads, 1, MOST_THREADS)
    cast_inputs = check_flag("cast_inputs", cast_inputs)
    check_callable("progress", progress)
    if tensors is not None:
        for name, value in {"output": output, "recipe": recipe, "resume": resume}.items():
            if value is not None:
                raise InvalidArgument(f"{name} is for statistics of a recipe; leave tensors out")
        return _observe(model, calibration, tensors, engine, threads, cast_inputs, progress)
    request = wishes(
        recipe="a8w8" if recipe is None else check_path("recipe", recipe),
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
    request.resume = check_optional_path("resume", resume)
    loaded, loading = load_with_diagnostics(model, strict)
    samples = as_samples(calibration, _core.sample_inputs(loaded))
    if samples is None:
        raise InvalidArgument("calibration is None; expected a path or an iterable of samples")
    with tempfile.TemporaryDirectory(prefix="halfstep-") as folder:
        saved = check_optional_path("output", output) or str(FilePath(folder) / "statistics")
        request.stats_out = saved
        _core.quantize(
            loaded,
            engine or make_onnxruntime_engine(),
            samples,
            request,
            loading,
            cast_inputs=cast_inputs,
            progress=progress,
        )
        return _core.read_statistics(saved)


def _observe(
    model: ModelLike,
    calibration: Calibration,
    tensors: Tensors,
    engine: _core.Engine | None,
    threads: int,
    cast_inputs: bool,
    progress: ProgressCallback | None,
) -> _core.CalibrationResult:
    loaded = load(model)
    if not isinstance(tensors, Mapping):
        whole = {"qparam_calculator_cls": "global_minmax", "policy": "safe"}
        tensors = dict.fromkeys(check_texts("tensors", tensors), whole)
    return _core.calibrate(
        loaded,
        engine or make_onnxruntime_engine(),
        as_samples(calibration, _core.sample_inputs(loaded)),
        {name: dict(spec) for name, spec in tensors.items()},
        threads=threads,
        cast_inputs=cast_inputs,
        progress=progress,
    )


def read_statistics(statistics: StatisticsLike) -> _core.Statistics:
    """Statistics that calibrate() saved, from a path or the bytes of a file.

    Errors: InvalidFile (another kind of file, truncated, damaged, of another version of halfstep).
    """
    if isinstance(statistics, _core.Statistics):
        return statistics
    if isinstance(statistics, bytes | bytearray | memoryview):
        return _core.statistics_from_bytes(bytes(statistics), "statistics")
    if isinstance(statistics, str | PathLike):
        return _core.read_statistics(check_path("statistics", statistics))
    raise InvalidArgument(
        f"statistics are of type {type(statistics).__name__}; expected a path, bytes or Statistics"
    )


def merge_statistics(parts: Iterable[StatisticsLike]) -> _core.Statistics:
    """The statistics of all samples of several parts, in any order.

    The result has the bytes of one run over all samples.

    Errors: InvalidArgument naming the part that is of another model, engine or method, Unsupported
    for moving_average, which depends on the order; those of read_statistics().
    """
    listed = list(parts)
    names = [
        str(part) if isinstance(part, str | PathLike) else f"parts[{i}]"
        for i, part in enumerate(listed)
    ]
    return _core.merge_statistics([read_statistics(part) for part in listed], names)
