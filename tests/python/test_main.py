import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import halfstep


@pytest.mark.skipif(
    not Path(sysconfig.get_path("scripts"), "halfstep").exists(), reason="command not installed"
)
def test_python_m_runs_the_command():
    command = [sys.executable, "-m", "halfstep", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert halfstep.__version__ in done.stdout


def test_the_version_is_that_of_the_package():
    assert halfstep.__version__.count(".") == 2


def test_every_public_name_exists_and_is_documented():
    for name in halfstep.__all__:
        value = getattr(halfstep, name)
        if name != "__version__":
            assert value.__doc__, name
