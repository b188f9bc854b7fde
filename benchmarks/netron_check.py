#!/usr/bin/env python3
"""Does netron see in a DLC what halfstep sees? Operators, names, inputs and outputs.

usage: benchmarks/netron_check.py [--halfstep COMMAND] FILE.dlc...

Needs the package netron (9.3.3 is what it was tried with) in this Python's environment, and node.
"""

import argparse
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

Node = tuple[str, str, tuple[str, ...], tuple[str, ...]]


def node_of(entry: dict[str, Any]) -> Node:
    """What is compared of an operator."""
    return entry["name"], entry["type"], tuple(entry["inputs"]), tuple(entry["outputs"])


def seen_by_netron(file: Path, folder: str) -> list[Node]:
    """The operators that netron's parser finds."""
    script = Path(__file__).with_suffix(".mjs")
    done = subprocess.run(
        ["node", script, folder, file], capture_output=True, text=True, check=True
    )
    return [node_of(entry) for entry in json.loads(done.stdout)]


def seen_by_halfstep(file: Path, command: str) -> list[Node]:
    """The operators of `halfstep inspect`, under the names that the file has for their types."""
    done = subprocess.run(
        [command, "inspect", file, "--json"], capture_output=True, text=True, check=True
    )
    graphs = json.loads(done.stdout)["dlc"]["graphs"]
    return [node_of(op) for graph in graphs for op in graph["operators"]]


def main() -> int:
    """See the top of this file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--halfstep", default="halfstep")
    options = parser.parse_args()
    spec = importlib.util.find_spec("netron")
    if spec is None or not spec.submodule_search_locations:
        parser.error("the package netron is missing: pip install netron")
    failed = 0
    for file in options.files:
        theirs = seen_by_netron(file, spec.submodule_search_locations[0])
        ours = seen_by_halfstep(file, options.halfstep)
        different = [pair for pair in zip(ours, theirs, strict=False) if pair[0] != pair[1]]
        same = not different and len(ours) == len(theirs)
        print(f"{file}: {len(ours)} operators, {'the same' if same else 'DIFFERENT'}")
        for one, other in different[:5]:
            print(f"  halfstep {one}\n  netron   {other}")
        failed += not same
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
