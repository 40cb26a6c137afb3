#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# 20,000 models of one operator each, made and judged now: npuc within the stated accuracy of ONNX Runtime, and a spoilt value is noticed.
set -eu
. "$NPUC_SOURCE_DIR/tests/peers/peers.sh"
exec "$python" "$peers/op_grid.py" --grid "$GRID" --work "$work" --check-docs "$NPUC_SOURCE_DIR/docs/operator-grid.md"
