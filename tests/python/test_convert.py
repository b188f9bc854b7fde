"""halfstep.convert, explain, rule, targets: the same as the commands of these names."""

import json

import onnx
import pytest

import halfstep


@pytest.fixture
def overrides(conv_proto, samples, tmp_path):
    """Encodings of the model, as a file."""
    path = tmp_path / "model.encodings"
    halfstep.quantize(conv_proto, samples, encodings_out=path)
    return path


def test_overrides_are_adapted(conv_path, overrides, tmp_path):
    output = tmp_path / "out.onnx"
    result = halfstep.convert(conv_path, overrides, "HTP", output=output)
    assert output.read_bytes() == result.model.serialize()
    assert result.summary["target"] == "htp_v75"
    assert result.summary["remark"] == "htp_arch not given: v75"
    assert result.summary["adapted"]["super_groups"] > 0
    assert any(d.rule == "adapt/super-group" for d in result.diagnostics)
    onnx.checker.check_model(output)


def test_backend_and_arch_are_a_target(conv_path, overrides):
    named = halfstep.convert(conv_path, overrides, target="htp_v69").model.serialize()
    for backend, arch in (("HTP", "v69"), ("htp", "69"), (None, "v69")):
        result = halfstep.convert(conv_path, overrides, target_backend=backend, htp_arch=arch)
        assert result.model.serialize() == named


def test_without_target_encodings_are_applied(conv_path, overrides):
    result = halfstep.convert(conv_path, quantization_overrides=overrides)
    assert result.summary["adapted"] is None
    applied = halfstep.apply_encodings(conv_path, overrides)
    assert result.model.serialize() == applied.model.serialize()


def test_a_dry_run_leaves_the_model(conv_proto, overrides, tmp_path):
    output = tmp_path / "out.onnx"
    result = halfstep.convert(conv_proto, overrides, "HTP", output=output, dry_run=True)
    assert not output.exists()
    assert result.summary["adapted"]["super_groups"] > 0
    ops = {node.op_type for node in onnx.load_from_string(result.model.serialize()).graph.node}
    assert "QuantizeLinear" not in ops


def test_explain(conv_path, overrides, tmp_path):
    result = halfstep.convert(conv_path, overrides, "HTP", output=tmp_path / "out.onnx")
    everything = halfstep.explain(tmp_path / "out.onnx")
    assert everything == halfstep.explain(result.model)
    assert everything["target"] == "htp_v75"
    assert sum(everything["totals"].values()) == len(everything["decisions"])
    decision = everything["decisions"][0]
    one = halfstep.explain(result.model, decision["subject"])
    assert decision in one["decisions"]
    assert json.loads(json.dumps(one)) == one
    with pytest.raises(halfstep.InvalidArgument, match="did you mean"):
        halfstep.explain(result.model, decision["subject"] + "x")
    with pytest.raises(halfstep.NothingToDo, match="no decisions are recorded"):
        halfstep.explain(conv_path)


def test_rule():
    assert halfstep.rule("adapt/convert").startswith("# adapt/convert: ")
    with pytest.raises(halfstep.InvalidArgument, match="adapt/convert"):
        halfstep.rule("adapt/convrt")


def test_targets(tmp_path):
    shipped = halfstep.targets()
    assert {"cpu", "none", "lpai", "htp_v68", "htp_v81"} <= set(shipped)
    assert halfstep.targets("htp_v75")["summary"] == shipped["htp_v75"]
    assert "Conv2d" in halfstep.targets("htp_v75")["kernels"]
    assert "Conv" in halfstep.targets("cpu")["ops"]
    own = tmp_path / "mine.json"
    own.write_text(json.dumps({"schema": 1, "name": "mine", "extends": "htp_v75", "summary": "s"}))
    assert halfstep.targets(own)["summary"] == "s"
    with pytest.raises(halfstep.InvalidArgument, match="htp_v75"):
        halfstep.targets("htp_v57")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"target_backend": "GPU"}, ["HTP, LPAI and CPU"]),
        ({"target_backend": "HTP", "htp_arch": "v99"}, ["v99", "v75"]),
        ({"target_backend": "CPU", "htp_arch": "v75"}, ["leave it out"]),
        ({"target": "none", "target_backend": "HTP"}, ["give one of them"]),
        ({"target": "htp_v99"}, ["htp_v"]),
        ({"target_backend": 5}, ["target_backend", "int"]),
        ({"htp_arch": 75}, ["htp_arch", "int"]),
        ({"output": 5}, ["output", "int"]),
        ({"fallback": 1}, ["fallback", "True or False"]),
        ({"fallback": True}, ["no tables", "leave it out"]),
        ({"skip": "fold-bais", "target_backend": "HTP"}, ["fold-bias"]),
        ({"skip": [5]}, ["skip[0]", "int"]),
        ({"progress": 7}, ["progress", "callable"]),
    ],
)
def test_wrong_arguments(conv_path, arguments, words):
    with pytest.raises(halfstep.InvalidArgument) as caught:
        halfstep.convert(conv_path, **arguments)
    for word in words:
        assert word in str(caught.value)


def test_what_a_target_cannot_run_is_unsupported(conv_path):
    with pytest.raises(halfstep.Unsupported, match="adapt/no-"):
        halfstep.convert(conv_path, target_backend="LPAI")


def test_quantize_skips_and_falls_back(conv_proto, samples):
    whole = halfstep.quantize(conv_proto, samples, target="htp_v75", fallback=True)
    assert any(d.rule == "adapt/super-group" for d in whole.diagnostics)
    less = halfstep.quantize(conv_proto, samples, target="htp_v75", skip="super-groups")
    assert not any(d.rule == "adapt/super-group" for d in less.diagnostics)
    with pytest.raises(halfstep.InvalidArgument, match="no tables"):
        halfstep.quantize(conv_proto, samples, fallback=True)
