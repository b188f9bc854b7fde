"""The command as users run it, with the Python that has TensorFlow."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import onnxruntime
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def find_command() -> Path:
    """HALFSTEP_COMMAND, else the installed command, else that of the development build."""
    given = os.environ.get("HALFSTEP_COMMAND")
    places = [Path(given)] if given else []
    places += [ROOT / ".venv/bin/halfstep", ROOT / "build/dev/cli/halfstep"]
    return next(place for place in places if place.is_file())


@pytest.fixture(scope="session")
def halfstep(tmp_path_factory):
    """Runs the command; with --json gives what it prints, too."""
    library = next(Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so*"))
    environment = os.environ | {"HALFSTEP_PYTHON": sys.executable, "HALFSTEP_ORT": str(library)}

    def run(*arguments: object, code: int = 0) -> SimpleNamespace:
        words = [str(find_command()), *map(str, arguments)]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=600)
        assert done.returncode == code, done.stdout + done.stderr
        document = json.loads(done.stdout) if "--json" in words else None
        return SimpleNamespace(out=done.stdout, err=done.stderr, json=document)

    return run
