#!/usr/bin/env bash
# Writes python/halfstep/_core.pyi from the installed module, or with --check compares the two.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
committed=python/halfstep/_core.pyi

generated=$(mktemp -d)
trap 'rm -rf "$generated"' EXIT
(cd "$generated" && python -m nanobind.stubgen -q -m halfstep._core -o _core.pyi)
if [[ ${1:-} != --check ]]; then
  cp "$generated/_core.pyi" "$committed"
elif ! diff -u "$committed" "$generated/_core.pyi"; then
  echo "stubs: $committed is not what the module has; run ./dev stubs" >&2
  exit 1
fi
