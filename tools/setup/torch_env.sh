#!/usr/bin/env bash
# Makes build/torch, an environment with torch that also sees the packages of .venv, halfstep among
# them; does nothing when it is up to date. With a CPU build of torch it takes 1 GB.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tools/setup/common.sh"

venv=$root/build/torch
list=$root/tools/requirements/torch.txt
stamp=$venv/halfstep-requirements
wanted=$(sha256sum < "$list")
if ! [[ -f $stamp && $(<"$stamp") == "$wanted" ]]; then
  say "making build/torch"
  rm -rf "$venv"
  "$root/.venv/bin/python" -m venv "$venv"
  "$venv/bin/python" -m pip install -q --disable-pip-version-check --retries 5 -r "$list"
  printf '%s\n' "$wanted" > "$stamp"
fi
packages() { "$1" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }
packages "$root/.venv/bin/python" > "$(packages "$venv/bin/python")/halfstep-venv.pth"
