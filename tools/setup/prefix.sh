#!/usr/bin/env bash
# Builds the prefix (ONNX C++ library, ONNX Runtime headers) beside its final place and renames it,
# so that an interrupted run leaves nothing that looks finished.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tools/setup/common.sh"

prefix=$(prefix_path)
[[ -f $prefix/halfstep-prefix.txt ]] && exit 0
[[ -e $prefix && -n $(ls -A "$prefix" 2>/dev/null) ]] && die "$prefix exists and is not ours; remove it or name another with HALFSTEP_PREFIX"

say "building the ONNX library once, into $prefix (a few minutes)"
mkdir -p "$(dirname "$prefix")"
work=$(mktemp -d "$prefix.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$root/tools/setup/onnxruntime_headers.sh" "$work/prefix"
"$root/tools/setup/onnx_library.sh" "$work/prefix"
prefix_versions > "$work/prefix/halfstep-prefix.txt"
if [[ -d $prefix ]]; then rmdir "$prefix"; fi
mv "$work/prefix" "$prefix"
say "prefix ready"
