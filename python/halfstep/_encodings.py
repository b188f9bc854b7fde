"""Encodings files: read, check, compare, convert, merge, take from a model, apply to a model."""

from collections.abc import Iterable

from halfstep import _core
from halfstep._quantize import ModelLike, Path, load, quantize


def read_encodings(
    path: Path, model: ModelLike | None = None, *, lenient: bool = False
) -> _core.EncodingsFile:
    """Reads an encodings file of any version (none, 0.x, 1.x, 2.x).

    Args:
        path: the file.
        model: the model it belongs to, float or with Q/DQ; its graph decides what a tensor is.
            None: every name is taken, and the channel axis of files before 2.0.0 stays unknown.
        lenient: names that the model lacks are warnings, and left out.

    Errors: InvalidFile with the place in the file, the tensor and the reason.

    Source: QAIRT quantization specification, appendix C, and the files that AIMET writes.
    """
    return _core.read_encodings(path, _loaded(model), lenient=lenient)


def lint_encodings(
    path: Path, model: ModelLike | None = None, *, lenient: bool = False
) -> list[_core.Diagnostic]:
    """All that can be said about a file: faults (severity "error"), what is doubtful ("warning"),
    what was read in a tolerant way ("note").

    Errors: InvalidFile only if there is no such file.
    """
    return _core.lint_encodings(path, _loaded(model), lenient)


def diff_encodings(
    first: Path,
    second: Path,
    model: ModelLike | None = None,
    *,
    lenient: bool = False,
    tolerance: float = 1e-6,
    common: bool = False,
) -> list[_core.EncodingDifference]:
    """Where two files differ in meaning, by name; empty if they mean the same.

    Args:
        tolerance: relative, of scales.
        common: only tensors that both files speak of.

    Errors: as read_encodings().
    """
    return _core.diff_encodings(first, second, _loaded(model), lenient, tolerance, common)


def convert_encodings(
    path: Path, version: str = "2.0.0", model: ModelLike | None = None, *, lenient: bool = False
) -> str:
    """The text of a file in another version: 2.0.0, 2.1.0, 1.0.0 or 0.6.1.

    Errors: as read_encodings(); Unsupported naming the tensors that the version cannot express, or
    that need the model.
    """
    return merge_encodings([path], version, model, lenient=lenient)


def merge_encodings(
    paths: Iterable[Path],
    version: str = "2.0.0",
    model: ModelLike | None = None,
    *,
    lenient: bool = False,
) -> str:
    """The text of one file out of several; of a tensor in more than one the last counts.

    Errors: as convert_encodings().
    """
    text, _ = _core.merge_encodings(list(paths), version, _loaded(model), lenient)
    return text


def extract_encodings(
    model: ModelLike,
) -> tuple[_core.Model, _core.EncodingTable, list[_core.Diagnostic]]:
    """The model without its Q/DQ and integer operators, what they said, and what had to stay.

    Writing the result with write_qdq() computes the same.

    Errors: as load(); NothingToDo if the model has none.
    """
    return _core.extract_encodings(load(model))


def apply_encodings(
    model: ModelLike,
    encodings: Path,
    output: Path | None = None,
    *,
    strict: bool = False,
    lenient: bool = False,
    force: bool = False,
) -> _core.QuantizeResult:
    """The model with the encodings of a file, as Q/DQ; everything else stays float.

    The result's summary["overrides"] accounts for each entry: applied, adapted, or unused and why.

    Errors: as quantize() and read_encodings().
    """
    return quantize(
        model,
        output=output,
        encodings=encodings,
        check=False,
        strict=strict,
        lenient=lenient,
        force=force,
    )


def _loaded(model: ModelLike | None) -> _core.Model | None:
    return None if model is None else load(model)
