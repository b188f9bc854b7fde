"""Measures the core of one library in this process; called by core_peers.py, prints JSON.

usage: core_peer_worker.py LIBRARY --threads N --repeats N [--memory-speed FILE] [--peak CASE]

LIBRARY is halfstep, coreai, torch or torchao. Every figure is the best of the repeats. The repeats
of all operations of a case take turns, so that what else the machine does falls on all alike.
"""

import argparse
import ctypes
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SIDE = 4096
BLOCK = 32
Operation = Callable[[], object]
Case = dict[str, Operation]

SPECS: dict[str, dict[str, Any]] = {
    "int8 tensor": {},
    "int8 channel 0": {"granularity": {"type": "per_channel", "axis": 0}},
    "int8 channel 1": {"granularity": {"type": "per_channel", "axis": 1}},
    "int4 block 32": {"dtype": "int4"},
    "int4 block 32 minval": {"dtype": "int4", "qscheme": "asymmetric", "qformulation": "minval"},
    "fp8 tensor": {"dtype": "float8_e4m3fn"},
    "mxfp4 block 32": {"dtype": "float4_e2m1fn"},
    "mxfp8 block 32": {"dtype": "float8_e4m3fn", "scale_dtype": "float8_e8m0fnu"},
}
for _name, _spec in SPECS.items():
    if "block" in _name:
        _spec["granularity"] = {"type": "per_block", "axis": 1, "block_size": BLOCK}


def values() -> Any:
    """Normal numbers, float32, [4096, 4096]; the same for every library."""
    return np.random.default_rng(0).standard_normal((SIDE, SIDE), dtype=np.float32)


class Memory:
    """Reading and copying alone."""

    def __init__(self, library: Path, x: Any) -> None:
        read = ctypes.CDLL(str(library)).read_memory
        read.restype = ctypes.c_uint64
        words, address = ctypes.c_size_t(x.nbytes // 8), ctypes.c_void_p(x.ctypes.data)
        target = np.zeros_like(x)
        self.operations: Case = {
            "read": lambda: read(address, words),
            "copy": lambda: np.copyto(target, x),
        }


def halfstep_cases(x: Any, threads: int) -> dict[str, Case]:
    import halfstep

    y = np.zeros_like(x)
    cases = {}
    for name, fields in SPECS.items():
        spec = halfstep.QuantizationSpec(**fields)
        grid = halfstep.core.unit_grid(spec.granularity, x.shape)
        quantizer = halfstep.FakeQuantize(spec, "weight", threads=threads)
        codes = np.zeros_like(quantizer.forward_with_codes(x)[0])
        cases[name] = {
            "minmax": lambda g=grid: halfstep.core.measure_range(x, g, threads=threads),
            "observe+values": lambda q=quantizer: q.forward(x),
            "codes": lambda q=quantizer: q.quantize(x),
            "all, into buffers": lambda q=quantizer, c=codes: q.forward_with_codes(
                x, codes=c, out=y
            ),
            "all, allocating": lambda q=quantizer: q.forward_with_codes(x),
        }
    return cases


def coreai_cases(array: Any, threads: int) -> dict[str, Case]:
    import torch
    from coreai_opt.config.spec import CompressionTargetTensor
    from coreai_opt.quantization.spec import QuantizationComponentFactory, QuantizationSpec

    torch.set_num_threads(threads)
    x = torch.from_numpy(array)
    cases = {}
    for name, fields in SPECS.items():
        fields = dict(fields)
        if "scale_dtype" in fields:
            fields["scale_dtype"] = getattr(torch, fields["scale_dtype"])
        quantizer = QuantizationComponentFactory.create_fake_quantizer(
            QuantizationSpec(**fields), CompressionTargetTensor.WEIGHT
        )
        quantizer(x)
        parameters = quantizer.calculate_qparams()
        ranges = quantizer.qparams_calculator.range_calculator
        cases[name] = {
            "minmax": lambda r=ranges: r(x),
            "observe+values": lambda q=quantizer: q(x),
            "codes": lambda q=quantizer, p=parameters: q.quantize(x, *p),
        }
    return cases


def torch_cases(array: Any, threads: int) -> dict[str, Case]:
    """The fastest ways that torch itself has; not all of them give the same bits."""
    import torch
    from torch.ao.quantization import observer as observers

    torch.set_num_threads(threads)
    x = torch.from_numpy(array)
    blocks = x.view(SIDE, SIDE // BLOCK, BLOCK)
    cases: dict[str, Case] = {}
    one = observers.MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
    one(x)
    scale, zero = (float(one.calculate_qparams()[0]), int(one.calculate_qparams()[1]))

    def tensor_values() -> Any:
        one(x)
        s, z = one.calculate_qparams()
        return torch.fake_quantize_per_tensor_affine(x, float(s), int(z), -128, 127)

    cases["int8 tensor"] = {
        "minmax": lambda: torch.aminmax(x),
        "observe+values": tensor_values,
        "codes": lambda: torch.quantize_per_tensor(x, scale, zero, torch.qint8),
    }
    for axis in (0, 1):
        channels = observers.PerChannelMinMaxObserver(
            ch_axis=axis, dtype=torch.qint8, qscheme=torch.per_channel_symmetric
        )
        channels(x)
        scales, zeros = channels.calculate_qparams()

        def channel_values(o: Any = channels, axis: int = axis) -> Any:
            o(x)
            s, z = o.calculate_qparams()
            return torch.fake_quantize_per_channel_affine(x, s, z.int(), axis, -128, 127)

        cases[f"int8 channel {axis}"] = {
            "minmax": lambda axis=axis: torch.aminmax(x, dim=1 - axis),
            "observe+values": channel_values,
            "codes": lambda s=scales, z=zeros, axis=axis: torch.quantize_per_channel(
                x, s, z, axis, torch.qint8
            ),
        }
    for name in SPECS:
        cases.setdefault(
            name,
            {"minmax": lambda: torch.aminmax(blocks, dim=-1)}
            if "block" in name
            else {"minmax": lambda: torch.aminmax(x)},
        )
    return cases


def torchao_cases(array: Any, threads: int) -> dict[str, Case]:
    import torch
    from torchao.prototype.mx_formats.mx_tensor import to_mx
    from torchao.quantization import quant_primitives as primitives

    torch.set_num_threads(threads)
    x = torch.from_numpy(array)
    sizes = {"tensor": (SIDE, SIDE), "channel 0": (1, SIDE), "channel 1": (SIDE, 1)}
    cases: dict[str, Case] = {}
    for name in ("int8 tensor", "int8 channel 0", "int8 channel 1", "int4 block 32"):
        low, high = (-8, 7) if "int4" in name else (-128, 127)
        size = sizes.get(name.removeprefix("int8 "), (1, BLOCK))

        def parameters(size: Any = size, low: int = low, high: int = high) -> Any:
            return primitives.choose_qparams_affine(
                x, primitives.MappingType.SYMMETRIC, size, torch.int8, low, high
            )

        scale, zero = parameters()
        cases[name] = {
            "observe+values": lambda p=parameters, size=size, low=low, high=high: (
                primitives._fake_quantize_affine(x, size, *p(), torch.int8, low, high)
            ),
            "codes": lambda s=scale, z=zero, size=size, low=low, high=high: (
                primitives.quantize_affine(x, size, s, z, torch.int8, low, high)
            ),
        }
    cases["mxfp4 block 32"] = {"codes": lambda: to_mx(x, torch.float4_e2m1fn_x2, BLOCK)}
    cases["mxfp8 block 32"] = {"codes": lambda: to_mx(x, torch.float8_e4m3fn, BLOCK)}
    return cases


LIBRARIES = {
    "halfstep": halfstep_cases,
    "coreai": coreai_cases,
    "torch": torch_cases,
    "torchao": torchao_cases,
}


def best(operations: Case, repeats: int) -> dict[str, dict[str, float]]:
    """CPU and wall seconds of each, the smallest of the repeats; none starts after a minute."""
    found = {name: {"cpu": float("inf"), "wall": float("inf")} for name in operations}
    begin = time.perf_counter()
    for _ in range(repeats):
        for name, operation in operations.items():
            cpu, wall = time.process_time(), time.perf_counter()
            operation()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            found[name]["cpu"] = min(found[name]["cpu"], cpu)
            found[name]["wall"] = min(found[name]["wall"], wall)
        if time.perf_counter() - begin > 60:
            break
    return found


def _status(key: str) -> int:
    """Bytes of a line of /proc/self/status."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024
    raise KeyError(key)


def peak_share(name: str, threads: int) -> float:
    """Peak memory of one "all, allocating", over that of its input and its outputs.

    Outputs are the codes, the values, and what the quantizer then knows of each unit: its
    parameters and its range.
    """
    import halfstep

    x = values()
    quantizer = halfstep.FakeQuantize(halfstep.QuantizationSpec(**SPECS[name]), "weight")
    quantizer.threads = threads
    small = halfstep.FakeQuantize(halfstep.QuantizationSpec(**SPECS[name]), "weight")
    small.forward_with_codes(x[:64, :64])  # code and tables are loaded
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = _status("VmRSS")
    codes, y = quantizer.forward_with_codes(x)
    grown = _status("VmHWM") - before
    parameters = [p for p in quantizer.calculate_qparams() if p is not None]
    output = sum(array.nbytes for array in (codes, y, *parameters, *quantizer.range()))
    return (x.nbytes + grown) / (x.nbytes + output)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=LIBRARIES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--memory-speed", type=Path)
    parser.add_argument("--peak", choices=SPECS)
    options = parser.parse_args()
    if options.peak:
        print(json.dumps(peak_share(options.peak, options.threads)))
        return
    x = values()
    memory = Memory(options.memory_speed, x).operations if options.memory_speed else {}
    cases = LIBRARIES[options.library](x, options.threads)
    print(json.dumps({name: best(memory | case, options.repeats) for name, case in cases.items()}))


if __name__ == "__main__":
    main()
