"""`halfstep inspect` of a DLC, and the process that calls Qualcomm's libraries."""

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
DATA = ROOT / "tests/unit/engines_qnn/data"


def test_inspect_shows_operators_tensors_and_super_groups(halfstep):
    text = halfstep("inspect", DATA / "conv_relu.dlc").out
    assert "DLC version 4.1" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["Conv2d", "conv", "x,", "w,", "b", "c"] in [row[:6] for row in rows]
    assert next(row for row in rows if row[:2] == ["Neuron", "relu"])[-1] == "0"
    assert ["x", "app_write", "ufixed8", "[1,", "2,", "2,", "8]", "0.01,", "offset", "-128"] in rows


def test_inspect_as_json(halfstep):
    document = halfstep("inspect", DATA / "conv_relu.dlc", "--json").json
    assert document["command"] == "inspect"
    dlc = document["dlc"]
    assert dlc["container"] == [4, 1]
    assert dlc["tool"]["name"] == "halfstep"
    graph = dlc["graphs"][0]
    assert [op["type"] for op in graph["operators"]] == ["Conv2d", "Neuron"]
    assert graph["operators"][0]["params"]["stride"] == [1, 1]
    assert graph["operators"][0]["super_group"] == 0
    weight = next(tensor for tensor in graph["tensors"] if tensor["name"] == "w")
    assert weight["shape"] == [1, 1, 8, 4]
    assert weight["encoding"]["kind"] == "per_axis"
    assert len(weight["encoding"]["scales"]) == 4


def test_a_file_that_is_no_dlc(halfstep, tmp_path):
    broken = tmp_path / "net.dlc"
    broken.write_bytes((DATA / "conv_relu.dlc").read_bytes()[:2000])
    result = halfstep("inspect", broken, code=4)
    assert str(broken) in result.err
    assert "zip" in result.err
    result = halfstep("inspect", tmp_path / "missing.dlc", code=4)
    assert "missing.dlc" in result.err


def test_the_worker_is_no_command_for_users(halfstep):
    for arguments in (["_worker"], ["_worker", "qnn"], ["_worker", "other"]):
        result = halfstep(*arguments, code=2, stdin=subprocess.DEVNULL)
        assert "started by halfstep itself" in result.err
    assert "_worker" not in halfstep("--help").out


def test_members_are_a_sound_zip_archive():
    """Any zip tool opens what halfstep writes: its checksums are right."""
    import zipfile

    with zipfile.ZipFile(DATA / "conv_relu.dlc") as archive:
        assert archive.testzip() is None
        assert json.loads(archive.read("halfstep.json"))["super_groups"] == {"conv": 0, "relu": 0}
