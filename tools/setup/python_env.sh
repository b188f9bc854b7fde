#!/usr/bin/env bash
# Makes .venv with the pinned packages of tools/requirements; does nothing when it is up to date.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tools/setup/common.sh"

venv=$root/.venv
lists=("$root"/tools/requirements/{runtime,build,test,lint}.txt)
wanted=$(cat "${lists[@]}" | sha256sum)
stamp=$venv/halfstep-requirements
[[ -x $venv/bin/python && -f $stamp && $(<"$stamp") == "$wanted" ]] && exit 0

if ! [[ -x $venv/bin/python ]] || ! find_python "$venv/bin/python" >/dev/null; then
  python=$(find_python ${HALFSTEP_PYTHON:-python3 python3.13 python3.12 python3.11}) \
    || die "no Python 3.11 or newer; name one with HALFSTEP_PYTHON"
  say "making .venv from $python"
  rm -rf "$venv"
  "$python" -m venv "$venv"
fi
say "installing Python packages"
arguments=()
for list in "${lists[@]}"; do arguments+=(-r "$list"); done
"$venv/bin/python" -m pip install -q --disable-pip-version-check --retries 5 "${arguments[@]}"
printf '%s\n' "$wanted" > "$stamp"
