#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `make install` builds with -O3, which inlines more and so warns of more than the build that the tests use: it must have no warning either, and what it
# installs must run from where it was put.
set -eu
fail() { echo "FAIL: $*"; exit 1; }
cmake -S "$NPUC_SOURCE_DIR" -B "$NPUC_SCRATCH/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DNPUC_TESTS=OFF -DCMAKE_INSTALL_PREFIX="$NPUC_SCRATCH/prefix" > /dev/null
cmake --build "$NPUC_SCRATCH/build" > "$NPUC_SCRATCH/log" 2>&1 || { grep -E 'error|FAILED' "$NPUC_SCRATCH/log" | head -20; fail "the release build does not build"; }
cmake --install "$NPUC_SCRATCH/build" > /dev/null
unset NPUC_SHARE
"$NPUC_SCRATCH/prefix/bin/npuc" targets --json | grep -q refnpu-n16 || fail "the installed program does not find its targets"
"$NPUC_SCRATCH/prefix/bin/npuc" inspect "$NPUC_SOURCE_DIR/examples/demo/model.onnx" --ops | grep -q Conv || fail "the installed program does not read the demo network"
