"""ONNX Runtime's quantize_static as a program: the peer that halfstep is compared with.

Min-max calibration, Q/DQ format, uint8 activations, int8 weights per channel: the same recipe as
a8w8. The model is prepared as its documentation asks: opset raised to 13 or later (per-channel
needs it), then quant_pre_process (shape inference and graph optimizations).

usage: static_peer.py MODEL --calibration FOLDER -o OUT [--op-types Conv,MatMul] [--no-prepare]
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnxruntime import quantization
from onnxruntime.quantization.shape_inference import quant_pre_process

OPSET = 17


class FolderReader(quantization.CalibrationDataReader):
    """Samples of a folder of .npz, read one at a time."""

    def __init__(self, folder: Path) -> None:
        self._samples = self._read(sorted(folder.glob("*.npz")))

    @staticmethod
    def _read(paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
        for path in paths:
            with np.load(path) as sample:
                yield dict(sample)

    def get_next(self) -> dict[str, Any] | None:
        return next(self._samples, None)


def prepare(model: Path, folder: Path) -> Path:
    """The model with its opset raised if needed, pre-processed."""
    proto = onnx.load(model)
    opset = next(o.version for o in proto.opset_import if o.domain in ("", "ai.onnx"))
    if opset < OPSET:
        proto = onnx.version_converter.convert_version(proto, OPSET)
        model = folder / "raised.onnx"
        onnx.save(proto, model)
    prepared = folder / "prepared.onnx"
    quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
    return prepared


def quantize_static(
    model: Path, calibration: Path, output: Path, op_types: Sequence[str] | None = None
) -> None:
    """Quantizes `model` as a8w8 does; only nodes of `op_types` if given."""
    quantization.quantize_static(
        str(model),
        str(output),
        FolderReader(calibration),
        quant_format=quantization.QuantFormat.QDQ,
        op_types_to_quantize=list(op_types) if op_types is not None else None,
        per_channel=True,
        activation_type=quantization.QuantType.QUInt8,
        weight_type=quantization.QuantType.QInt8,
        calibrate_method=quantization.CalibrationMethod.MinMax,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--calibration", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--op-types", help="separated by commas (default: all it knows)")
    parser.add_argument("--no-prepare", action="store_true", help="quantize the model as it is")
    options = parser.parse_args()
    op_types = options.op_types.split(",") if options.op_types else None
    with tempfile.TemporaryDirectory(prefix="static-peer-") as folder:
        model = options.model if options.no_prepare else prepare(options.model, Path(folder))
        quantize_static(model, options.calibration, options.output, op_types)


if __name__ == "__main__":
    main()
