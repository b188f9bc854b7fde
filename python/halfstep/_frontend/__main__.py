"""python -m halfstep._frontend REQUEST: writes an ONNX model and a report; see report.Request."""

import ctypes
import importlib
import os
import signal
import sys
import traceback
from dataclasses import asdict

from halfstep._frontend.report import FrontendError, Request, read_request, write_report

MODULES = {
    "tensorflow": "halfstep._frontend.tensorflow",
    "torch": "halfstep._frontend.torch",
}
PARENT_DEATH = 1  # PR_SET_PDEATHSIG


def end_with_parent() -> None:
    """A parent that is killed takes this process with it."""
    try:
        ctypes.CDLL(None).prctl(PARENT_DEATH, signal.SIGKILL)
    except (AttributeError, OSError):  # not Linux
        return
    if os.getppid() == 1:
        sys.exit(1)


def last_place(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{os.path.basename(frame.filename)}:{frame.lineno}"


def run(request: Request) -> dict[str, object]:
    """The report. `convert` of a module writes request.output and returns its diagnostics."""
    try:
        module = importlib.import_module(MODULES[request.kind])
        diagnostics = module.convert(request)
    except FrontendError as error:
        return {"error": {"kind": error.kind, "message": str(error)}}
    except ImportError as error:
        return {"error": {"kind": "missing", "message": str(error)}}
    except MemoryError:
        message = "memory ran out while the model was converted"
        return {"error": {"kind": "unsupported", "message": message}}
    except Exception as error:
        text = " ".join(str(error).split())[:500]
        message = f"{type(error).__name__}: {text} ({last_place(error)})"
        traceback.print_exc()
        return {"error": {"kind": "internal", "message": message}}
    return {"diagnostics": [asdict(diagnostic) for diagnostic in diagnostics]}


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python -m halfstep._frontend REQUEST", file=sys.stderr)
        return 2
    end_with_parent()
    request = read_request(sys.argv[1])
    report = run(request)
    write_report(request.report, report)
    return 1 if "error" in report else 0


if __name__ == "__main__":
    # Frameworks keep threads that end late, or never; nothing is left to be done.
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
