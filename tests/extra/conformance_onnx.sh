# SPDX-License-Identifier: Apache-2.0
# The node cases that the onnx package generates: each passes, or is named with its reason in tests/conformance/onnx.txt.
set -eu
python=${NPUC_PYTHON:-$NPUC_BINARY_DIR/venv/bin/python}
version=$("$python" -c 'import onnx; print(onnx.__version__)' 2> /dev/null) || { echo "skipped: no Python with onnx (set NPUC_PYTHON, or make test-all)"; exit 77; }
case $version in 1.23.*) ;; *) echo "skipped: the list speaks of onnx 1.23, and $version is installed"; exit 77 ;; esac
rm -rf "$NPUC_SCRATCH"
mkdir -p "$NPUC_SCRATCH"
"$python" "$NPUC_SOURCE_DIR/tests/conformance/generate.py" "$NPUC_SCRATCH" 2> /dev/null
"$CONFORMANCE" ${1:-} "$NPUC_SOURCE_DIR/tests/conformance/onnx.txt" "$NPUC_SCRATCH/node"
rm -rf "$NPUC_SCRATCH"
