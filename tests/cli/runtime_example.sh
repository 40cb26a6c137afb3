#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The C example of docs/runtime.md on the demo's artifact: as many pictures right as the simulator gets.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"
classify=$NPUC_BINARY_DIR/examples/classify
status 0 compile_demo out
status 0 "$NPUC" --json eval out --engine simulator --data "$demo/test.npy"
right=$(number right out.txt)
status 0 "$classify" out/6-build.refnpu-n16/model.npu "$demo/test.npy" "$demo/test.labels.npy"
says out.txt "$right of 400 pictures are right"
# negative control: a damaged file is refused by name
head -c 5000 out/6-build.refnpu-n16/model.npu > cut.npu
status 6 "$classify" cut.npu "$demo/test.npy" "$demo/test.labels.npy"
says err.txt "NPUC-E1001"
finish
