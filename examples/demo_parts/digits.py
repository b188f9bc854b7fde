"""Handwritten digits, 8x8 pixels: small networks trained for this repository, with labels."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from demo_parts.tasks import FloatArray, Scores, share

FOLDER = Path(__file__).resolve().parent.parent / "digits"
MODELS = ("digits_cnn", "digits_dw", "digits_vit", "digits_cnn_bn", "digits_dw_bn")


class Digits:
    """One of the digits networks: 200 pictures to calibrate with, 597 to test with."""

    accuracy_means = "share of test pictures whose digit is right"
    agreement_means = "share of test pictures with the float model's digit"

    def __init__(self, name: str) -> None:
        self.name = name
        self.model = FOLDER / f"{name}.onnx"
        with np.load(FOLDER / "test.npz") as test:
            self._pictures, self._labels = test["x"], test["y"]

    def calibration(self) -> Sequence[dict[str, FloatArray]]:
        with np.load(FOLDER / "calibration.npz") as data:
            return [{"x": picture[None]} for picture in data["x"]]

    def test_inputs(self) -> Sequence[dict[str, FloatArray]]:
        return [{"x": picture[None]} for picture in self._pictures]

    def answer(self, outputs: list[Any]) -> int:
        return int(outputs[0].argmax())

    def score(self, answers: Sequence[int], float_answers: Sequence[int]) -> Scores:
        return Scores(
            accuracy=share([a == int(y) for a, y in zip(answers, self._labels, strict=True)]),
            agreement=share([a == b for a, b in zip(answers, float_answers, strict=True)]),
        )
