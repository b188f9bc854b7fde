"""Calibration data from wherever it is, one sample at a time; progress goes where you like."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import halfstep

digits = Path(__file__).parent.parent / "digits"


def samples(count: int) -> Iterator[dict[str, np.ndarray]]:
    """Arrays by input name. Only one sample at a time has to exist."""
    images = np.load(digits / "calibration.npz")["x"]
    for image in images[:count]:
        yield {"x": image[None]}


def progress(phase: str, done: int, total: int) -> None:
    """`total` is 0 where the number of steps is not known, as for this generator."""
    if done % 20 == 0:
        print(f"{phase}: {done}" + (f" of {total}" if total else ""))


result = halfstep.quantize(
    digits / "digits_cnn.onnx",
    samples(60),
    set="op:Gemm act=uint16",
    exclude="/f/f.0/*",
    progress=progress,
)
print(result.summary["samples"], "samples")
for name, encoding in result.encodings.items():
    print(f"{name}: {encoding}")
assert result.summary["samples"] == 60
