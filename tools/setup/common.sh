# Shared by the set-up scripts; sourced, with $root set.

say() { printf 'setup: %s\n' "$*" >&2; }
die() { printf 'setup: error: %s\n' "$*" >&2; exit 1; }

cache_dir() { printf '%s\n' "${XDG_CACHE_HOME:-$HOME/.cache}/halfstep"; }

# What the prefix is built with and for, one line each.
prefix_versions() {
  grep -o '^onnx==[0-9.]*' "$root/tools/requirements/onnx_source.txt"
  echo "machine $(uname -m)"
  echo "compiler $(g++ -dumpversion 2>/dev/null | cut -d. -f1 || true)"
  echo "protobuf $(protoc --version 2>/dev/null | awk '{print $2}' || true)"
}

# A key over everything that the content of the prefix depends on.
prefix_key() {
  {
    prefix_versions
    cat "$root"/tools/requirements/onnx_source.txt "$root"/tools/setup/{onnx_library,onnxruntime_headers}.sh
  } | sha256sum | cut -c1-16
}

# Where the prefix of this source tree lies on this machine, whether it exists or not.
prefix_path() {
  if [[ -n ${HALFSTEP_PREFIX:-} ]]; then
    printf '%s\n' "$HALFSTEP_PREFIX"
  else
    printf '%s/prefix-%s\n' "$(cache_dir)" "$(prefix_key)"
  fi
}

# Prints the first of the given commands that is a Python with version >= 3.11.
find_python() {
  local candidate
  for candidate in "$@"; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  return 1
}
