"""Where the engine's library lies."""

import importlib.util
from pathlib import Path

from halfstep import _core


def find_onnxruntime() -> str:
    """Path of the shared library in the installed package onnxruntime, which is not imported.

    Empty if there is no such package or it has no separate library.
    """
    spec = importlib.util.find_spec("onnxruntime")
    for folder in (spec and spec.submodule_search_locations) or ():
        for library in sorted(Path(folder, "capi").glob("libonnxruntime.so*")):
            return str(library)
    return ""


def make_onnxruntime_engine(library: str = "") -> _core.Engine:
    """ONNX Runtime as the engine; `library` is the path of its shared library.

    Without a path: the library of the installed package onnxruntime, then the system's.

    Errors: Unsupported with every place looked at and the install command.
    """
    return _core.make_onnxruntime_engine(library or find_onnxruntime())
