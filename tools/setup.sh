#!/usr/bin/env bash
# Brings a machine to where halfstep builds: system packages, the Python environment .venv, and
# the prefix (ONNX C++ library, ONNX Runtime headers). Run again, it checks and returns at once.
#
# usage: tools/setup.sh [--print-prefix]
#
#   HALFSTEP_PREFIX   where the prefix lies (default: a folder of the user's cache, one per recipe)
#   HALFSTEP_PYTHON   the interpreter .venv is made from (default: python3, at least 3.11)
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/tools/setup/common.sh"

if [[ ${1:-} == --print-prefix ]]; then
  prefix_path
  exit
fi
[[ $# == 0 ]] || die "unknown argument '$1' (usage: tools/setup.sh [--print-prefix])"

"$root/tools/setup/system_packages.sh"

mkdir -p "$(cache_dir)"
exec {lock}> "$(cache_dir)/setup.lock"
flock -n "$lock" || { say "waiting for another set-up"; flock "$lock"; }

"$root/tools/setup/python_env.sh"
"$root/tools/setup/prefix.sh"
