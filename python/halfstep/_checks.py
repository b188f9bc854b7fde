"""Arguments from users, checked before the native part sees them: wrong ones name themselves."""

import operator
import os
from collections.abc import Iterable
from typing import NoReturn

import numpy as np

from halfstep._errors import InvalidArgument


def _refuse(name: str, value: object, expected: str) -> NoReturn:
    raise InvalidArgument(
        f"{name} is {value!r} of type {type(value).__name__}; expected {expected}"
    )


def check_path(name: str, value: object) -> str:
    """The path as text. Errors: InvalidArgument if it is none, or empty."""
    if not isinstance(value, str | os.PathLike):
        _refuse(name, value, "a path (str or os.PathLike)")
    path = os.fsdecode(value)
    if not path:
        raise InvalidArgument(f"{name} is empty; expected a path")
    return path


def check_optional_path(name: str, value: object) -> str:
    """The path as text, "" for None."""
    return "" if value is None else check_path(name, value)


def check_integer(name: str, value: object, least: int, most: int) -> int:
    """An integer (also of NumPy) in a range. Errors: InvalidArgument."""
    expected = f"an integer from {least} to {most}"
    if isinstance(value, bool | np.bool_):
        _refuse(name, value, expected)
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        _refuse(name, value, expected)
    if not least <= number <= most:
        raise InvalidArgument(f"{name} is {number}; expected {expected}")
    return number


def check_flag(name: str, value: object) -> bool:
    """True or False. Errors: InvalidArgument for everything else, as "no" would count as true."""
    if not isinstance(value, bool | np.bool_):
        _refuse(name, value, "True or False")
    return bool(value)


def check_text(name: str, value: object) -> str:
    """A text. Errors: InvalidArgument."""
    if not isinstance(value, str):
        _refuse(name, value, "a str")
    return value


def check_optional_text(name: str, value: object) -> str:
    """A text, "" for None. Errors: InvalidArgument."""
    return "" if value is None else check_text(name, value)


def check_optional_number(name: str, value: object) -> float | None:
    """A real number or None. Errors: InvalidArgument."""
    if value is None:
        return None
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        _refuse(name, value, "a number or None")
    return float(value)


def check_texts(name: str, value: object) -> list[str]:
    """A text or several as a list. Errors: InvalidArgument."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable) or isinstance(value, bytes | bytearray):
        _refuse(name, value, "a str or an iterable of str")
    texts = list(value)
    for position, text in enumerate(texts):
        if not isinstance(text, str):
            _refuse(f"{name}[{position}]", text, "a str")
    return texts


def check_callable(name: str, value: object) -> None:
    """Something to call, or None. Errors: InvalidArgument."""
    if value is not None and not callable(value):
        _refuse(name, value, "a callable or None")
