#!/usr/bin/env bash
# Builds the targets with libFuzzer on the stable toolchain (the switches for coverage are stable; only sanitizers are not).
# Needs a C++ compiler: apt-get install -y g++
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
sancov=(-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
  -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1)
# With --target the switches do not reach build scripts, which have no libFuzzer to link.
RUSTFLAGS="--cfg fuzzing ${sancov[*]}" cargo build --release --target x86_64-unknown-linux-gnu "$@"
