#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 600 invalid models and some that ask for too much: a diagnostic for each, no crash, and onnx.checker's opinion or a listed reason.
set -eu
. "$NPUC_SOURCE_DIR/tests/peers/peers.sh"
exec "$python" "$peers/op_invalid.py" --npuc "$NPUC" --work "$work"
