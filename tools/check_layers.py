#!/usr/bin/env python3
"""Checks who includes whom in halfstep/, cli/ and python/src against one table.

usage: tools/check_layers.py [ROOT]     prints each breach as FILE:LINE: what; exit code 1 if any
"""

import re
import sys
from pathlib import Path

# What the files of a folder may include besides their own folder. Transitive by hand: a folder that
# may use model may name core and support too.
BASE = {"support", "version"}
NUMBERS = BASE | {"core"}
ALLOWED = {
    "support": {"version"},
    "core": BASE,
    "encodings": NUMBERS,
    "targets": NUMBERS,
    "model": NUMBERS,
    "simulation": NUMBERS | {"model"},
    "engines": NUMBERS | {"model", "simulation"},
    "frontends": NUMBERS | {"encodings", "model"},
    "outputs": NUMBERS | {"encodings", "model", "engines"},
    "calibration": NUMBERS | {"encodings", "model", "engines"},
    "evaluation": NUMBERS | {"encodings", "model", "engines"},
    "adaptation": NUMBERS | {"encodings", "model", "targets"},
}
EVERYTHING = set(ALLOWED) | {"version", "pipeline"}

# Which library's headers may be named where: prefix of the header -> folders or files (prefixes).
LIBRARIES = {
    r"nlohmann/": ("halfstep/support/json",),
    r"yaml-cpp/|toml\+\+/|toml\.hpp": ("halfstep/support/",),
    r"unzip\.h|zip\.h|zlib\.h|minizip/": ("halfstep/support/", "halfstep/calibration/"),
    r"onnx/|google/protobuf/": (
        "halfstep/model/",
        "halfstep/simulation/",
        "halfstep/engines/",
        "halfstep/frontends/",
        "halfstep/calibration/",
        "halfstep/adaptation/",
        "halfstep/outputs/",
        "halfstep/evaluation/",
        "halfstep/pipeline",
    ),
    r"onnxruntime|core/session/": ("halfstep/engines/",),
    r"nanobind/|Python\.h": ("python/src/",),
    r"CLI/": ("cli/",),
}
# The only headers besides their own that the kernels may include.
KERNEL_HEADERS = re.compile(
    r"array|atomic|bit|cmath|cstddef|cstdint|cstring|initializer_list|limits|span|type_traits|utility"
    r"|.*intrin\.h|arm_neon\.h"
)

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
TARGET_NAME = re.compile(r"\bhtp_?v\d+\b|\bhtp\b|\blpai\b", re.IGNORECASE)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def folder_of(path: str) -> str:
    """The first folder below halfstep/; of a file in halfstep/ itself "pipeline" or "version"."""
    parts = path.split("/")
    if len(parts) == 2:
        return "version" if parts[1] == "version.h" else "pipeline"
    return parts[1]


def includes(text: str) -> list[tuple[int, str, str]]:
    return [
        (text.count("\n", 0, match.start(2)) + 1, match.group(1), match.group(2))
        for match in INCLUDE.finditer(text)
    ]


def check_own(path: str, header: str) -> str | None:
    if not path.startswith("halfstep/"):
        return None
    own, other = folder_of(path), folder_of(header)
    if own == other or own in ("pipeline", "version"):
        return None
    if own not in ALLOWED:
        return f"the folder halfstep/{own} is not in the table of tools/check_layers.py"
    if other not in ALLOWED[own]:
        return f"halfstep/{own} may not include {header}"
    return None


def check_library(path: str, header: str) -> str | None:
    for pattern, places in LIBRARIES.items():
        if re.match(pattern, header) and not path.startswith(places):
            return f"{header} may only be included in {', '.join(places)}"
    return None


def check_kernel(path: str, bracket: str, header: str) -> str | None:
    if not path.startswith("halfstep/core/kernels/"):
        return None
    own = header.startswith("halfstep/core/kernels/")
    known = own if bracket == '"' else KERNEL_HEADERS.fullmatch(header)
    return None if known else f"a kernel includes {header}"


def check_file(root: Path, path: str) -> list[str]:
    text = (root / path).read_text(encoding="utf-8")
    found = []
    for line, bracket, header in includes(text):
        breaches = [check_kernel(path, bracket, header)]
        if header.startswith("halfstep/"):
            breaches.append(check_own(path, header))
        else:
            breaches.append(check_library(path, header))
        found += [f"{path}:{line}: {breach}" for breach in breaches if breach]
    if path.startswith("halfstep/adaptation/"):
        code = COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)
        for match in TARGET_NAME.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            found.append(f'{path}:{line}: a pass names the target "{match.group()}"')
    return found


def breaches(root: Path) -> list[str]:
    found = []
    for folder in ("halfstep", "cli", "python/src"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".h", ".cpp"):
                found += check_file(root, file.relative_to(root).as_posix())
    return found


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    found = breaches(root)
    print("\n".join(found) if found else "layers: all includes are allowed")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
