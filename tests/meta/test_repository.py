"""Rules about the repository itself."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import check_layers  # noqa: E402

MOST_LINES = 500


def tracked(*patterns: str) -> list[Path]:
    """Files of the repository, tracked or about to be, that match one of the patterns."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in names.splitlines() if (ROOT / name).is_file()]


def test_layers() -> None:
    assert check_layers.breaches(ROOT) == []


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("halfstep/core/x.h", '#include "halfstep/model/model.h"'),
        ("halfstep/core/x.h", "#include <onnx/onnx_pb.h>"),
        ("halfstep/core/x.cpp", "#include <nlohmann/json.hpp>"),
        ("halfstep/core/kernels/x.cpp", "#include <vector>"),
        ("halfstep/adaptation/passes/x.cpp", 'if (target.name() == "htp_v75") {}'),
        ("halfstep/calibration/x.cpp", '#include "halfstep/adaptation/adapt.h"'),
        ("halfstep/model/x.cpp", "#include <onnxruntime_cxx_api.h>"),
        ("cli/x.cpp", "#include <nanobind/nanobind.h>"),
    ],
)
def test_layers_finds(tmp_path: Path, path: str, line: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(f"#pragma once\n{line}\n")
    found = check_layers.breaches(tmp_path)
    assert len(found) == 1
    assert found[0].startswith(f"{path}:2: ")


def test_file_lengths() -> None:
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in tracked("*.cpp", "*.h", "*.py")
    }
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_nothing_names_this_machine() -> None:
    needles = ["/" + name + "/" for name in ("root", "home", "work")]
    text_files = tracked(
        "*.cpp", "*.h", "*.py", "*.md", "*.json", "*.txt", "*.sh", "*.cmake", "*.toml", "dev", ".ci"
    )
    found = [
        f"{path.relative_to(ROOT)}: {needle}"
        for path in text_files
        for needle in needles
        if needle in path.read_text(encoding="utf-8")
    ]
    assert found == []


def unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    keys = [key for key, _ in pairs]
    assert len(keys) == len(set(keys)), f"repeated key among {keys}"
    return dict(pairs)


@pytest.mark.parametrize("path", tracked("data/*.json"), ids=lambda path: path.name)
def test_data_files(path: Path) -> None:
    document = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=unique_keys)
    assert isinstance(document, dict)
    if path.parent.name == "targets" and "extends" in document:
        assert (path.parent / f"{document['extends']}.json").is_file()


def test_kernel_objects_define_no_weak_symbols() -> None:
    """The linker may pick such a symbol for the whole program, which older CPUs then can't run."""
    objects = sorted((ROOT / "build/dev/halfstep/core").rglob("*_avx*.cpp.o"))
    if not objects:
        pytest.skip("build/dev has no kernels for an instruction set")
    for file in objects:
        symbols = subprocess.run(
            ["nm", "-C", str(file)], check=True, capture_output=True, text=True
        ).stdout.splitlines()
        weak = [line for line in symbols if line[17:18] in ("W", "V", "u") and line[0] != " "]
        assert weak == [], f"{file.name} defines weak symbols"
