"""Every example in examples/python runs."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted(Path(__file__).parents[2].glob("examples/python/*.py"))


def test_the_examples_are_numbered():
    assert [int(path.name[:2]) for path in EXAMPLES] == list(range(1, len(EXAMPLES) + 1))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    command = [sys.executable, str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout
    assert "leaked" not in done.stderr
    assert not list(tmp_path.iterdir())
