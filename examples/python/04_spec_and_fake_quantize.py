"""A QuantizationSpec says what is wanted; FakeQuantize shows what it does to an array."""

import numpy as np

import halfstep

rng = np.random.default_rng(0)
weight = rng.normal(size=(4, 64)).astype(np.float32)

for spec in (
    halfstep.QuantizationSpec(dtype="int8"),
    halfstep.QuantizationSpec(dtype="int8", granularity=halfstep.PerChannelGranularity(axis=0)),
    halfstep.QuantizationSpec(
        dtype="uint4",
        qscheme="asymmetric",
        qformulation="minval",
        granularity={"type": "per_block", "axis": 1, "block_size": 16},
    ),
    halfstep.QuantizationSpec(
        dtype="float4_e2m1fn", granularity=halfstep.PerBlockGranularity(axis=1, block_size=32)
    ),
):
    fq = halfstep.FakeQuantize(spec, role="weight")
    error = fq(weight) - weight
    scale, zero_point, minval = fq.calculate_qparams()
    codes = fq.quantize(weight)
    print(f"{spec.dtype}: {scale.size} scales, codes {codes.dtype}, error {np.std(error):.4f}")
    assert np.array_equal(fq.dequantize(codes), fq(weight))

# Activations are seen batch by batch; the observer can then be turned off.
spec = halfstep.QuantizationSpec(
    dtype="uint8", qscheme="asymmetric", qparam_calculator_cls="global_minmax"
)
fq = halfstep.FakeQuantize(spec, role="activation")
for _ in range(10):
    fq.observe(rng.uniform(-1, 3, size=(8, 16)).astype(np.float32))
fq.disable_observer()
print(fq.calculate_qparams())

# All broken rules of a spec are told at once. Specs travel as dict, JSON and YAML.
try:
    halfstep.QuantizationSpec(dtype="float8_e4m3fn", qscheme="asymmetric", float_range=[1, 0])
except halfstep.InvalidArgument as error:
    print(error)
print(spec.to_yaml())
assert halfstep.QuantizationSpec.from_yaml(spec.to_yaml()) == spec
