#!/usr/bin/env bash
# Puts the ONNX Runtime C and C++ headers (API level >= 23) into PREFIX/include/onnxruntime.
# They come from Debian's libonnxruntime-dev of a newer suite, unpacked and not installed, from the
# mirror that apt already uses; the package state of the system is not touched. Without apt, name
# a release folder of ONNX Runtime with ONNXRUNTIME_ROOT.
# usage: onnxruntime_headers.sh PREFIX
set -euo pipefail
prefix=$1
least_api=23
suites=(forky sid)

api_level() { sed -n 's/^#define ORT_API_VERSION \([0-9]*\).*/\1/p' "$1/onnxruntime_c_api.h"; }

take() {  # take FOLDER: copies the headers if they are new enough
  local level
  level=$(api_level "$1")
  [[ ${level:-0} -ge $least_api ]] || { echo "setup: headers in $1 have API level ${level:-?}, need $least_api" >&2; return 1; }
  mkdir -p "$prefix/include/onnxruntime"
  cp -r "$1/." "$prefix/include/onnxruntime/"
}

if [[ -n ${ONNXRUNTIME_ROOT:-} ]]; then
  for folder in "$ONNXRUNTIME_ROOT"/include{,/onnxruntime,/onnxruntime/core/session}; do
    if [[ -f $folder/onnxruntime_c_api.h ]]; then take "$folder"; exit; fi
  done
  echo "setup: error: no onnxruntime_c_api.h under ONNXRUNTIME_ROOT=$ONNXRUNTIME_ROOT" >&2
  exit 1
fi

mirror=$(apt-get indextargets --format '$(LABEL) $(REPO_URI)' 'Created-By: Packages' |
  awk '$1 == "Debian" {print $2; exit}')
keyring=$(find /usr/share/keyrings -name 'debian-archive-keyring.*' | sort | head -1)
[[ -n $mirror && -n $keyring ]] || {
  echo "setup: error: apt knows no Debian mirror; name a release of ONNX Runtime with ONNXRUNTIME_ROOT" >&2
  exit 1
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

for suite in "${suites[@]}"; do
  rm -rf "$work/lists" "$work/unpacked"
  mkdir -p "$work/lists/partial"
  echo "deb [signed-by=$keyring] $mirror $suite main" > "$work/sources.list"
  apt=(apt-get -qq -o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
    -o Dir::State::lists="$work/lists" -o Dir::Cache="$work" -o Acquire::Check-Valid-Until=false
    -o Acquire::Retries=3 -o Acquire::Languages=none -o APT::Sandbox::User="$(id -un)")
  if "${apt[@]}" update >&2 && (cd "$work" && "${apt[@]}" download libonnxruntime-dev >&2) &&
    dpkg-deb -x "$work"/libonnxruntime-dev_*.deb "$work/unpacked" &&
    take "$work/unpacked/usr/include/onnxruntime"; then
    mkdir -p "$prefix/licenses"
    cp "$work/unpacked/usr/share/doc/libonnxruntime-dev/copyright" "$prefix/licenses/onnxruntime.txt"
    exit 0
  fi
  rm -f "$work"/libonnxruntime-dev_*.deb
done
echo "setup: error: found no ONNX Runtime headers with API level >= $least_api" >&2
exit 1
