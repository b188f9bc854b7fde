"""`python -m halfstep` is the native command `halfstep` of this environment."""

import importlib.metadata
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path


def _candidates() -> Iterator[Path]:
    try:
        distribution = importlib.metadata.distribution("halfstep")
    except importlib.metadata.PackageNotFoundError:
        pass
    else:
        for file in distribution.files or ():
            if file.name == "halfstep" and file.parent.name == "bin":
                yield Path(str(distribution.locate_file(file)))
    yield Path(sysconfig.get_path("scripts"), "halfstep")


def main() -> int:
    """Becomes the command; comes back only if it is not there."""
    for command in _candidates():
        if command.is_file():
            os.execv(command, [str(command), *sys.argv[1:]])
    print("error: the command halfstep is not installed beside the package", file=sys.stderr)
    print("help: pip install --force-reinstall halfstep", file=sys.stderr)
    return 70


if __name__ == "__main__":
    sys.exit(main())
