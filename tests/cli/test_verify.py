"""`halfstep verify`: the emulator or dumps of a device beside the simulation."""

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

ROOT = Path(__file__).resolve().parent.parent.parent
CASES = ROOT / "tests/golden/htp_cases"
LIBRARIES = importlib.util.find_spec("onnxruntime_qnn") is not None
needs_libraries = pytest.mark.skipif(
    not LIBRARIES, reason="needs pip install 'halfstep[qnn]' (x86-64 Linux)"
)


@pytest.fixture(scope="module")
def libraries() -> list[str]:
    """The option that names the libraries: the development build lies in no environment."""
    spec = importlib.util.find_spec("onnxruntime_qnn")
    return ["--qnn-libs", spec.submodule_search_locations[0]] if spec else []


@pytest.fixture(scope="module")
def adapted(halfstep, tmp_path_factory):
    """The Q/DQ model of a case, by case and encodings."""
    folder = tmp_path_factory.mktemp("adapted")

    def make(case: str, encodings: str, *more: object) -> Path:
        written = folder / f"{case}.{encodings}.onnx"
        if not written.exists():
            given = CASES / case / f"{encodings}.encodings"
            halfstep(
                "convert", "-i", CASES / case / "model.onnx", "--quantization_overrides", given,
                "--htp_arch", "v75", "-o", written, *more,
            )  # fmt: skip
        return written

    return make


@pytest.fixture(scope="module")
def conv_net(adapted) -> Path:
    return adapted("conv_net", "w8a8_pc")


DATA = CASES / "conv_net/data.npz"


def rows(document: dict) -> dict[str, dict]:
    return {row["tensor"]: row for row in document["verify"]["tensors"]}


@needs_libraries
def test_a_conv_net_of_8_bits(halfstep, conv_net, libraries):
    result = halfstep(
        "verify", conv_net, "--on", "htp", "--arch", "v75", "--data", DATA, "--tensors", "all",
        "--float", CASES / "conv_net/model.onnx", "--json", *libraries,
    )  # fmt: skip
    document = result.json
    assert document["command"] == "verify"
    assert document["verify"]["target"] == "htp_v75"
    assert document["verify"]["source"] == "emulator"
    table = rows(document)
    assert document["verify"]["arithmetic"] == "target"
    assert document["verify"]["followed"] >= 7
    # Convolutions, a fused Clip, an Add, pools: as on the chip.
    for tensor in ("r1", "dw", "r6", "pw", "r2", "mp", "cat"):
        assert table[tensor]["equal"] >= 0.98, tensor
    assert table["logits"]["output"]
    assert table["logits"]["target_float_db"] > 25
    for row in table.values():
        assert row["target_simulation_db"] == "inf" or row["target_simulation_db"] > 25


@needs_libraries
def test_a_net_of_16_bit_activations_is_far_closer_than_its_error(halfstep, adapted, libraries):
    model = adapted("conv_net", "w8a16_pc")
    result = halfstep(
        "verify", model, "--on", "htp", "--data", DATA, "--json",
        "--float", CASES / "conv_net/model.onnx", *libraries,
    )  # fmt: skip
    assert rows(result.json)["logits"]["margin_db"] >= 20


@needs_libraries
@pytest.mark.parametrize("case", ["conv_net", "attention", "llm_block", "mixed_ops", "upsample"])
def test_the_simulation_of_8_bits_is_closer_than_the_error(
    halfstep, adapted, libraries, tmp_path, case
):
    model = adapted(case, "w8a8_pc")
    with np.load(CASES / case / "data.npz") as file:
        np.savez(tmp_path / "one.npz", **{f"000/{name}": file[name] for name in file.files})
    margins = {}
    for arithmetic in ("target", "qdq"):
        document = halfstep(
            "verify", model, "--on", "htp", "--arch", "v75", "--data", tmp_path / "one.npz",
            "--cast-inputs", "--float", CASES / case / "model.onnx", "--arithmetic", arithmetic,
            "--json", *libraries,
        ).json  # fmt: skip
        assert document["verify"]["arithmetic"] == arithmetic
        found = [r["margin_db"] for r in document["verify"]["tensors"]]
        margins[arithmetic] = min(1000.0 if m in (None, "inf") else m for m in found)
    # Of conv_net's ten outputs three are one step apart: 9.2 dB.
    assert margins["target"] >= (9 if case == "conv_net" else 10)
    assert margins["target"] > margins["qdq"]


@needs_libraries
def test_a_dlc_runs_beside_its_simulation(halfstep, conv_net, libraries, tmp_path):
    dlc = tmp_path / "net.dlc"
    halfstep("convert", "-i", conv_net, "--htp_arch", "v75", "-o", dlc, *libraries)
    table = ["verify", dlc, "--simulation", conv_net, "--on", "htp", "--data", DATA, *libraries]
    text = halfstep(*table).out
    assert "target/simulation" in text
    assert any(line.split()[:1] == ["logits"] for line in text.splitlines())
    assert "Q/DQ" in halfstep(*table, "--tensors", "all", code=2).err


@needs_libraries
def test_a_graph_of_any_name_runs_as_dlc(halfstep, conv_net, libraries, tmp_path):
    proto = onnx.load(conv_net)
    proto.graph.name = "Model from a-tool 1.0."
    renamed = {"logits": "soft/max_1.tmp:0", "image": "serving/x:0"}
    for node in proto.graph.node:
        for names in (node.input, node.output):
            names[:] = [renamed.get(name, name) for name in names]
    for value in [*proto.graph.input, *proto.graph.output]:
        value.name = renamed.get(value.name, value.name)
    onnx.save(proto, tmp_path / "net.onnx")
    with np.load(DATA) as file:
        np.savez(tmp_path / "data.npz", **{"serving/x:0": file["image"]})
    dlc = tmp_path / "net.dlc"
    halfstep("convert", "-i", tmp_path / "net.onnx", "--htp_arch", "v75", "-o", dlc, *libraries)
    words = ["verify", dlc, "--simulation", tmp_path / "net.onnx", "--on", "htp"]
    out = halfstep(*words, "--data", tmp_path / "data.npz", *libraries).out
    assert "soft/max_1.tmp:0" in out


@needs_libraries
def test_fail_on_is_the_exit_code(halfstep, conv_net, libraries):
    words = ["verify", conv_net, "--on", "htp", "--data", DATA, "--tensors", "all", *libraries]
    assert "no tensor departs" in halfstep(*words, "--fail-on", "10dB").out
    words += ["--arithmetic", "qdq"]
    result = halfstep(*words, "--fail-on", "200dB", code=1)
    assert "first tensor that departs (SQNR below 200.0 dB): 'r1'" in result.out
    assert halfstep(*words, "--fail-on", "1step", "--json", code=1).json["failed"] is True


def simulated(model: Path, data: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What the Q/DQ model computes, by tensor of the user's model."""
    import onnxruntime as ort

    proto = onnx.load(model)
    behind = {
        node.input[0]: node.output[0]
        for node in proto.graph.node
        if node.op_type == "DequantizeLinear"
    }
    seen = {
        node.input[0]: behind[node.output[0]]
        for node in proto.graph.node
        if node.op_type == "QuantizeLinear" and node.output[0] in behind
    }
    outputs = {o.name for o in proto.graph.output}
    proto.graph.output.extend(
        onnx.ValueInfoProto(name=n) for n in sorted({*seen.values()} - outputs)
    )
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(proto.SerializeToString(), options)
    names = [o.name for o in session.get_outputs()]
    values = dict(zip(names, session.run(None, data), strict=True))
    return {name: values[inner] for name, inner in seen.items()} | {
        name: values[name] for name in outputs
    }


@pytest.fixture
def dumped(conv_net, tmp_path):
    """A folder of dumps that say what the simulation says: floats of r1 as the chip stores them."""
    with np.load(DATA) as file:
        data = {name.split("/")[-1]: file[name] for name in file.files}
    values = simulated(conv_net, data)
    folder = tmp_path / "dumps/Result_0"
    folder.mkdir(parents=True)
    values["r1"].transpose(0, 2, 3, 1).astype("<f4").tofile(folder / "r1.raw")
    np.save(folder / "mp.npy", values["mp"])
    values["logits"].astype("<f4").tofile(folder / "logits_native.raw")
    return folder.parent


def test_dumps_of_a_device(halfstep, conv_net, dumped):
    words = [
        "verify",
        conv_net,
        "--arithmetic",
        "qdq",
        "--dumps",
        dumped,
        "--data",
        DATA,
        "--tensors",
        "all",
        "--json",
    ]
    document = halfstep(*words).json
    assert document["verify"]["source"] == "dumps"
    table = rows(document)
    assert set(table) == {"r1", "mp", "logits"}
    assert {row["equal"] for row in table.values()} == {1.0}
    assert document["verify"]["first_departure"] is None
    assert any(d["rule"] == "verify/not-compared" for d in document["diagnostics"])

    # A device that computes something else is found, where it begins.
    array = np.load(dumped / "Result_0/mp.npy")
    np.save(dumped / "Result_0/mp.npy", array + 1)
    first = halfstep(*words).json["verify"]["first_departure"]
    assert (first["tensor"], first["op_type"]) == ("mp", "PoolMax2d")


def test_codes_in_the_type_of_the_tensor(halfstep, conv_net, dumped):
    proto = onnx.load(conv_net)
    constants = {t.name: numpy_helper.to_array(t) for t in proto.graph.initializer}
    dequantize = next(n for n in proto.graph.node if n.output[0] == "logits")
    scale, zero = (constants[name] for name in dequantize.input[1:3])
    file = dumped / "Result_0/logits_native.raw"
    codes = np.round(np.fromfile(file, "<f4") / scale) + zero
    codes.astype(zero.dtype).tofile(file)
    words = [
        "verify",
        conv_net,
        "--arithmetic",
        "qdq",
        "--dumps",
        dumped,
        "--data",
        DATA,
        "--tensors",
        "logits",
    ]
    assert "100 %" in halfstep(*words).out


def test_dumps_that_do_not_fit(halfstep, conv_net, dumped, tmp_path):
    words = ["verify", conv_net, "--data", DATA, "--tensors", "all", "--dumps"]
    file = dumped / "Result_0/r1.raw"
    file.write_bytes(b"\0" * 10)
    err = halfstep(*words, dumped, code=4).err
    assert str(file) in err and "found 10 bytes" in err and "expected" in err and "float32" in err
    file.unlink()
    np.save(dumped / "Result_0/mp.npy", np.zeros((1, 2), np.float32))
    err = halfstep(*words, dumped, code=4).err
    assert "mp.npy" in err and "float32 [1, 2]" in err
    (dumped / "Result_0/mp.npy").unlink()
    shutil.copytree(dumped / "Result_0", dumped / "Result_2")
    assert "no Result_1" in halfstep(*words, dumped, code=4).err
    (dumped / "Result_2").rename(dumped / "Result_1")
    assert "2 samples" in halfstep(*words, dumped, code=4).err
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "NAME.raw" in halfstep(*words, empty, code=4).err
    assert "does not exist" in halfstep(*words, tmp_path / "missing", code=4).err


def test_without_libraries(halfstep, conv_net, tmp_path):
    words = ["verify", conv_net, "--on", "htp", "--data", DATA, "--qnn-libs", tmp_path]
    result = halfstep(*words, code=5)
    assert "pip install 'halfstep[qnn]'" in result.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["net.onnx", "--on", "htp"], "--data"),
        (["net.onnx", "--data", DATA], "--on"),
        (["net.dlc", "--on", "htp", "--data", DATA], "--simulation"),
        (["net.onnx", "--on", "htp", "--data", DATA, "--simulation", "net.onnx"], "for a DLC"),
        ([], "no model"),
    ],
)
def test_what_has_to_be_given(halfstep, words, said):
    assert said in halfstep("verify", *words, code=2).err


def test_choices_that_there_are_not(halfstep, conv_net, dumped):
    words = ["verify", conv_net, "--data", DATA]
    assert "--on htp" in halfstep(*words, "--on", "lpai", code=2).err
    dumps = [*words, "--dumps", dumped]
    assert "v75" in halfstep(*dumps, "--arch", "v99", code=2).err
    assert "2steps" in halfstep(*dumps, "--fail-on", "much", code=2).err
    assert "closest name is 'logits'" in halfstep(*dumps, "--tensors", "logit", code=2).err
