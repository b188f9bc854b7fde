"""Programs and TorchScript from files. Nothing that a file holds is executed.

torch.export.load reads some records with pickle and evaluates expressions of extents. Pickles are
read with weights_only (TORCH_FORCE_WEIGHTS_ONLY_LOAD, which every torch.load obeys), objects of
classes are refused, and so is every expression that is more than arithmetic.
"""

import contextlib
import json
import os
import pickletools
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from halfstep._errors import InvalidArgument, InvalidFile, Unsupported

EXPORT = "torch.export.save(torch.export.export(model.eval(), (example,)), 'model.pt2')"
_SYMBOL = re.compile(r"[a-z]+\d+")
_WRITTEN_SYMBOL = re.compile(r"Symbol\('([a-z]+\d+)'(?:, [a-z_]+=(?:True|False))*\)")
_FUNCTIONS = frozenset(
    """
    Abs Add And BooleanFalse BooleanTrue CeilToInt CleanDiv Equality Eq FloorDiv FloorToInt Ge
    Gt GreaterThan IntTrueDiv Integer Le LessThan Lt Max Min Mod Mul Ne Not Or Piecewise Pow
    PowByNatural PythonMod Rational RoundToInt StrictGreaterThan StrictLessThan ToFloat
    TruncToInt Unequality Where ceiling false floor int_oo oo true
    """.split()  # noqa: SIM905
)


def program_of(
    path: str, input_shapes: Mapping[str, Sequence[int]] | None = None
) -> tuple[Any, list[str]]:
    """The torch.export.ExportedProgram in a .pt2 file, or of the TorchScript in a .pt file.

    Beside it, for TorchScript, the names of the inputs: those of the arguments of forward(). Only
    TorchScript needs extents; a program has its own, which a later step may change.
    """
    kind = _kind(path)
    if kind == "program":
        return _program(path), []
    if kind == "script":
        return _script(path, input_shapes or {})
    what = {
        "state": "a state_dict: it has tensors, but no program",
        "pickle": "a pickled module: reading it would run code, and it needs the module's classes",
    }[kind]
    raise Unsupported(
        f"{what}. Build the module in Python, then give it to halfstep.from_torch(module, "
        f"example_inputs), or save its program: {EXPORT}"
    )


def _kind(path: str) -> str:
    if not zipfile.is_zipfile(path):
        with open(path, "rb") as file:
            head = file.read(4096)
        if head[:1] == b"\x80":
            return "pickle"
        raise InvalidFile("it is no file of PyTorch; expected a zip archive")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if "serialized_exported_program.json" in names or any(
            name.endswith(("/archive_format", "/models/model.json")) for name in names
        ):
            return "program"
        if any("/code/" in name for name in names):
            return "script"
        data = [name for name in names if name.endswith("data.pkl")]
        if not data:
            raise InvalidFile(
                "it is a zip archive, but no program of torch.export, no TorchScript and no "
                "checkpoint of PyTorch"
            )
        return "state" if _is_state(archive.read(data[0])) else "pickle"


def _is_state(pickled: bytes) -> bool:
    """Does the pickle only make containers and tensors? It is looked at, not run."""
    plain = ("collections", "torch", "torch._utils", "torch._tensor", "torch.storage")
    try:
        for opcode, argument, _ in pickletools.genops(pickled):
            if opcode.name == "GLOBAL" and str(argument).split(" ")[0] not in plain:
                return False
            if opcode.name in ("STACK_GLOBAL", "INST", "OBJ", "NEWOBJ"):
                return False
    except (ValueError, IndexError):
        raise InvalidFile("its data.pkl is damaged") from None
    return True


# Programs.


def _program(path: str) -> Any:
    _check_archive(path)
    _register_operators()
    try:
        with _only_weights():
            return torch.export.load(path)
    except Exception as error:
        text = str(error).strip().splitlines()
        cause = error.__cause__ or error.__context__
        reason = next((line.strip() for line in str(cause or "").splitlines() if line.strip()), "")
        summary = f"{text[0] if text else type(error).__name__} {reason}"[:500]
        raise InvalidFile(
            f"torch {torch.__version__} can't read the program: {summary}. Operators of a library "
            "that is not imported here can't be read"
        ) from error


@contextlib.contextmanager
def _only_weights() -> Iterator[None]:
    name = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _register_operators() -> None:
    """Operators and tensor types that quantized programs are made of."""
    for module in ("torch.ao.quantization.fx._decomposed", "torchao", "torchao.quantization"):
        with contextlib.suppress(ImportError):
            __import__(module)


def _check_archive(path: str) -> None:
    try:
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if not name.endswith(".json"):
                    continue
                content = json.loads(archive.read(name))
                if "constants_config" in name:
                    _refuse_objects(content)
                _check_expressions(content)
    except InvalidFile:
        raise
    except (zipfile.BadZipFile, ValueError, RecursionError, EOFError) as error:
        raise InvalidFile(f"the archive is damaged: {error}") from error


def _refuse_objects(config: Any) -> None:
    entries = config.get("config", {}) if isinstance(config, dict) else {}
    for name, entry in entries.items():
        path = str(entry.get("path_name", "")) if isinstance(entry, dict) else ""
        if not path.startswith("tensor_"):
            raise Unsupported(
                f"constant {name} is an object of a class, not a tensor ({path}); reading it could "
                "run code"
            )


def _check_expressions(node: Any) -> None:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "expr_str" or (key in ("as_expr", "expr") and isinstance(value, str)):
                _check_expression(value)
            _check_expressions(value)
    elif isinstance(node, list):
        for value in node:
            _check_expressions(value)


def _check_expression(text: Any) -> None:
    """torch evaluates it."""
    short = _WRITTEN_SYMBOL.sub(r"\1", text) if isinstance(text, str) else "?"
    plain = re.fullmatch(r"[\w\s+\-*/%(),<>=&|~.]*", short)
    words = re.findall(r"[A-Za-z_]\w*", short)
    known = all(_SYMBOL.fullmatch(word) or word in _FUNCTIONS for word in words)
    if not plain or not known or re.search(r"[A-Za-z_)]\s*\.|\.\s*[A-Za-z_]", short):
        raise InvalidFile(f"an extent is {str(text)[:80]!r}; expected arithmetic on extents")


# TorchScript.


def _script(path: str, input_shapes: Mapping[str, Sequence[int]]) -> tuple[Any, list[str]]:
    try:
        module = torch.jit.load(path, map_location="cpu", _restore_shapes=True)
    except Exception as error:
        raise InvalidFile(
            f"torch {torch.__version__} can't read the TorchScript: {error}"
        ) from error
    module.eval()
    entries = _entries(module, input_shapes)
    arguments = tuple(_example(entry, input_shapes) for entry in entries)
    try:
        from torch._export.converter import TS2EPConverter

        _let_fake_quantization_be_traced()
        converted = TS2EPConverter(module, arguments).convert().module()
        program = torch.export.export(converted, arguments, strict=False)
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = lines[0][:200] if lines else type(error).__name__
        raise Unsupported(
            f"torch can't make a program of this TorchScript ({reason}). "
            f"Export the module that it came from: {EXPORT}"
        ) from error
    return program, [name for name, _ in entries]


def _let_fake_quantization_be_traced() -> None:
    """torch has no shapes for what its fake_quantize functions are made of."""

    def shapes(x: Any, *parameters: Any) -> tuple[Any, Any]:
        return torch.empty_like(x), torch.empty_like(x, dtype=torch.bool)

    for name in (
        "fake_quantize_per_tensor_affine_cachemask",
        "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams",
        "fake_quantize_per_channel_affine_cachemask",
    ):
        with contextlib.suppress(RuntimeError):  # a torch that has them
            torch.library.register_fake(f"aten::{name}", shapes)


def _entries(module: Any, input_shapes: Mapping[str, Sequence[int]]) -> list[tuple[str, Any]]:
    """Name and recorded type of each argument of forward()."""
    names = [argument.name for argument in module.forward.schema.arguments[1:]]
    unknown = set(input_shapes) - set(names)
    if unknown:
        raise InvalidArgument(
            f"the TorchScript has no input {sorted(unknown)[0]}; it has {', '.join(names)}"
        )
    types = [value.type() for value in module.graph.inputs()][1:]
    return list(zip(names, types, strict=True))


def _example(entry: tuple[str, Any], input_shapes: Mapping[str, Sequence[int]]) -> Any:
    name, recorded = entry
    if recorded.kind() != "TensorType":
        raise Unsupported(f"input {name} is of type {recorded.annotation_str}; expected a tensor")
    shape = input_shapes.get(name)
    shape = recorded.sizes() if shape is None else shape
    if shape is None or any(not isinstance(extent, int) or extent < 1 for extent in shape):
        raise Unsupported(
            f"the TorchScript does not say what shape its input {name} has. Give it with "
            f"-d {name} 1,3,224,224 (input_extents in Python), or export the module that it "
            f"came from: {EXPORT}"
        )
    return torch.zeros(list(shape), dtype=recorded.dtype() or torch.float32)
