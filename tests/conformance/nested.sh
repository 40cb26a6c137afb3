# SPDX-License-Identifier: Apache-2.0
# Models with functions and graphs inside (tests/data/nested, made by make.py there): each gives ONNX Runtime's results.
set -eu
: > "$NPUC_SCRATCH.none"
"$CONFORMANCE" "$NPUC_SCRATCH.none" "$NPUC_SOURCE_DIR/tests/data/nested"
