"""The steps of the road one by one: measure, decide yourself, write."""

from pathlib import Path

import numpy as np

import halfstep

digits = Path(__file__).parent.parent / "digits"
model = halfstep.load(digits / "digits_cnn.onnx")
report = halfstep.inspect(model)
print(report["nodes"], "nodes:", report["ops"])

# Measure: the range of the model's input and output over all samples.
names = [info["name"] for info in report["inputs"] + report["outputs"]]
measured = halfstep.calibrate(model, digits / "calibration.npz", names)

# Decide: 8 bits over the range that was seen, zero included.
table = halfstep.EncodingTable()
for name, statistics in measured.statistics.items():
    low, high = min(statistics.min, 0.0), max(statistics.max, 0.0)
    scale = (high - low) / 255
    table[name] = halfstep.Encoding("uint8", [scale], [round(-low / scale)])
    print(name, statistics, "->", table[name])

# Write: Q/DQ in the model, and the encodings beside it.
print(halfstep.write_encodings(table, model)[:60], "...")
halfstep.write_qdq(model, table)
logits = halfstep.make_onnxruntime_engine().open(model).run(np.zeros((1, 1, 8, 8), np.float32))
print(logits["logits"].round(3))
steps = logits["logits"] / table["logits"].scale
assert np.allclose(steps, np.rint(steps), atol=1e-3)
