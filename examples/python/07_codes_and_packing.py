"""Down to the codes: quantize a weight to 4 bits, pack it as ONNX does, and back."""

import numpy as np

import halfstep
from halfstep import core

weight = np.random.default_rng(0).normal(size=(8, 64)).astype(np.float32)
spec = halfstep.QuantizationSpec(
    dtype="int4", granularity=halfstep.PerBlockGranularity(axis=1, block_size=32)
)
mapping = core.fit(weight, spec, role="weight")
codes = core.quantize(weight, mapping)
packed = core.pack(codes, "int4")
print(weight.nbytes, "bytes of weights ->", packed.nbytes, "and", mapping.scale.nbytes, "of scales")

again = core.unpack(packed, "int4", codes.shape)
values = core.dequantize(again, mapping)
assert np.array_equal(again, codes)
assert np.array_equal(values, core.fake_quantize(weight, mapping))
largest = np.abs(values - weight).max() / mapping.scale.max()
print(f"largest error: {largest:.2f} steps")  # a clipped end may be off by a whole step
assert largest <= 1
