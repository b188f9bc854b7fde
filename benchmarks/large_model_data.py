"""Makes a model of any size with external data: an embedding, then pairs of MatMuls as in the
feed-forward blocks of a transformer. The weights are random, the same ones on every machine.

usage: large_model_data.py FOLDER --gigabytes N [--dtype float32|float16|bfloat16]
                           [--form onnx|safetensors] [--width D]

Writes FOLDER/model.onnx and model.onnx.data, or FOLDER/model-0000i-of-0000n.safetensors with
model.safetensors.index.json (files of at most 2 GB). Memory: one block of random values.
"""

import argparse
import json
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

BLOCK = 1 << 20  # values that are made at once
SHARD = 2 * 10**9  # bytes of a safetensors file
ONNX_TYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
}
SAFETENSORS_TYPES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}


def raw(values: np.ndarray, dtype: str) -> bytes:
    """The bytes of float32 values in `dtype`; bfloat16 by cutting off."""
    if dtype == "bfloat16":
        return (values.view(np.uint32) >> 16).astype("<u2").tobytes()
    return values.astype({"float32": "<f4", "float16": "<f2"}[dtype]).tobytes()


def blocks(shape: tuple[int, int], index: int, dtype: str) -> Iterator[bytes]:
    """The bytes of a random tensor: one block of normal values, turned and scaled anew each time,
    with a few large ones."""
    base = np.random.default_rng(index).standard_normal(BLOCK).astype(np.float32) * np.float32(0.02)
    base[:: BLOCK // 64] *= 20
    left = shape[0] * shape[1]
    step = 0
    while left > 0:
        values = np.roll(base, 7919 * step) * np.float32(1 + step % 13 / 8)
        yield raw(values[:left], dtype)
        left -= BLOCK
        step += 1


def tensors(gigabytes: float, width: int, dtype: str) -> list[tuple[str, tuple[int, int]]]:
    """Names and shapes, as many as fill the size."""
    value_bytes = 4 if dtype == "float32" else 2
    found = [("embedding", (8 * width, width))]
    size = 8 * width * width * value_bytes
    layer = 0
    while size + 8 * width * width * value_bytes <= gigabytes * 1e9 or layer == 0:
        found.append((f"layers.{layer}.up", (width, 4 * width)))
        found.append((f"layers.{layer}.down", (4 * width, width)))
        size += 8 * width * width * value_bytes
        layer += 1
    return found


def graph(weights: list[onnx.TensorProto], dtype: str) -> onnx.ModelProto:
    nodes = [helper.make_node("Gather", ["embedding", "tokens"], ["x0"], "embed")]
    layers = (len(weights) - 1) // 2
    for i in range(layers):
        name = f"layers.{i}"
        nodes += [
            helper.make_node("MatMul", [f"x{i}", f"{name}.up"], [f"u{i}"], f"{name}.up_product"),
            helper.make_node("Relu", [f"u{i}"], [f"r{i}"], f"{name}.relu"),
            helper.make_node(
                "MatMul", [f"r{i}", f"{name}.down"], [f"d{i}"], f"{name}.down_product"
            ),
            helper.make_node("Add", [f"d{i}", f"x{i}"], [f"x{i + 1}"], f"{name}.residual"),
        ]
    tokens = helper.make_tensor_value_info("tokens", TensorProto.INT64, ["n"])
    width = weights[0].dims[1]
    last = helper.make_tensor_value_info(f"x{layers}", ONNX_TYPES[dtype], ["n", width])
    body = helper.make_graph(nodes, "large", [tokens], [last], weights)
    return helper.make_model(body, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def write_onnx(folder: Path, wanted: list[tuple[str, tuple[int, int]]], dtype: str) -> None:
    weights = []
    with (folder / "model.onnx.data").open("wb") as data:
        for index, (name, shape) in enumerate(wanted):
            offset = (data.tell() + 4095) // 4096 * 4096
            data.seek(offset)
            for block in blocks(shape, index, dtype):
                data.write(block)
            weight = TensorProto(name=name, data_type=ONNX_TYPES[dtype], dims=shape)
            weight.data_location = TensorProto.EXTERNAL
            for key, value in [
                ("location", "model.onnx.data"),
                ("offset", str(offset)),
                ("length", str(data.tell() - offset)),
            ]:
                weight.external_data.add(key=key, value=value)
            weights.append(weight)
    (folder / "model.onnx").write_bytes(graph(weights, dtype).SerializeToString())


def shards(
    wanted: list[tuple[str, tuple[int, int]]], value_bytes: int
) -> list[list[tuple[int, str, tuple[int, int]]]]:
    found: list[list[tuple[int, str, tuple[int, int]]]] = [[]]
    size = 0
    for index, (name, shape) in enumerate(wanted):
        own = shape[0] * shape[1] * value_bytes
        if size + own > SHARD and found[-1]:
            found.append([])
            size = 0
        found[-1].append((index, name, shape))
        size += own
    return found


def write_safetensors(folder: Path, wanted: list[tuple[str, tuple[int, int]]], dtype: str) -> None:
    value_bytes = 4 if dtype == "float32" else 2
    files = shards(wanted, value_bytes)
    places: dict[str, str] = {}
    total = 0
    for number, content in enumerate(files, 1):
        name = f"model-{number:05}-of-{len(files):05}.safetensors"
        header: dict[str, object] = {"__metadata__": {"format": "pt"}}
        end = 0
        for _, tensor, shape in content:
            size = shape[0] * shape[1] * value_bytes
            header[f"{tensor}.weight"] = {
                "dtype": SAFETENSORS_TYPES[dtype],
                "shape": list(shape),
                "data_offsets": [end, end + size],
            }
            places[f"{tensor}.weight"] = name
            end += size
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with (folder / name).open("wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for index, _, shape in content:
                for block in blocks(shape, index, dtype):
                    file.write(block)
        total += end
    index_text = json.dumps({"metadata": {"total_size": total}, "weight_map": places}, indent=1)
    (folder / "model.safetensors.index.json").write_text(index_text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gigabytes", type=float, required=True)
    parser.add_argument("--dtype", choices=sorted(ONNX_TYPES), default="float32")
    parser.add_argument("--form", choices=["onnx", "safetensors"], default="onnx")
    parser.add_argument("--width", type=int, default=4096)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    wanted = tensors(arguments.gigabytes, arguments.width, arguments.dtype)
    write = write_onnx if arguments.form == "onnx" else write_safetensors
    write(arguments.folder, wanted, arguments.dtype)


if __name__ == "__main__":
    main()
