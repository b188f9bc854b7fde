"""Checks the quantized form of a model of large_model_data.py without halfstep: by ONNX's checker,
and by quantizing sampled parts of every weight again with NumPy.

usage: large_model_check.py FLOAT QUANTIZED RECIPE     (ONNX files, or safetensors folders)

Prints what was checked; exit code 1 and the tensor if something differs.
"""

import argparse
import json
import struct
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx

BLOCK = 32
PARTS = 8  # of each weight
SAFETENSORS = {
    "F32": np.float32,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "I32": np.int32,
    "I64": np.int64,
    "I8": np.int8,
    "U8": np.uint8,
}
FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float32)


def fp4_codes(steps: np.ndarray) -> np.ndarray:
    """The nearest e2m1 code, ties to the even one; beyond 6 is 6."""
    distance = np.abs(np.abs(steps)[..., None] - FP4)
    nearest = distance.min(axis=-1, keepdims=True)
    even_first = np.argsort(np.arange(8) % 2, kind="stable")
    magnitude = even_first[np.argmax((distance == nearest)[..., even_first], axis=-1)]
    return np.bitwise_or(magnitude, np.where(np.signbit(steps), 8, 0)).astype(np.uint8)


def expected(values: np.ndarray, recipe: str, unit_axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes and scales of whole units, which lie along `unit_axis`; worked out in float32 as
    DESIGN and docs/numbers.md have the formulas: scale = max / half the steps, nearest even."""
    largest = np.abs(values).max(axis=unit_axis, keepdims=True)
    if recipe == "mxfp4":
        exponent = np.frexp(largest)[1] - 1  # floor(log2), exact
        scale = np.ldexp(np.float32(1), exponent - 2)
        return fp4_codes(values / scale), scale
    low, high = (-8, 7) if recipe == "w4b32" else (-127, 127)
    scale = (largest / np.float32((high - low) / 2)).astype(np.float32)
    return np.clip(np.rint(values / scale), low, high).astype(np.int8), scale


class Mapped:
    """A tensor of a file: parts of it are read when they are asked for."""

    def __init__(self, path: Path, dtype: np.dtype, shape: tuple[int, ...], offset: int) -> None:
        self.shape = shape
        self.values = np.memmap(path, dtype, "r", offset, shape)


Tensors = dict[str, Mapped]


def onnx_tensors(path: Path) -> Tensors:
    """What lies in external data, 4-bit types in bytes of two; other initializers are left out."""
    model = onnx.load(path, load_external_data=False)
    found: Tensors = {}
    types = onnx.TensorProto
    four_bits = (types.INT4, types.FLOAT4E2M1)
    for tensor in model.graph.initializer:
        place = {entry.key: entry.value for entry in tensor.external_data}
        dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)
        shape = tuple(tensor.dims)
        if tensor.data_type in four_bits:
            dtype, shape = np.dtype(np.uint8), (*shape[:-1], shape[-1] // 2)
        if place:
            file = path.parent / place["location"]
            found[tensor.name] = Mapped(file, dtype, shape, int(place["offset"]))
    return found


def safetensors_tensors(folder: Path) -> Tensors:
    found: Tensors = {}
    for path in sorted(folder.glob("*.safetensors")):
        with path.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(length))
        for name, entry in header.items():
            if name != "__metadata__":
                offset = 8 + length + entry["data_offsets"][0]
                dtype = np.dtype(SAFETENSORS[entry["dtype"]])
                found[name] = Mapped(path, dtype, tuple(entry["shape"]), offset)
    return found


def nibbles(packed: np.ndarray) -> np.ndarray:
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:-1], -1)


def signed(codes: np.ndarray) -> np.ndarray:
    return ((codes.astype(np.int8) ^ 8) - 8).astype(np.int8)


def same(name: str, found: np.ndarray, wanted: np.ndarray, what: str) -> None:
    if found.shape != wanted.shape or not np.array_equal(found, wanted):
        differ = (found != wanted).sum() if found.shape == wanted.shape else "all"
        raise SystemExit(f"{name}: {what} differ in {differ} of {wanted.size} sampled places")


def check_onnx(name: str, weight: Mapped, stored: Tensors, recipe: str) -> int:
    """Rows and columns of a MatMul's [in, out]: blocks along axis 0, channels along axis 1 (the
    embedding: rows of [tokens, width] the other way round)."""
    codes, scale = stored[f"{name}_quantized"], stored[f"{name}_scale"]
    rows, columns = weight.shape
    embedding = name == "embedding"
    checked = 0
    for part in range(PARTS):
        if recipe == "w8":
            picked = np.arange(part, rows if embedding else columns, rows // 16)
            index = (picked, slice(None)) if embedding else (slice(None), picked)
            values = np.asarray(weight.values[index], np.float32)
            wanted, wanted_scale = expected(values, recipe, 1 if embedding else 0)
            same(name, codes.values[index], wanted, "codes")
            same(name, scale.values[picked], wanted_scale.reshape(-1), "scales")
            checked += values.size
            continue
        first = rows // PARTS * part // BLOCK * BLOCK
        values = np.asarray(weight.values[first : first + BLOCK], np.float32)
        along_columns = scale.shape == (rows, columns // BLOCK)
        if along_columns:
            wanted, wanted_scale = expected(
                values.reshape(BLOCK, columns // BLOCK, BLOCK), recipe, 2
            )
            found_scale = scale.values[first : first + BLOCK]
        else:
            wanted, wanted_scale = expected(values, recipe, 0)
            found_scale = scale.values[first // BLOCK]
        found = nibbles(codes.values[first : first + BLOCK])
        found = signed(found) if recipe == "w4b32" else found
        same(name, found, wanted.reshape(values.shape), "codes")
        found_scale = found_scale.astype(np.float32)
        same(name, found_scale, wanted_scale.reshape(found_scale.shape), "scales")
        checked += values.size
    return checked


def check_safetensors(name: str, weight: Mapped, stored: Tensors, recipe: str) -> int:
    """Rows of Linear's [out, in]: blocks along axis 1, channels along axis 0."""
    rows, columns = weight.shape
    scale = stored[f"{name}_scale"]
    checked = 0
    for part in range(PARTS):
        picked = slice(rows // PARTS * part, rows // PARTS * part + 16)
        values = np.asarray(weight.values[picked], np.float32)
        blocks = values if recipe == "w8" else values.reshape(16, columns // BLOCK, BLOCK)
        wanted, wanted_scale = expected(blocks, recipe, blocks.ndim - 1)
        if recipe == "w8":
            found = stored[name].values[picked]
        else:
            found = nibbles(np.asarray(stored[f"{name}_packed"].values[picked]).view(np.uint8))
            found = found - np.uint8(8) if recipe == "w4b32" else found
        same(name, found.astype(wanted.dtype), wanted.reshape(values.shape), "codes")
        found_scale = np.asarray(scale.values[picked])
        if recipe == "mxfp4":
            found_scale = np.exp2(found_scale.astype(np.float32) - 127)
        same(name, found_scale, wanted_scale.reshape(found_scale.shape), "scales")
        checked += values.size
    return checked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("original", type=Path)
    parser.add_argument("quantized", type=Path)
    parser.add_argument("recipe", choices=["w4b32", "w8", "mxfp4"])
    arguments = parser.parse_args()
    by_onnx = arguments.original.suffix == ".onnx"
    read: Callable[[Path], Tensors] = onnx_tensors if by_onnx else safetensors_tensors
    check = check_onnx if by_onnx else check_safetensors
    if by_onnx:
        onnx.checker.check_model(arguments.quantized, full_check=True)
    stored = read(arguments.quantized)
    weights = read(arguments.original)
    checked = sum(check(name, weight, stored, arguments.recipe) for name, weight in weights.items())
    print(f"{len(weights)} weights, {checked} values equal" + ", checker passed" * by_onnx)


if __name__ == "__main__":
    main()
