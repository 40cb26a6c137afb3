#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The demo network from file to simulator: the right values of examples/demo/README.md, and integers that agree wherever they are computed.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"

status 0 "$NPUC" --json eval "$demo/model.onnx" --data "$demo/test.npy" --preprocess "$preprocess"
equal "$(number right out.txt)" 379 "float right of 400 (ONNX Runtime: 379)"
# negative control: without the preprocessing the network is wrong
status 0 "$NPUC" --json eval "$demo/model.onnx" --data "$demo/test.npy" --preprocess scale=1
[ "$(number right out.txt)" -lt 300 ] || fail "the preprocessing makes no difference"

status 0 compile_demo out --eval "$demo/test.npy" --json
right=$(number integer_top1 out.txt)
awk "BEGIN { exit !($right >= 93.75) }" || fail "int8 top-1 is $right, more than a point under float"
for file in 1-import 2-normalize 3-static 4-adapt.refnpu-n16 5-quantize.refnpu-n16 5-quantize.refnpu-n16.qdq; do
  [ -s "out/$file.onnx" ] || fail "out/$file.onnx is missing"
done
for file in manifest.json module.json 6-build.refnpu-n16/model.npu 7-verify.refnpu-n16/report.json; do [ -s "out/$file" ] || fail "out/$file is missing"; done

# the source framework's own outputs (PyTorch's logits of the first 16 pictures), and a control that they are looked at
mkdir torch wrong && cp "$demo/logits16.npy" torch/logits.npy && cp "$demo/calib.npy" wrong/logits.npy
status 0 compile_demo referenced --eval "$demo/test.npy" --reference torch --to import --json
says out.txt '"reference"'
status 4 compile_demo refused --eval "$demo/test.npy" --reference wrong --to import
says err.txt NPUC-E0919
[ ! -e refused/1-import.onnx ] || fail "an import that failed its gate has its name"

# integer module, plain kernels and simulator: every byte
status 0 "$NPUC" diff out@quantize out/6-build.refnpu-n16/model.npu --engine simulator --data "$demo/test.npy" --samples 64
says out.txt "0 of 640 differ"
status 0 "$NPUC" diff out@quantize out --engine graph --data "$demo/test.npy"
# negative control: the float model is not equal
status 4 "$NPUC" diff out@static out@quantize --data "$demo/test.npy" --samples 16
says err.txt NPUC-E0920
status 0 "$NPUC" diff out@static out@quantize --data "$demo/test.npy" --samples 64 --cosine 0.97

status 0 "$NPUC" --json simulate out
[ "$(number cycles out.txt)" -gt 10000 ] || fail "cycles: $(number cycles out.txt)"
status 0 "$NPUC" --json simulate out --trace trace.json
says trace.json '"ph":"X"'
status 0 "$NPUC" status out
says out.txt "next: npuc simulate"
for model in out@import out@adapt out@quantize out; do status 0 "$NPUC" --json inspect "$model" --nodes; done
status 0 "$NPUC" run out --engine simulator -o ran
[ -s ran/logits.npy ] || fail "run -o wrote no logits.npy"
finish
