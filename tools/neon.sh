#!/usr/bin/env bash
# Builds the numerical core and its tests for 64-bit Arm and runs them under qemu: all unit tests,
# and the golden vectors on the reference and on the NEON kernels.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
"$root/tools/setup/system_packages.sh" neon
cmake -S tools/neon -B build/neon -G Ninja --toolchain "$root/tools/neon/aarch64.cmake" --log-level=WARNING
cmake --build build/neon -j "${HALFSTEP_JOBS:-$(nproc)}"
ctest --test-dir build/neon --output-on-failure --no-tests=error
