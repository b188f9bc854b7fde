"""The exceptions of halfstep: one class per kind of error, each also the built-in one expects."""

# ruff: noqa: N818  (the names are those of the kinds; not all of them are errors)

from collections.abc import Sequence
from typing import ClassVar


class Error(Exception):
    """Base of every error that halfstep raises.

    str() reads from the outside in: file, tensor or node, what is wrong, what was expected.
    """

    kind: ClassVar[str] = "error"
    """The kind of the error, as the command line knows it."""
    context: tuple[str, ...]
    """The levels from the outside in; the last one is the bare message."""

    def __init__(self, message: str = "", context: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.context = tuple(context) or (message,)

    def __reduce__(self) -> tuple[type, tuple[str, tuple[str, ...]]]:
        return type(self), (str(self), self.context)


class InvalidArgument(Error, ValueError):
    """A wrong argument, option, recipe or spec."""

    kind = "invalid_argument"


class NothingToDo(Error, RuntimeError):
    """The request would change nothing."""

    kind = "nothing_to_do"


class InvalidFile(Error, ValueError, OSError):
    """A file (model, samples, encodings) is missing or wrong, or a sample does not fit."""

    kind = "invalid_file"


class IoError(Error, OSError):
    """Reading or writing failed (permissions, full disk)."""

    kind = "io"


class Unsupported(Error, RuntimeError):
    """The target, engine or format cannot do it."""

    kind = "unsupported"


class InternalError(Error, RuntimeError):
    """A defect of halfstep. Please report it."""

    kind = "internal"


class Interrupted(KeyboardInterrupt):
    """The work was asked to stop; nothing was written. Not an `Error`, as Ctrl-C is not one."""

    kind: ClassVar[str] = "interrupted"
    context: tuple[str, ...]

    def __init__(self, message: str = "", context: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.context = tuple(context) or (message,)


_causes: dict[str, BaseException] = {}
"""What classes of the user raised inside the library, by the message that stands for it there."""


def remember_cause(raised: BaseException, what: str) -> str:
    """Keeps an exception that crosses the library as an error; returns that error's message."""
    message = f"{what} raised {type(raised).__name__}: {raised}"
    _causes.clear()
    _causes[message] = raised
    return message


def make_error(name: str, message: str, context: Sequence[str]) -> BaseException:
    """The exception for an error of the library, with the exception that caused it, if one did."""
    error: BaseException = globals()[name](message, context)
    error.__cause__ = _causes.pop(context[-1], None)
    return error
