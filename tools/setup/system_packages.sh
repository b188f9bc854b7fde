#!/usr/bin/env bash
# Installs the Debian packages halfstep is built with; does nothing when all are there. With the
# argument "neon" those that `./dev neon` needs.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tools/setup/common.sh"

packages=(
  g++ git binutils ca-certificates debian-archive-keyring
  ccache mold ninja-build patchelf pkg-config
  python3 python3-dev python3-venv
  libprotobuf-dev protobuf-compiler   # model files
  libcli11-dev nlohmann-json3-dev     # command line, JSON
  libtomlplusplus-dev libyaml-cpp-dev # recipes
  libminizip-dev zlib1g-dev           # .npz samples
  libxxhash-dev                       # fingerprints of models and statistics
  libbenchmark-dev libgmock-dev libgtest-dev
)

if [[ ${1:-} == neon ]]; then
  packages=(g++-aarch64-linux-gnu qemu-user googletest)
fi

if ! command -v dpkg-query >/dev/null; then
  say "this is no Debian: make sure that these packages (Debian's names) are there: ${packages[*]}"
  exit 0
fi

missing=()
for package in "${packages[@]}"; do
  state=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true)
  [[ $state == ii* ]] || missing+=("$package")
done
[[ ${#missing[@]} == 0 ]] && exit 0

say "installing ${missing[*]}"
as_root=()
if [[ $(id -u) != 0 ]]; then
  command -v sudo >/dev/null || die "not root and no sudo; as root run: apt-get install ${missing[*]}"
  as_root=(sudo)
fi
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=900 -o Acquire::Retries=3)
"${apt[@]}" update >&2
"${apt[@]}" install -y --no-install-recommends "${missing[@]}" >&2
