"""Text detector and recognizer (PP-OCRv4) on pictures whose text is known."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from PIL import Image

from demo_parts.packages import Packages
from demo_parts.pictures import (
    Box,
    Picture,
    as_input,
    page,
    render_line,
    resized,
    text_lines,
)
from demo_parts.tasks import FloatArray, Scores, share

PHOTOGRAPHS = (
    ("astronaut.png", "coffee.png", "motorcycle_left.png", "ihc.png"),  # to calibrate with
    ("chelsea.png", "rocket.jpg", "retina.jpg", "hubble_deep_field.jpg"),  # to test with
)
SCAN = "page.png"
# Where the photographed page has its words; pixels of its 384 x 191.
SCANNED_WORDS = (
    ("Region-based", Box(4, 10, 145, 34)),
    ("segmentation", Box(148, 10, 296, 35)),
    ("Let us first", Box(4, 47, 84, 64)),
    ("determine markers", Box(88, 47, 225, 66)),
    ("of the coins", Box(228, 48, 307, 66)),
    ("background.", Box(4, 64, 84, 83)),
    ("These markers are", Box(86, 65, 217, 84)),
    ("we can label", Box(296, 64, 379, 82)),
    ("unambiguously", Box(4, 81, 105, 102)),
    ("the two extreme", Box(178, 100, 296, 120)),
    ("histogram", Box(4, 115, 70, 134)),
    ("of grey values:", Box(71, 119, 174, 137)),
)
SCANNED_LINES = (
    Box(8, 14, 290, 30),
    Box(8, 50, 374, 62),
    Box(8, 68, 374, 80),
    Box(8, 88, 374, 97),
    Box(8, 104, 374, 114),
    Box(8, 122, 170, 132),
)


class Recognizer:
    """One line of text in, its characters out."""

    name = "ocr_recognizer"
    accuracy_means = "share of test lines read without a mistake, blanks aside"
    agreement_means = "share of test lines read like the float model"
    _height, _width = 48, 320

    def __init__(self, packages: Packages, lines: int = 188) -> None:
        self.model = packages.models / "ch_PP-OCRv4_rec_infer.onnx"
        self._packages = packages
        self._lines = lines

    def calibration(self) -> Sequence[dict[str, FloatArray]]:
        return [{"x": self._input(picture)} for _, picture in self._rendered(48, 1)]

    @cached_property
    def _test(self) -> list[tuple[str, Picture]]:
        scan = _open(self._packages, SCAN)
        words = [(text, scan[b.top : b.bottom, b.left : b.right]) for text, b in SCANNED_WORDS]
        return self._rendered(self._lines, 2) + words

    def test_inputs(self) -> Sequence[dict[str, FloatArray]]:
        return [{"x": self._input(picture)} for _, picture in self._test]

    def answer(self, outputs: list[Any]) -> str:
        return read_labels(outputs[0][0].argmax(-1), self._characters)

    def score(self, answers: Sequence[str], float_answers: Sequence[str]) -> Scores:
        texts = [text for text, _ in self._test]
        return Scores(
            accuracy=share([_bare(a) == _bare(t) for a, t in zip(answers, texts, strict=True)]),
            agreement=share([a == b for a, b in zip(answers, float_answers, strict=True)]),
        )

    @cached_property
    def _characters(self) -> list[str]:
        properties = {p.key: p.value for p in onnx.load(self.model).metadata_props}
        return ["", *properties["character"].splitlines(), " "]

    def _rendered(self, count: int, seed: int) -> list[tuple[str, Picture]]:
        texts = text_lines(count, seed)
        fonts = self._packages.fonts
        return [(t, render_line(t, fonts, 10_000 * seed + i)) for i, t in enumerate(texts)]

    def _input(self, picture: Picture) -> FloatArray:
        """Scaled to the height of the input, with what is left of its width empty."""
        wanted = round(picture.shape[1] * self._height / picture.shape[0])
        width = min(self._width, max(1, wanted))
        line = as_input(resized(picture, width, self._height), (0.5,) * 3, (0.5,) * 3)
        return np.pad(line, ((0, 0), (0, 0), (0, 0), (0, self._width - width)))


class Detector:
    """A page in, a map of where text is out."""

    name = "ocr_detector"
    accuracy_means = "share of lines on the test pages that are found"
    agreement_means = "overlap (intersection / union) of the text found with the float model's"
    _size = 480

    def __init__(self, packages: Packages, pages: int = 24) -> None:
        self.model = packages.models / "ch_PP-OCRv4_det_infer.onnx"
        self._packages = packages
        self._pages = pages

    def calibration(self) -> Sequence[dict[str, FloatArray]]:
        return [{"x": self._input(picture)} for picture, _ in self._rendered(16, 0)]

    @cached_property
    def _test(self) -> list[tuple[Picture, list[Box]]]:
        return [*self._rendered(self._pages, 1), self._scanned()]

    def test_inputs(self) -> Sequence[dict[str, FloatArray]]:
        return [{"x": self._input(picture)} for picture, _ in self._test]

    def answer(self, outputs: list[Any]) -> NDArray[np.bool_]:
        return outputs[0][0, 0] > 0.3

    def score(
        self, answers: Sequence[NDArray[np.bool_]], float_answers: Sequence[NDArray[np.bool_]]
    ) -> Scores:
        found = [
            line_found(mask, box)
            for mask, (_, boxes) in zip(answers, self._test, strict=True)
            for box in boxes
        ]
        overlaps = [overlap(a, b) for a, b in zip(answers, float_answers, strict=True)]
        return Scores(accuracy=share(found), agreement=sum(overlaps) / len(overlaps))

    def _rendered(self, count: int, split: int) -> list[tuple[Picture, list[Box]]]:
        """Every second page on plain paper, the others on photographs of this split."""
        names = PHOTOGRAPHS[split]
        pages = []
        for index in range(count):
            shade = 200 + 55 * index // count
            plain = np.full((self._size, self._size, 3), shade, np.uint8)
            photograph = index % 2 == 1
            name = names[index // 2 % len(names)]
            background = _open(self._packages, name) if photograph else plain
            pages.append(page(self._size, background, self._packages.fonts, 100 * split + index))
        return pages

    def _scanned(self) -> tuple[Picture, list[Box]]:
        """The photographed page, as wide as the input."""
        scan = _open(self._packages, SCAN)
        scale = self._size / scan.shape[1]
        line = resized(scan, self._size, round(scan.shape[0] * scale))
        canvas = np.full((self._size, self._size, 3), 255, np.uint8)
        canvas[: line.shape[0]] = line
        edges = ((b.left, b.top, b.right, b.bottom) for b in SCANNED_LINES)
        return canvas, [Box(*(round(edge * scale) for edge in box)) for box in edges]

    def _input(self, picture: Picture) -> FloatArray:
        return as_input(picture, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225))


def read_labels(labels: Sequence[int], characters: Sequence[str]) -> str:
    """Text of a CTC label sequence: repeats count once, label 0 is a gap."""
    text, last = "", 0
    for label in (int(label) for label in labels):
        if label not in (last, 0):
            text += characters[label]
        last = label
    return text


def line_found(mask: NDArray[np.bool_], box: Box) -> bool:
    """Whether at least half of the columns of `box` have text in `mask`."""
    return bool(mask[box.top : box.bottom, box.left : box.right].any(0).mean() >= 0.5)


def overlap(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """Intersection over union of two masks; 1 if both are empty."""
    union = int((one | other).sum())
    return int((one & other).sum()) / union if union else 1.0


def _bare(text: str) -> str:
    return text.replace(" ", "")


def _open(packages: Packages, name: str) -> Picture:
    return np.asarray(Image.open(packages.pictures / name).convert("RGB"))
