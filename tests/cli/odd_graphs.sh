#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Graphs smaller, larger in batch or otherwise named than the demo's: the whole way, with random samples.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"
cases=$NPUC_SOURCE_DIR/tests/data/cases

# one operator: the artifact is mostly tables, and its predicted size must hold all the same
status 0 "$NPUC" compile "$cases/P10/model.onnx" -t refnpu-n16 -o small --calib random:8
status 0 "$NPUC" diff small@quantize small --engine simulator --samples 4

# --dim and --shape reach every stage; a slip in either is named, not passed over
status 0 "$NPUC" compile "$demo/model.onnx" -t refnpu-n16 -o one --calib "$demo/calib.npy" --preprocess "$preprocess" --dim N=1
status 0 "$NPUC" static "$demo/model.onnx" -o four --dim N=4
status 0 "$NPUC" run four@static --json
tr -d ' \n' < out.txt > shape.txt
says shape.txt '"shape":[4,'
status 2 "$NPUC" static "$demo/model.onnx" -o slip --dim K=4
says err.txt "'K'"
status 2 "$NPUC" static "$demo/model.onnx" -o slip2 --shape nobody=1x3x32x32
says err.txt "'nobody'"

status 2 "$NPUC" run "$demo/model.onnx" --dim K=2
says err.txt "'K'"
# an input file of another shape is refused although it has as many elements
npy() { # DIMS BYTES: zeros of float32
  printf "\223NUMPY\001\000\166\000%-117s\n" "{'descr': '<f4', 'fortran_order': False, 'shape': ($1), }"
  head -c "$2" /dev/zero
}
npy "1, 1, 4, 4" 64 > right.npy
npy "2, 8" 64 > other.npy
status 0 "$NPUC" simulate small -i right.npy
status 2 "$NPUC" simulate small -i other.npy
says err.txt "wants 1x1x4x4"

# a name that is no UTF-8 hides no output: P10's y becomes the byte 0xff
LC_ALL=C sed 's/\x01y/\x01\xff/g' "$cases/P10/model.onnx" > bytes.onnx
status 0 "$NPUC" --json run bytes.onnx
says out.txt "(not UTF-8)"

# a batch that the model fixes: samples are not counted by the first axis
status 0 "$NPUC" static "$cases/P43/model.onnx" -o two
finish
