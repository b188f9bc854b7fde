"""A folder of images as samples."""

import json

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def images(job):
    for file in job.samples.iterdir():
        file.unlink()
    rng = np.random.default_rng(3)
    for i in range(4):
        pixels = rng.integers(0, 256, (20 + i, 30, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(job.samples / f"{i}.png")
    return job


def test_images(halfstep, images):
    summary = halfstep(*images.arguments("--input-spec", "mean=0.5,std=0.25", "--json")).json
    assert summary["summary"]["samples"] == 4


def test_same_as_arrays(halfstep, images):
    """What the worker makes of images is what the documented formula says."""
    e = images.folder / "e.json"
    spec = images.folder / "spec.json"
    spec.write_text(json.dumps({"mean": [0.1, 0.2, 0.3], "std": 0.5, "order": "BGR"}))
    halfstep(*images.arguments("--input-spec", spec, "--encodings-out", e))
    from_images = e.read_bytes()
    for file in sorted(images.samples.iterdir()):
        image = Image.open(file).resize((16, 16), Image.Resampling.BILINEAR)
        x = np.asarray(image)[:, :, ::-1].astype(np.float32) * np.float32(1 / 255)
        x = (x - np.float32([0.1, 0.2, 0.3])) / np.float32(0.5)
        np.savez(file.with_suffix(".npz"), x=x.transpose(2, 0, 1)[np.newaxis])
        file.unlink()
    halfstep(*images.arguments("--encodings-out", e, "--force"))
    assert e.read_bytes() == from_images


def test_other_files_are_named(halfstep, images):
    (images.samples / "labels.txt").write_text("cat\n")
    result = halfstep(*images.arguments("--input-spec", "resize=crop"))
    assert "warning[samples/not-an-image]: labels.txt" in result.err


def test_broken_image(refused, images):
    (images.samples / "2.png").write_bytes((images.samples / "2.png").read_bytes()[:100])
    refused(images, 4, "2.png", more=("--input-spec", "resize=pad"))


def test_no_image(refused, images):
    for file in images.samples.iterdir():
        file.unlink()
    refused(images, 4, "no image", more=("--input-spec", "resize=pad"))


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        ("size=8x8", "does not fit"),
        ("siz=16x16", "size"),
        ("mean=a", "mean"),
        ("nowhere.json", "nowhere.json"),
        ("layout=NHWC", "channels"),
    ],
)
def test_bad_spec(refused, images, spec, word):
    refused(images, 2, word, more=("--input-spec", spec))


def test_spec_without_samples(halfstep, job):
    arguments = ["quantize", job.model, "-o", job.output, "--recipe", "w8"]
    assert "--calibration" in halfstep(*arguments, "--input-spec", "size=2x2", code=2).err


def test_python_without_the_package(halfstep, images, tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'No module named halfstep' >&2\nexit 1\n")
    python.chmod(0o755)
    command = type(halfstep)(halfstep.path, halfstep.environment | {"HALFSTEP_PYTHON": str(python)})
    result = command(*images.arguments("--input-spec", "resize=pad"), code=5)
    assert "No module named halfstep" in result.err
    assert "halfstep[images]" in result.err
