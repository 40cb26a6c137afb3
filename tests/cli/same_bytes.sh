#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The same model, data and options give the same artifact: twice, on one and two threads, with plain and with the best kernels. A changed option gives another one.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"
artifact() { printf '%s/6-build.refnpu-n16/model.npu' "$1"; }

status 0 compile_demo a
status 0 compile_demo b --threads 1
status 0 compile_demo c --threads 2
status 0 env NPUC_CPU=scalar "$NPUC" compile "$demo/model.onnx" -t refnpu-n16 -o d --calib "$demo/calib.npy" --preprocess "$preprocess"
for other in b c d; do
  same_file "$(artifact a)" "$(artifact $other)"
  for model in 1-import 2-normalize 3-static 4-adapt.refnpu-n16 5-quantize.refnpu-n16 5-quantize.refnpu-n16.qdq; do same_file "a/$model.onnx" "$other/$model.onnx"; done
done
# negative control
status 0 compile_demo e --set quantize.observer=min-max
cmp -s "$(artifact a)" "$(artifact e)" && fail "another observer gave the same bytes"
finish
