# SPDX-License-Identifier: Apache-2.0
# Models of one operator each, every operator and version among them, with ONNX Runtime's values, and invalid ones: tests/peers/op_grid.py --record wrote cases.bin. The spoilt run is the
# negative control: each of the values moved, and the runner must notice each.
set -eu
cases=$NPUC_SOURCE_DIR/tests/grid/cases.bin
"$GRID" "$cases"
"$GRID" --spoil "$cases"
