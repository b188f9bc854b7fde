"""What the demo measures: a float model, calibration data for it, and inputs with known answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32]
Run = Callable[[dict[str, Any]], list[Any]]
"""Feeds by input name -> outputs of the model, as numpy arrays."""


@dataclass(frozen=True)
class Scores:
    """accuracy: share of right answers; agreement: how much alike the float model's answers are."""

    accuracy: float
    agreement: float


class Task(Protocol):
    """A model with calibration samples and a test."""

    name: str
    model: Path
    accuracy_means: str
    agreement_means: str

    def calibration(self) -> Sequence[dict[str, FloatArray]]:
        """Samples for `--calibration`; none of them is used in the test."""

    def test_inputs(self) -> Sequence[dict[str, FloatArray]]:
        """What the model is run on, one inference each."""

    def answer(self, outputs: list[Any]) -> Any:
        """What the outputs of one inference say."""

    def score(self, answers: Sequence[Any], float_answers: Sequence[Any]) -> Scores:
        """Compares the answers to all test inputs with the truth and with the float model's."""


def write_samples(samples: Sequence[dict[str, FloatArray]], folder: Path) -> Path:
    """Writes one .npz a sample: the folder form of `--calibration`."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.npz"):
        old.unlink()
    for index, sample in enumerate(samples):
        np.savez(folder / f"{index:04}.npz", **sample)
    return folder


def share(hits: Sequence[bool]) -> float:
    """The share of true values, 0 of nothing."""
    return sum(hits) / len(hits) if hits else 0.0
