"""What a front end is asked, and what it says."""

import difflib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path


class FrontendError(Exception):
    """`kind` is one of halfstep.Error's kinds, or "missing" for a package that is not there."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True)
class Diagnostic:
    severity: str  # note, warning
    rule: str
    subject: str
    message: str


@dataclass
class Request:
    """Nothing is left open: what the caller did not say is empty."""

    kind: str
    model: str
    output: str
    report: str
    signature: str = ""
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    input_extents: dict[str, list[int]] = field(default_factory=dict)


def read_request(text: str) -> Request:
    return Request(**json.loads(text))


def write_report(path: str, document: dict[str, object]) -> None:
    """Appears under its name only when it is complete."""
    temporary = Path(path + ".tmp")
    temporary.write_text(json.dumps(document), encoding="utf-8")
    os.replace(temporary, path)


def closest(name: str, names: Iterable[str]) -> str:
    """'; did you mean "x"?', or the names that there are."""
    known = sorted(names)
    found = difflib.get_close_matches(name, known, n=1)
    if found:
        return f'; did you mean "{found[0]}"?'
    return "; there are: " + ", ".join(f'"{name}"' for name in known[:8]) if known else ""


def first_line(error: BaseException) -> str:
    """The message of an exception of somebody else's, short enough for one line."""
    text = " ".join(str(error).split())
    return (text[:297] + "...") if len(text) > 300 else text or type(error).__name__
