"""Fetches what the OCR part needs from package registries: models, pictures and fonts.

Nothing is installed: packages are downloaded into a cache folder and unpacked there.
"""

import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

MODELS = "rapidocr-onnxruntime==1.4.4"  # Apache-2.0: detector and recognizer of PP-OCRv4
PICTURES = "scikit-image==0.26.0"  # BSD-3-Clause: photographs and a photographed page
FONTS = ("fonts-dejavu-core", "fonts-liberation")


class FetchError(Exception):
    """A package can't be had; the text says which and why."""


@dataclass(frozen=True)
class Packages:
    """Folders with the unpacked packages, and the fonts."""

    models: Path
    pictures: Path
    fonts: tuple[Path, ...]


def default_cache() -> Path:
    """The user's cache folder for the demo."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "halfstep" / "demo"


def fetch(cache: Path) -> Packages:
    """Brings the packages into `cache`, at once if they are there already.

    Errors: FetchError naming the package and what the package manager said.
    """
    return Packages(
        models=_wheel(MODELS, cache) / "rapidocr_onnxruntime" / "models",
        pictures=_wheel(PICTURES, cache) / "skimage" / "data",
        fonts=tuple(font for package in FONTS for font in _fonts(package, cache)),
    )


def _wheel(requirement: str, cache: Path) -> Path:
    """The unpacked wheel. Its Python version is named since the code in it is never run."""
    folder = cache / requirement
    if folder.is_dir():
        return folder
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-input"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:"]
    command += ["--python-version", "3.11"]
    with _Unpacking(folder) as work:
        _call([*command, "--dest", str(work.download), requirement], work.download, requirement)
        for wheel in work.download.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(work.unpacked)
    return folder


def _fonts(package: str, cache: Path) -> list[Path]:
    """TrueType fonts of a Debian package, in name order."""
    folder = cache / package
    if not folder.is_dir():
        with _Unpacking(folder) as work:
            _call(["apt-get", "-q", "download", package], work.download, package)
            for deb in work.download.glob("*.deb"):
                _call(["dpkg-deb", "-x", str(deb), str(work.unpacked)], work.download, package)
    return sorted(folder.rglob("*.ttf"))


class _Unpacking:
    """A folder that appears under its name only when it is complete."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._work = folder.with_name(f"{folder.name}.part-{os.getpid()}")
        self.download = self._work / "download"
        self.unpacked = self._work / "unpacked"

    def __enter__(self) -> "_Unpacking":
        self.download.mkdir(parents=True)
        self.unpacked.mkdir()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.unpacked.rename(self._folder)
        except OSError:
            if not self._folder.is_dir():  # else another run was faster, with the same content
                raise
        finally:
            shutil.rmtree(self._work)


def _call(command: list[str], folder: Path, package: str) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=600
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FetchError(f"{package}: {error}") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise FetchError(f"{package}: {command[0]} failed: {said[-1] if said else 'no message'}")
