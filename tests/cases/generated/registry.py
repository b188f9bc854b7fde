"""The table of generated cases: name -> function that makes it."""

from __future__ import annotations

from collections.abc import Callable

from cases.builder import Builder, Case

CASES: dict[str, Callable[[], Case]] = {}
N, K, M = 4, 32, 48


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES[make.__name__] = make
    return make


def simple(builder: Builder, opset: int = 17, **options: object) -> Case:
    """x [N, K] -> y, as far as the builder has neither."""
    shape = [N, K]
    if not builder.inputs:
        builder.input("x", shape)
    if not builder.outputs:
        builder.output("y", None)
    ir = int(options.pop("ir", 8))
    more = {key: options.pop(key) for key in ("domains", "functions") if key in options}
    return Case(builder.model(opset, ir, **more), builder.samples(x=(N, K)), **options)
