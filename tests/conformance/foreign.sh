# SPDX-License-Identifier: Apache-2.0
# Operators of com.microsoft and QONNX: ONNX Runtime's answers and QONNX's formulas (tests/data/foreign/make_cases.py); each passes.
set -eu
"$CONFORMANCE" ${1:-} "$NPUC_SOURCE_DIR/tests/conformance/foreign.txt" "$NPUC_SOURCE_DIR/tests/data/foreign/node"
