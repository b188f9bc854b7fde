#!/usr/bin/env bash
# Runs clang-tidy over our C++ sources, with the compile commands of build/dev.
# usage: tools/tidy.sh [--all | FILE...]
#
# Without arguments: the sources changed against the main branch of the remote, or, where there is
# no remote, in the work tree and the last commit. A source whose header changed counts as changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sources() { git ls-files --cached --others --exclude-standard -- 'halfstep/*.cpp' 'cli/*.cpp' 'tests/unit/*.cpp' 'examples/cpp/*.cpp' 'benchmarks/cpp/*.cpp'; }

changed() {
  local base
  base=$(git merge-base HEAD origin/main 2>/dev/null || git rev-parse -q --verify HEAD~1 || git rev-parse HEAD)
  local files headers
  files=$({ git diff --name-only "$base"; git ls-files --others --exclude-standard; } | sort -u)
  grep -E '\.cpp$' <<<"$files" | grep -Fxf <(sources) || true
  headers=$(grep -E '^halfstep/.*\.h$' <<<"$files" || true)
  [[ -z $headers ]] || sources | xargs grep -lFf <(sed 's/.*/"&"/' <<<"$headers") || true
}

case ${1:-} in
  --all) list=$(sources) ;;
  "") list=$(changed | sort -u) ;;
  *) list=$(printf '%s\n' "$@") ;;
esac
list=$(while read -r file; do [[ -f $file ]] && echo "$file"; done <<<"$list" || true)
if [[ -z $list ]]; then
  echo "clang-tidy: no sources changed"
  exit 0
fi
echo "clang-tidy: $(wc -l <<<"$list") files"
xargs -P "$(nproc)" -n 4 clang-tidy -p build/dev --quiet --use-color=false <<<"$list" 2> >(sed '/warnings generated\|warnings treated\|Processing file/d' >&2)
