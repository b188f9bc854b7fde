"""Replays the golden vectors of tests/golden/core through the Python package, bit for bit.

What the vectors mean is described in tests/golden/core; the C++ tests replay them too, on every
kernel path. The kind "cast" has no function in Python and is left to them. Expected errors are met
by any documented error of ours. What differs on purpose is in tests/golden/deviations.json.
"""

import json
import zlib
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import halfstep
from halfstep import core

GOLDEN = Path(__file__).parents[1] / "golden"
FLOATS = {
    "f16": ("u2", np.float16),
    "bf16": ("u2", ml_dtypes.bfloat16),
    "f32": ("u4", np.float32),
    "f64": ("u8", np.float64),
}
ERRORS = (halfstep.Error, TypeError)
TORCH_RANGES = {"quint8": (0, 255), "qint8": (-128, 127), "qint32": (-(2**31), 2**31 - 1)}


def decode(tensor):
    bits, dtype = FLOATS[tensor["dtype"]]
    raw = np.frombuffer(bytes.fromhex(tensor["hex"]), ">" + bits)
    return raw.astype(bits).view(dtype).reshape(tensor["shape"])


def plain(value):
    """A spec with its non-finite numbers."""
    if isinstance(value, dict):
        return float(value["num"]) if "num" in value else {k: plain(v) for k, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, list) else value


def same(actual, expected, *, zero_sign=True):
    want = decode(expected)
    actual = np.asarray(actual)
    if actual.size != want.size or actual.dtype != want.dtype:
        return False
    bits = FLOATS[expected["dtype"]][0]
    actual, want = actual.ravel(), want.ravel()
    equal = (actual.view(bits) == want.view(bits)) | (np.isnan(actual) & np.isnan(want))
    if not zero_sign:
        equal |= (actual == 0) & (want == 0)
    return bool(equal.all())


def same_codes(actual, expected):
    if "v" in expected:
        pairs = zip(np.ravel(actual).tolist(), expected["v"], strict=True)
        return all(want is None or got == want for got, want in pairs)
    text = expected["codes"]
    pairs = zip(np.ravel(actual).tolist(), range(0, len(text), 2), strict=True)
    return all(text[i : i + 2] == "--" or code == int(text[i : i + 2], 16) for code, i in pairs)


def exponents(scale):
    return (scale.view(np.uint32).ravel() >> 23) & 255


def check_step(fq, x, y, expected):
    """The names of what differs after one batch."""
    scale, zero_point, minval = fq.calculate_qparams()
    low, high = fq.range()
    checks = {
        "run_min": lambda want: same(low.astype(y.dtype), want, zero_sign=False),
        "run_max": lambda want: same(high.astype(y.dtype), want, zero_sign=False),
        "scale": lambda want: same(scale, want) and list(scale.shape) == want["shape"],
        "scale_e8m0": lambda want: same_codes(exponents(scale), want),
        "minval": lambda want: same(minval, want, zero_sign=False),
        "zp": lambda want: same_codes(zero_point, want),
        "q": lambda want: same_codes(fq.quantize(x), want),
        "fq": lambda want: same(y, want),
    }
    return [key for key, want in expected.items() if key in checks and not checks[key](want)]


def fakequant(case):
    expected = case["expect"]
    try:
        spec = halfstep.QuantizationSpec(**plain(case["spec"]))
        fq = halfstep.FakeQuantize(spec, role=case["target"])
    except ERRORS:
        return [] if "error" in expected else ["construction"]
    if "error" in expected:
        return ["an error"]
    derived = ("n_bits", "quant_min", "quant_max", "target_dtype")
    wrong = [key for key in derived if getattr(spec, key) != expected[key]]
    for i, (batch, step) in enumerate(zip(case["inputs"], expected["steps"], strict=False)):
        x = decode(batch)
        try:
            y = fq(x)
        except ERRORS:
            return wrong + ([] if "error" in step else [f"step {i}: error"])
        if "error" in step:
            return [*wrong, f"step {i}: no error"]
        if step.get("disabled"):
            wrong += [] if fq.disabled and same(y, batch) else [f"step {i}: not disabled"]
        else:
            wrong += [f"step {i}: {key}" for key in check_step(fq, x, y, step)]
    if "probe" in expected:
        fq.disable_observer()
        x = decode(case["probe"])
        wrong += [f"probe: {key}" for key in check_step(fq, x, fq(x), expected["probe"])]
    return wrong


def spec(case):
    expected = case["expect"]
    try:
        made = halfstep.QuantizationSpec(**plain(case["spec"]))
    except ERRORS:
        return [] if "error" in expected else ["construction"]
    if "error" in expected:
        return ["an error"]
    fields = ("dtype", "qscheme", "qformulation", "scale_dtype", "float_range")
    derived = ("n_bits", "quant_min", "quant_max", "target_dtype")
    wrong = [key for key in (*fields, *derived) if getattr(made, key) != plain(expected[key])]
    wanted = {"axis": None} | expected["granularity"]
    granularity = {"axis": None} | made.to_dict()["granularity"]
    sizes = [np.ravel(g.get("block_size", 0)).tolist() for g in (wanted, granularity)]
    if (wanted["type"], wanted["axis"], sizes[0]) != (
        granularity["type"],
        granularity["axis"],
        sizes[1],
    ):
        wrong.append("granularity")
    return wrong


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except ERRORS:
        return "error"


def dtype(case):
    expected, name = case["expect"], case["dtype"]
    cls = halfstep.QuantizationSpec
    found = {
        "n_bits": outcome(cls.get_n_bits_from_dtype, name),
        "target_dtype": outcome(cls.get_target_dtype, name),
        "spec_accepts": outcome(lambda: cls(dtype=name).dtype) != "error",
    }
    for scheme in halfstep.QuantizationScheme:
        bounds = outcome(cls.get_quant_range, name, scheme)
        found[f"range_{scheme}"] = list(bounds) if isinstance(bounds, tuple) else bounds
    wanted = {
        key: "error" if isinstance(want, dict) and "error" in want else plain(want)
        for key, want in expected.items()
    }
    return [key for key, want in wanted.items() if found[key] != want]


def block(case):
    expected = case["expect"]
    try:
        grid = core.unit_grid(case["granularity"], case["shape"], case["target"])
    except ERRORS:
        return [] if "error" in expected else ["an error"]
    if "error" in expected:
        return ["no error"]
    wrong = [] if list(grid.sizes) == expected["block_size"] else ["block_size"]
    return wrong + ([] if list(grid.counts) == expected["scale_shape"] else ["scale_shape"])


def check_observer(observer, expected):
    bounds = {"min": observer.min_val, "max": observer.max_val}
    wrong = [k for k, v in bounds.items() if not same(v, expected[k], zero_sign=False)]
    try:
        scale, zero_point = observer.calculate_qparams()
    except ERRORS:
        return wrong + ([] if "error" in expected else ["parameters"])
    if "error" in expected:
        return [*wrong, "no error"]
    wrong += [] if same(scale, expected["scale"]) else ["scale"]
    if "zp_float" in expected:
        fresh = zero_point.dtype == np.int32 and not zero_point.any()
        equal = fresh or same(zero_point, expected["zp_float"], zero_sign=False)
        return wrong + ([] if equal else ["zp_float"])
    return wrong + ([] if same_codes(zero_point, expected["zp"]) else ["zp"])


def observer(case):
    expected = case["expect"]
    try:
        made = getattr(halfstep, case["class"])(**plain(case["kwargs"]))
    except ERRORS:
        return [] if "error" in expected else ["construction"]
    if "error" in expected:
        return ["an error"]
    wrong = [key for key in ("quant_min", "quant_max") if getattr(made, key) != expected[key]]
    wrong += [f"fresh: {key}" for key in check_observer(made, expected["initial"])]
    for i, (batch, step) in enumerate(zip(case["inputs"], expected["steps"], strict=False)):
        try:
            made(decode(batch))
        except ERRORS:
            return wrong + ([] if "error" in step and "min" not in step else [f"step {i}"])
        if "min" not in step:
            return [*wrong, f"step {i}: no error"]
        wrong += [f"step {i}: {key}" for key in check_observer(made, step)]
        if "after_reset" in step:
            made.reset_min_max_vals()
            wrong += [f"reset {i}: {key}" for key in check_observer(made, step["after_reset"])]
    return wrong


def histogram(case):
    expected = case["expect"]
    made = halfstep.HistogramObserver(**case["kwargs"])
    for batch in case["inputs"]:
        made(decode(batch))
    bounds = {"min": made.min_val, "max": made.max_val}
    wrong = [k for k, v in bounds.items() if not same(v, expected[k], zero_sign=False)]
    want = decode(expected["hist"])
    if np.abs(made.histogram - want).sum() > 0.02 * want.sum():
        wrong.append("hist")
    width = float(made.max_val - made.min_val) / len(want)
    for key, chosen in zip(("chosen_min", "chosen_max"), made.chosen_range, strict=True):
        if abs(chosen - decode(expected[key]).item()) > 2.01 * width:
            wrong.append(key)
    return wrong


def affine(case):
    expected, kind = case["expect"], case["kind"]
    x, scale = decode(case["x"]), decode(case["scale"])
    low, high = (case["qmin"], case["qmax"]) if "qmin" in case else TORCH_RANGES[case["dtype"]]
    axis = case.get("axis")
    arguments = (x, scale, case["zp"], low, high)
    try:
        if kind.startswith("fq"):
            y = core.fake_quantize_affine(*arguments, axis=axis)
            return [] if "y" in expected and same(y, expected["y"]) else ["y"]
        fused = kind == "q_tensor" and case["dtype"] != "qint32"
        rounding = "reciprocal_fused" if fused else "reciprocal_then_add"
        codes = core.quantize_affine(*arguments, axis=axis, rounding=rounding)
    except ERRORS:
        return [] if "error" in expected else ["an error"]
    wrong = [] if "q" in expected and same_codes(codes, expected["q"]) else ["q"]
    shape = [-1 if i == axis else 1 for i in range(x.ndim)] if axis is not None else ()
    zero_point = np.reshape(case["zp"], shape).astype(np.int64)
    y = ((codes - zero_point) + 0.0).astype(np.float32) * scale.reshape(shape)
    return wrong + ([] if "y" not in expected or same(y, expected["y"]) else ["y"])


def bulk_input(seed, shape, mode):
    """splitmix64, as reals in [-8, 8) or with exponents of a wide range."""
    step, first, second = (
        np.uint64(k) for k in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
    )
    u = np.uint64
    z = u(seed) + np.arange(1, np.prod(shape) + 1, dtype=np.uint64) * step
    z = (z ^ (z >> u(30))) * first
    z = (z ^ (z >> u(27))) * second
    z = z ^ (z >> u(31))
    if mode == "uniform":
        values = ((z >> u(40)).astype(np.int64) - (1 << 23)) * 2.0**-20
        return values.astype(np.float32).reshape(shape)
    exponent = u(117) + (z >> u(40)) % u(14)
    bits = (z >> u(63) << u(31)) | (exponent << u(23)) | (z & u(0x7FFFFF))
    return bits.astype(np.uint32).view(np.float32).reshape(shape)


def crc(array):
    return format(zlib.crc32(np.ascontiguousarray(array).tobytes()), "08x")


def bulk(case):
    expected = case["expect"]
    x = bulk_input(case["seed"], case["shape"], case["mode"])
    found = {"x": crc(x)}
    if "spec" in case:
        fq = halfstep.FakeQuantize(halfstep.QuantizationSpec(**case["spec"]), role=case["target"])
        found["fq"] = crc(fq(x))
        scale, zero_point, _ = fq.calculate_qparams()
        found |= {"scale_shape": list(scale.shape), "scale": crc(scale), "q": crc(fq.quantize(x))}
        if zero_point is not None:
            found["zp"] = crc(zero_point)
    else:
        bounds = (case["zp"], case["qmin"], case["qmax"])
        found["fq"] = crc(core.fake_quantize_affine(x, decode(case["scale"])[:1], *bounds))
    return [key for key in expected if found.get(key) != expected[key]]


KINDS = {
    "block": block,
    "bulk": bulk,
    "dtype": dtype,
    "fakequant": fakequant,
    "fq_channel": affine,
    "fq_tensor": affine,
    "fq_tensor_qparams": affine,
    "histogram": histogram,
    "observer": observer,
    "q_channel": affine,
    "q_tensor": affine,
    "spec": spec,
}
CASES = {
    path.stem: [c for c in json.loads(path.read_text())["cases"] if c["kind"] in KINDS]
    for path in sorted((GOLDEN / "core").glob("*.json"))
}


@pytest.fixture(scope="module")
def deviations():
    document = json.loads((GOLDEN / "deviations.json").read_text())
    return {case for entry in document["deviations"] for case in entry["cases"]}


@pytest.mark.parametrize("name", [name for name, cases in CASES.items() if cases])
def test_golden(name, deviations):
    wrong = {}
    for case in CASES[name]:
        if differences := KINDS[case["kind"]](case):
            wrong[case["id"]] = differences
    expected = {case["id"] for case in CASES[name]} & deviations
    assert {k: v for k, v in wrong.items() if k not in expected} == {}
    assert expected - set(wrong) == set(), "these deviations are none"
