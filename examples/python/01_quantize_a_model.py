"""The whole road in one call: a float model and samples in, a quantized model out."""

import tempfile
from pathlib import Path

import numpy as np

import halfstep

digits = Path(__file__).parent.parent / "digits"

with tempfile.TemporaryDirectory() as folder:
    output = Path(folder) / "digits_a8w8.onnx"
    result = halfstep.quantize(
        digits / "digits_cnn.onnx",
        calibration=digits / "calibration.npz",
        recipe="a8w8",
        output=output,
        encodings_out=output.with_suffix(".json"),
    )
    print(result.model, "written to", output.name)

summary = result.summary
print("weights:", summary["weights_before"], "->", summary["weights_after"], "bytes")
for diagnostic in result.diagnostics:
    print(diagnostic)

# The result is a model like any other: run it, here on the engine that calibrated it.
test = np.load(digits / "test.npz")
session = halfstep.make_onnxruntime_engine().open(result.model)
right = [
    session.run(x[None])["logits"].argmax() == y for x, y in zip(test["x"], test["y"], strict=True)
]
print(f"accuracy: {np.mean(right):.3f}")
assert np.mean(right) > 0.9
