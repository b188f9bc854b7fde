"""Pictures of text that is known: lines rendered with real fonts, pages of lines on photographs."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from demo_parts.tasks import FloatArray

Picture = NDArray[np.uint8]
TEXT = Path(__file__).resolve().parents[2] / "LICENSE"


@dataclass(frozen=True)
class Box:
    """A line of text on a page, in pixels; the end is not part of it."""

    left: int
    top: int
    right: int
    bottom: int


def text_lines(count: int, seed: int, shortest: int = 6, longest: int = 24) -> list[str]:
    """Pieces of English (this repository's licence), some with a number in front."""
    words = [word for word in TEXT.read_text().split() if word.isascii() and word.strip("-=_")]
    chance = random.Random(seed)
    lines: list[str] = []
    while len(lines) < count:
        length = chance.randint(shortest, longest)
        start = chance.randrange(len(words) - longest)
        number = f"{chance.randint(1, 9999)} " if chance.random() < 0.3 else ""
        line = (number + " ".join(words[start : start + longest]))[:length].strip()
        if len(line) >= shortest:
            lines.append(line)
    return lines


def render_line(
    text: str, fonts: Sequence[Path], seed: int, margin: int = 6, wear: bool = True
) -> Picture:
    """An RGB picture of one line; `wear` turns it a little, blurs it and adds noise."""
    chance = random.Random(seed)
    font = ImageFont.truetype(str(chance.choice(fonts)), chance.randint(24, 40))
    left, top, right, bottom = (int(edge) for edge in font.getbbox(text))
    paper = tuple(chance.randint(190, 255) for _ in range(3))
    ink = tuple(chance.randint(0, 90) for _ in range(3))
    if chance.random() < 0.3:
        paper, ink = ink, paper
    size = (right - left + 2 * margin, bottom - top + 2 * margin)
    image = Image.new("RGB", size, paper)
    ImageDraw.Draw(image).text((margin - left, margin - top), text, font=font, fill=ink)
    if not wear:
        return np.asarray(image)
    angle = chance.uniform(-1.2, 1.2)
    image = image.rotate(angle, Image.Resampling.BICUBIC, fillcolor=paper)
    if chance.random() < 0.5:
        image = image.filter(ImageFilter.GaussianBlur(chance.uniform(0.3, 0.9)))
    noise = np.random.default_rng(seed).normal(0, chance.uniform(0, 10), (*size[::-1], 3))
    return (np.asarray(image) + noise).clip(0, 255).astype(np.uint8)


def resized(picture: Picture, width: int, height: int) -> Picture:
    """The picture in another size, bilinear."""
    image = Image.fromarray(picture).resize((width, height), Image.Resampling.BILINEAR)
    return np.asarray(image)


def page(
    size: int, background: Picture, fonts: Sequence[Path], seed: int
) -> tuple[Picture, list[Box]]:
    """A square page with up to seven lines of text on `background`, and where they are."""
    chance = random.Random(seed)
    canvas = resized(background, size, size).copy()
    boxes: list[Box] = []
    top = 12
    for text in text_lines(7, seed, 5, 18):
        line = render_line(text, fonts, chance.randrange(10**6), margin=4, wear=False)
        shrink = min(1.0, (size - 24) / line.shape[1])
        line = resized(line, int(line.shape[1] * shrink), int(line.shape[0] * shrink))
        height, width = line.shape[:2]
        if top + height > size - 8:
            break
        left = chance.randint(6, size - width - 6)
        canvas[top : top + height, left : left + width] = line
        boxes.append(Box(left, top, left + width, top + height))
        top += height + chance.randint(10, 34)
    return canvas, boxes


def as_input(picture: Picture, mean: Sequence[float], std: Sequence[float]) -> FloatArray:
    """The picture as the OCR networks want it: [1, 3, H, W], blue first, normalized."""
    scaled = picture[..., ::-1].astype(np.float32) / np.float32(255)
    normal = (scaled - np.float32(mean)) / np.float32(std)
    return np.ascontiguousarray(normal.transpose(2, 0, 1)[None], dtype=np.float32)
