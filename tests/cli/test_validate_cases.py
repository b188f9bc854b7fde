"""Qualcomm's validator accepts every operator of all adapted models; their DLCs are written."""

import importlib.util
from pathlib import Path

import pytest

CASES = Path(__file__).resolve().parents[1] / "golden" / "htp_cases"
ENCODINGS = sorted(CASES.glob("*/*.encodings"))

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime_qnn") is None,
    reason="needs pip install 'halfstep[qnn]' (x86-64 Linux)",
)


@pytest.mark.parametrize("arch", ["v69", "v75", "v81"])
@pytest.mark.parametrize("folder", sorted({path.parent.name for path in ENCODINGS}))
def test_every_operator_is_accepted(halfstep, tmp_path, folder, arch):
    for path in ENCODINGS:
        if path.parent.name != folder:
            continue
        written = tmp_path / f"{path.stem}.dlc"
        done = halfstep(
            "convert", "-i", path.parent / "model.onnx", "--quantization_overrides", path,
            "--target_backend", "HTP", "--htp_arch", arch, "--fallback", "--validate", "--json",
            "-o", written,
        )  # fmt: skip
        assert done.code == 0, f"{path.stem}: {done.err}"
        validated = done.json["summary"]["validated"]
        assert validated["operators"] == sum(validated["accepted"].values()) > 0
        assert written.stat().st_size > 0
