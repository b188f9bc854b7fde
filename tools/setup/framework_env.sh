#!/usr/bin/env bash
# Makes build/NAME (torch, tensorflow), an environment with that framework that also sees the packages
# of .venv, halfstep among them; does nothing when it is up to date. With a CPU build of torch it
# takes 1 GB, with TensorFlow 1.7 GB.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tools/setup/common.sh"

name=$1
venv=$root/build/$name
list=$root/tools/requirements/$name.txt
stamp=$venv/halfstep-requirements
wanted=$(sha256sum < "$list")
if ! [[ -f $stamp && $(<"$stamp") == "$wanted" ]]; then
  say "making build/$name"
  rm -rf "$venv"
  "$root/.venv/bin/python" -m venv "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --retries 5 -r "$list"
  printf '%s\n' "$wanted" > "$stamp"
fi
packages() { "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
packages "$root/.venv/bin/python" > "$(packages "$venv/bin/python")/halfstep-venv.pth"
