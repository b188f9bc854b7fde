#!/usr/bin/env bash
# Builds the onnx C++ library (checker, shape inference, version converter) from the onnx sources.
# usage: onnx_library.sh PREFIX     (needs .venv, protoc and ninja)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
prefix=$1
export PATH="$root/.venv/bin:$PATH"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Checked against the hash in the list. No build isolation: the metadata step needs only
# scikit-build-core, which .venv has.
python -m pip download -q --disable-pip-version-check --retries 5 --no-deps --no-build-isolation \
  --no-binary onnx --require-hashes -r "$root/tools/requirements/onnx_source.txt" -d "$work"
mkdir "$work/source"
tar -xzf "$work"/onnx-*.tar.gz -C "$work/source" --strip-components=1

launcher=()
if command -v ccache >/dev/null; then
  launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  export CCACHE_BASEDIR=$work CCACHE_NOHASHDIR=1
fi
# -O1 and unity halve the time; nothing here is on a hot path.
cmake -S "$work/source" -B "$work/build" -G Ninja "${launcher[@]}" \
  -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
  -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_PREFIX="$prefix" \
  -DONNX_USE_UNITY_BUILD=ON -DPython3_EXECUTABLE="$root/.venv/bin/python" > "$work/log" \
  || { cat "$work/log" >&2; exit 1; }
cmake --build "$work/build"
cmake --install "$work/build" >/dev/null
mkdir -p "$prefix/licenses"
cp "$work/source/LICENSE" "$prefix/licenses/onnx.txt"
