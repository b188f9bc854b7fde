"""Small models of the kinds that break quantizers: each function makes one case."""

from . import bodies, names, operators, shapes_of_operators, types, weights
from .registry import CASES

__all__ = ["CASES", "bodies", "names", "operators", "shapes_of_operators", "types", "weights"]
