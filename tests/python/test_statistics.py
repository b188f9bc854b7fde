"""halfstep.calibrate without tensors, saved statistics, merging, and the example on Dask."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import halfstep

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("method", ["minmax", "percentile", "entropy", "mse", "sqnr"])
def test_parts_merge_to_the_bytes_of_the_whole(conv_proto, samples, method):
    samples = list(samples)
    whole = halfstep.calibrate(conv_proto, samples, method=method)
    parts = [halfstep.calibrate(conv_proto, [s], method=method) for s in reversed(samples)]
    merged = halfstep.merge_statistics(parts)
    assert merged.to_bytes() == whole.to_bytes()
    assert whole.method == method
    assert whole.samples == len(samples)
    again = halfstep.read_statistics(whole.to_bytes())
    assert again.to_bytes() == whole.to_bytes()
    assert again.tensors["image"].max == max(float(s["image"].max()) for s in samples)


def test_statistics_take_the_place_of_samples(conv_proto, samples, tmp_path):
    samples = list(samples)
    saved = tmp_path / "s"
    statistics = halfstep.calibrate(conv_proto, samples, output=saved, method="mse")
    assert saved.read_bytes() == statistics.to_bytes()
    direct = halfstep.quantize(conv_proto, samples, method="mse", check=False)
    result = halfstep.quantize(conv_proto, stats=saved)
    assert result.model.serialize() == direct.model.serialize()
    copy = tmp_path / "copy"
    statistics.save(copy)
    assert copy.read_bytes() == saved.read_bytes()
    more = halfstep.calibrate(conv_proto, samples, resume=saved, method="mse")
    assert more.samples == 2 * len(samples)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "mean"}, "no calibration method is named"),
        ({"percentile": 99.0}, "add --method percentile"),
        ({"percentile": "high"}, "percentile is 'high' of type str"),
        ({"method": 3}, "method is 3 of type int"),
        ({"tensors": ["image"], "output": "x"}, "output is for statistics of a recipe"),
    ],
)
def test_wrong_arguments(conv_proto, samples, arguments, message):
    with pytest.raises(halfstep.InvalidArgument, match=message):
        halfstep.calibrate(conv_proto, samples, **arguments)


def test_what_are_no_statistics(conv_proto, samples):
    with pytest.raises(halfstep.InvalidFile, match="no statistics of halfstep"):
        halfstep.read_statistics(b"something")
    with pytest.raises(halfstep.InvalidArgument, match="expected a path, bytes or Statistics"):
        halfstep.read_statistics(3)
    one = halfstep.calibrate(conv_proto, samples, method="mse")
    other = halfstep.calibrate(conv_proto, samples)
    with pytest.raises(halfstep.InvalidArgument, match=r"parts\[1\]: statistics of method minmax"):
        halfstep.merge_statistics([one, other])


@pytest.mark.parametrize("method", ["percentile", "mse"])
def test_range_calculators_of_specs(method):
    x = np.random.default_rng(3).standard_t(2, size=(4, 2000)).astype(np.float32)
    spec = halfstep.QuantizationSpec(dtype="int4", range_calculator_cls=method)
    plain = halfstep.QuantizationSpec(dtype="int4")
    errors = []
    for wanted in (spec, plain):
        fq = halfstep.FakeQuantize(wanted, role="weight")
        errors.append(float(np.square(fq(x) - x).sum()))
    assert errors[0] < errors[1]


def test_shards_on_dask(conv_path, samples, tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    for i, sample in enumerate(list(samples) * 2):
        np.savez(data / f"{i}.npz", **sample)
    words = [ROOT / "examples/calibrate_shards.py", conv_path, data, "-o", tmp_path / "s"]
    done = subprocess.run(
        [sys.executable, *map(str, words), "--compare", "--parts", "3"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "the same bytes as one run over all samples" in done.stdout
