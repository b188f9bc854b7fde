"""The comparison with AIMET's own simulation and Q/DQ models, on the cases that are kept here."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_never_worse_than_by_a_step_and_the_same_integers(halfstep, tmp_path):
    out = tmp_path / "cases.json"
    command = [sys.executable, ROOT / "benchmarks/aimet_cases.py", ROOT / "tests/golden/encodings"]
    done = subprocess.run(
        [*command, "--halfstep", halfstep.path, "--json", out],
        capture_output=True, text=True, check=False, env=halfstep.environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    cases = {case["name"]: case for case in json.loads(out.read_text())}
    assert len(cases) >= 5
    assert cases["mlp_square/w8a8_pc"]["ours"] == 0.0
    assert cases["mixed_ops/w8a8_pc"]["different"] == 0
