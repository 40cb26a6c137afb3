#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From PyTorch: the demo network as torch.export saved it (examples/demo/to_pt2.py) has the accuracy of README.md and PyTorch's own logits, and becomes a program whose
# simulator, integer module and plain kernels agree. Files of torch.save are listed; what runs code is refused.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"
torch=$NPUC_SOURCE_DIR/tests/data/torch

status 0 "$NPUC" --json eval "$demo/model.pt2" --data "$demo/test.npy" --preprocess "$preprocess"
equal "$(number right out.txt)" 379 "float right of 400 (PyTorch: 379)"
# control: without the preprocessing the network is wrong
status 0 "$NPUC" --json eval "$demo/model.pt2" --data "$demo/test.npy" --preprocess scale=1
[ "$(number right out.txt)" -lt 300 ] || fail "the preprocessing makes no difference"

mkdir reference && cp "$demo/logits16.npy" reference/linear.npy
status 0 "$NPUC" --json compile "$demo/model.pt2" -t refnpu-n16 -o out --calib "$demo/calib.npy" --eval "$demo/test.npy" --preprocess "$preprocess" --reference reference
right=$(number integer_top1 out.txt)
awk "BEGIN { exit !($right >= 93.75) }" || fail "int8 top-1 is $right, more than a point under float"
status 0 "$NPUC" diff out@quantize out/6-build.refnpu-n16/model.npu --engine simulator --data "$demo/test.npy" --samples 32
says out.txt "0 of 320 differ"
# the layer's name in the nn.Module is in the placement of the NPU's table
status 0 "$NPUC" --json inspect out@adapt --nodes
says out.txt '"source": "stem'

status 0 "$NPUC" inspect "$torch/views_legacy.pt"
says out.txt transposed
# weights by name: found under DataParallel's prefix, the rest told; tensors of something else are refused, and nothing runs with half of them
status 0 "$NPUC" inspect "$torch/net.safetensors"
says out.txt module.fc.weight
status 0 "$NPUC" run "$torch/net.pt2" --dim s77=2 -o before
status 0 "$NPUC" run "$torch/net.pt2" --dim s77=2 -o after --state-dict "$torch/net.safetensors"
says out.txt "state dict"
! cmp -s before/linear.npy after/linear.npy || fail "other weights gave the same outputs"
status 2 "$NPUC" run "$torch/net.pt2" --state-dict "$torch/nested.pt"
says err.txt "NPUC-E0341"
says err.txt "missing: "
status 2 "$NPUC" run "$torch/net.pt2" --state-dict-match some
status 2 "$NPUC" eval out --data "$demo/test.npy" --state-dict "$torch/net.safetensors"
status 6 "$NPUC" run "$torch/net.safetensors"
says err.txt torch.export.save

status 6 "$NPUC" inspect "$torch/hostile.pt"
says err.txt posix.system
status 6 "$NPUC" compile "$torch/nested.pt" -t refnpu-n16 -o tensors
says err.txt torch.export.save
[ ! -e tensors ] || fail "a refused model left a folder"
status 3 "$NPUC" compile "$torch/unknown.pt2" -t refnpu-n16 -o unknown --to import
says err.txt torch.ops.mine.frob
says err.txt make.py
finish
