"""Images as samples: decoded, resized, normalized, one at a time.

Formula: x[c] = (pixel[c] * scale - mean[c]) / std[c], pixels 0 to 255, channels in `order`
Source:  the option --input-spec of the command; docs/cli.md
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from halfstep._worker.frames import FrameWriter

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".webp", ".gif", ".tif", ".tiff", ".ppm", ".pgm"}


class ImageError(Exception):
    """The text names the file, what was found and what was expected."""


@dataclass(frozen=True)
class Request:
    """What the command asks for: nothing is left open."""

    folder: str
    batch: bool
    channels: int
    height: int
    width: int
    layout: str
    order: str
    resize: str
    scale: float
    mean: list[float]
    std: list[float]
    dtype: str


def find_images(folder: Path) -> tuple[list[Path], list[Path]]:
    """Images below `folder` in order of their names, and the files that are none."""
    if not folder.exists():
        raise ImageError(f"{folder}: no such folder")
    if not folder.is_dir():
        raise ImageError(
            f"{folder}: with --input-spec a folder of images is expected, found a file"
        )
    found = sorted(path for path in folder.rglob("*") if not path.is_dir())
    for path in found:
        if path.exists() and not path.is_file() and path.suffix.lower() in SUFFIXES:
            raise ImageError(f"{path}: is a pipe, socket or device, expected a regular file")
    files = [path for path in found if path.is_file()]
    images = [path for path in files if path.suffix.lower() in SUFFIXES]
    if not images:
        kinds = ", ".join(sorted({path.suffix or path.name for path in files})[:5]) or "no file"
        raise ImageError(
            f"{folder}: no image in it; found {kinds}, expected png, jpg, bmp, webp, ..."
        )
    return images, [path for path in files if path.suffix.lower() not in SUFFIXES]


def resized(image: Image.Image, height: int, width: int, how: str) -> Image.Image:
    """Bilinear. stretch: to the size as it is; crop: fill it and cut the rest off evenly; pad: fit
    into it with black around."""
    if image.size == (width, height):
        return image
    if how == "stretch":
        return image.resize((width, height), Image.Resampling.BILINEAR)
    ratios = (width / image.width, height / image.height)
    ratio = max(ratios) if how == "crop" else min(ratios)
    inner = (max(1, round(image.width * ratio)), max(1, round(image.height * ratio)))
    scaled = image.resize(inner, Image.Resampling.BILINEAR)
    left, top = (inner[0] - width) // 2, (inner[1] - height) // 2
    return scaled.crop((left, top, left + width, top + height))  # outside of the image: black


def to_array(image: Image.Image, request: Request) -> np.ndarray:
    """The sample: [N,] C, H, W or [N,] H, W, C."""
    image = image.convert("L" if request.channels == 1 else "RGB")
    image = resized(image, request.height, request.width, request.resize)
    pixels = np.asarray(image).reshape(request.height, request.width, request.channels)
    if request.order == "BGR":
        pixels = pixels[:, :, ::-1]
    if request.dtype == "uint8":
        values = pixels
    else:
        values = pixels.astype(np.float32) * np.float32(request.scale)
        values -= np.asarray(request.mean, np.float32)
        values /= np.asarray(request.std, np.float32)
        values = values.astype(request.dtype, copy=False)
    if request.layout == "NCHW":
        values = values.transpose(2, 0, 1)
    return np.ascontiguousarray(values[np.newaxis] if request.batch else values)


def read_image(path: Path, request: Request) -> np.ndarray:
    try:
        with Image.open(path) as image:
            return to_array(image, request)
    except UnidentifiedImageError:
        raise ImageError(f"{path}: not an image that Pillow can read") from None
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise ImageError(f"{path}: cannot be decoded: {error}") from None


def send_images(request_text: str, writer: FrameWriter) -> None:
    """Frames: L (how many images, which files are none), then N (name) and S (values) for each."""
    request = Request(**json.loads(request_text))
    folder = Path(request.folder)
    try:
        images, others = find_images(folder)
        ignored = [str(path.relative_to(folder)) for path in others]
        writer.document(b"L", {"images": len(images), "ignored": ignored})
        for path in images:
            values = read_image(path, request)
            writer.send(b"N", os.fsencode(path.relative_to(folder)))
            writer.send(b"S", values.tobytes())
    except ImageError as error:
        writer.error("invalid_file", str(error))
