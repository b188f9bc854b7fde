"""What a command must never do: replace an input, hang, or take memory without bounds."""

import os
import socket
from pathlib import Path

import numpy as np
import onnx
import pytest


def contents(folder):
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.fixture
def external(job):
    """The job's model with its weights in w.bin, which has other names, too."""
    model = onnx.load(job.model)
    onnx.save(model, job.model, save_as_external_data=True, location="w.bin", size_threshold=0)
    os.link(job.folder / "w.bin", job.folder / "hard.bin")
    (job.folder / "soft.bin").symlink_to("w.bin")
    return job


@pytest.mark.parametrize("option", ["-o", "--encodings-out"])
@pytest.mark.parametrize(
    "name", ["net.onnx", "w.bin", "hard.bin", "soft.bin", "samples/003.npz", "samples/../w.bin"]
)
def test_inputs_are_never_replaced(halfstep, external, option, name):
    before = contents(external.folder)
    path = external.folder / name
    words = ["quantize", external.model, "--calibration", external.samples, option, path]
    result = halfstep(*words, "--force", code=2)
    assert name in result.err
    assert "also an input" in result.err
    assert contents(external.folder) == before


def test_settings_are_never_replaced(halfstep, job):
    recipe = job.folder / "own.json"
    recipe.write_text(halfstep("recipes", "a8w8").out)
    target = job.folder / "chip.json"
    target.write_text(halfstep("targets", "cpu", "--json").out)
    for option, path in (("--recipe", recipe), ("--target", target)):
        words = ["quantize", job.model, "--calibration", job.samples, option, path, "-o", path]
        assert "also an input" in halfstep(*words, "--force", code=2).err


def test_weights_are_no_place_for_encodings(halfstep, external):
    path = external.folder / "w.bin"
    words = ["encodings", "from-model", external.model, "-o", path, "--force"]
    assert "also an input" in halfstep(*words, code=2).err


def test_one_archive_as_samples(halfstep, job):
    data = job.folder / "all.npz"
    np.savez(data, x=np.ones((4, 3, 16, 16), np.float32))
    before = data.read_bytes()
    words = ["quantize", job.model, "--calibration", data, "-o", data, "--force"]
    assert "also an input" in halfstep(*words, code=2).err
    assert data.read_bytes() == before


@pytest.mark.parametrize("name", ["pipe.npz", "pipe.npy"])
def test_pipe_among_the_samples(refused, job, name):
    os.mkfifo(job.samples / name)
    refused(job, 4, name, "regular file")


def test_pipe_as_samples(halfstep, job):
    pipe = job.folder / "pipe.npz"
    os.mkfifo(pipe)
    words = ["quantize", job.model, "--calibration", pipe, "-o", job.output]
    assert "regular file" in halfstep(*words, code=4).err


def test_socket_among_the_samples(refused, job, monkeypatch):
    monkeypatch.chdir(job.samples)  # names of sockets must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.npz")
        refused(job, 4, "socket.npz", "socket")


def test_pipe_among_images(halfstep, job):
    os.mkfifo(job.samples / "pipe.png")
    words = [*job.arguments(), "--input-spec", "size=16x16"]
    assert "pipe.png" in halfstep(*words, code=4).err


def test_samples_without_permission(halfstep, job):
    (job.samples / "003.npz").chmod(0)
    words = job.arguments()
    if os.geteuid() == 0:  # root without the right to read everything
        command = type(halfstep)(Path("/usr/bin/setpriv"), halfstep.environment)
        words = ["--bounding-set=-dac_override,-dac_read_search", halfstep.path, *words]
    else:
        command = halfstep
    refused = command(*words, code=4)
    assert "003.npz" in refused.err and "Permission denied" in refused.err
    assert not job.output.exists()


@pytest.mark.parametrize("option", ["--recipe", "--target"])
def test_alias_bomb(halfstep, job, option):
    lines = ["l0: &l0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, 12):
        lines.append(f"l{level}: &l{level} [{', '.join([f'*l{level - 1}'] * 10)}]")
    bomb = job.folder / "bomb.yaml"
    bomb.write_text("\n".join(lines))
    assert "bomb.yaml" in halfstep(*job.arguments(option, bomb), code=2).err


@pytest.mark.parametrize("option", ["--recipe", "--target"])
def test_directory_as_settings(refused, job, option):
    refused(job, 2, "samples", "directory", more=(option, job.samples))


def test_name_too_long(halfstep, job):
    name = "a" * 300
    words = ["quantize", job.model, "--calibration", job.samples, "-o", job.folder / name]
    assert name in halfstep(*words, code=4).err
    refused_recipe = halfstep(*job.arguments("--recipe", name), code=2)
    assert "no recipe" in refused_recipe.err
    assert job.left_behind() == []


def test_standard_output_is_no_place_for_a_model(halfstep, job):
    words = ["quantize", job.model, "--calibration", job.samples, "-o", "-"]
    assert "files only" in halfstep(*words, code=2).err
