"""Finds and runs the `halfstep` command."""

import shutil
import subprocess
import sys
from pathlib import Path


class DemoError(Exception):
    """The demo can't go on; the text says why and what to do."""


def find_command(given: Path | None) -> Path:
    """The `halfstep` command: the given one, else that of this Python environment.

    Errors: DemoError with the install command.
    """
    beside = Path(sys.executable).parent / "halfstep"
    on_path = shutil.which("halfstep")
    for candidate in (given,) if given else (beside, Path(on_path) if on_path else None):
        if candidate and candidate.is_file():
            return candidate
    where = given or beside
    raise DemoError(f"no halfstep command at {where}; install it with: pip install .")


def quantize(
    command: Path, model: Path, calibration: Path, output: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    """Runs `halfstep quantize` with recipe a8w8; stdout is the summary as JSON.

    Errors: DemoError with the message of the command.
    """
    call = [str(command), "quantize", str(model), "--calibration", str(calibration)]
    call += ["-o", str(output), "--recipe", "a8w8", "--force", "--json", *options]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DemoError(f"{' '.join(call)}: exit code {done.returncode}\n{done.stderr.strip()}")
    return done
