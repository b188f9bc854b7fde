"""halfstep.verify: the emulator or dumps of a device beside the simulation."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import halfstep

CASE = Path(__file__).resolve().parent.parent / "golden/htp_cases/conv_net"
needs_libraries = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime_qnn") is None,
    reason="needs pip install 'halfstep[qnn]' (x86-64 Linux)",
)


@pytest.fixture(scope="module")
def adapted() -> halfstep.Model:
    return halfstep.convert(CASE / "model.onnx", CASE / "w8a8_pc.encodings", "HTP", "v75").model


@needs_libraries
def test_runs_beside_the_simulation(adapted):
    phases = []
    result = halfstep.verify(
        adapted, CASE / "data.npz", CASE / "model.onnx", tensors="all", fail_on="10dB",
        progress=lambda phase, done, total: phases.append(phase),
    )  # fmt: skip
    assert result["target"] == "htp_v75"
    assert result["source"] == "emulator"
    assert result["failed"] is False
    rows = {row["tensor"]: row for row in result["tensors"]}
    assert rows["r1"]["max_steps"] <= 1
    assert rows["logits"]["target_float_db"] > 25
    assert "verify" in phases


def test_dumps_of_samples_in_memory(adapted, tmp_path):
    with np.load(CASE / "data.npz") as data:  # one sample of one input
        samples = [{"image": data["image"]}]
    output = halfstep.make_onnxruntime_engine().open(adapted, optimize=False).run(samples[0])
    logits = output["logits"]
    folder = tmp_path / "Result_0"
    folder.mkdir()
    np.save(folder / "logits.npy", np.asarray(logits, np.float32))
    result = halfstep.verify(adapted, samples, dumps=tmp_path, arithmetic="qdq")
    assert result["arithmetic"] == "qdq"
    assert [row["target_simulation_db"] for row in result["tensors"]] == ["inf"]
    assert result["first_departure"] is None
    np.save(folder / "logits.npy", np.zeros(3, np.float32))
    with pytest.raises(halfstep.InvalidFile, match=r"logits\.npy.*found float32 \[3\]"):
        halfstep.verify(adapted, samples, dumps=tmp_path)


def test_arguments_that_are_refused(adapted, tmp_path):
    data = CASE / "data.npz"
    with pytest.raises(halfstep.InvalidArgument, match="simulation="):
        halfstep.verify("net.dlc", data)
    with pytest.raises(halfstep.InvalidArgument, match="expected target or qdq"):
        halfstep.verify(adapted, data, arithmetic="chip")
    with pytest.raises(halfstep.InvalidArgument, match="for a DLC"):
        halfstep.verify(adapted, data, simulation=adapted)
    with pytest.raises(halfstep.InvalidArgument, match="--on htp"):
        halfstep.verify(adapted, data, on="cpu")
    with pytest.raises(halfstep.InvalidArgument, match="2steps"):
        halfstep.verify(adapted, data, fail_on="much")
    with pytest.raises(halfstep.InvalidArgument, match="data is None"):
        halfstep.verify(adapted, None)
    with pytest.raises(halfstep.Unsupported, match=r"pip install 'halfstep\[qnn\]'"):
        halfstep.verify(adapted, data, qnn_libs=tmp_path)
