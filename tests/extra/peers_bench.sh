#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench with both peers in one process: fp32, integers and a program; a peer that runs another network is noticed.
. "$NPUC_SOURCE_DIR/tests/peers/peers.sh"
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"
environment=$("$python" -c 'import sys; print(sys.prefix)')
against="--against onnxruntime"
if "$python" -c 'import openvino' 2> /dev/null; then
  against="$against --against openvino"
else
  echo "openvino is not in $environment: ONNX Runtime alone"
fi
resnet=$shared/data/resnet-cifar10/resnet20.onnx
compile_demo built > /dev/null || fail "compile"

for model in "$demo/model.onnx" "$resnet" built@static built@quantize; do
  for batch in 1 5; do
    # shellcheck disable=SC2086
    status 0 "$NPUC" bench "$model" --batch $batch --repeat 2 --threads 2 $against --python "$environment" --json
    [ -n "$(number ratio out.txt)" ] || fail "$model: no ratio"
    grep -q '"peers"' out.txt || fail "$model: no peers"
  done
done
# shellcheck disable=SC2086
# a .pt2 archive goes to the peer as ONNX
status 0 "$NPUC" bench "$demo/model.pt2" --repeat 2 --batch 3 --against onnxruntime --python "$environment" --json
status 0 "$NPUC" bench built --repeat 2 $against --python "$python" --json; says out.txt qdq.onnx
# the same network in another file passes; another network does not, and its time is reported as no comparison
status 0 "$NPUC" bench "$demo/model.onnx" --repeat 2 --against "onnxruntime=built/3-static.onnx" --python "$environment"
"$python" - "$demo/model.onnx" other.onnx <<'PY'
import sys, numpy, onnx
model = onnx.load(sys.argv[1])
for w in model.graph.initializer:
    if w.data_type == onnx.TensorProto.FLOAT and len(w.dims) == 4:
        w.CopyFrom(onnx.numpy_helper.from_array(-onnx.numpy_helper.to_array(w), w.name))
onnx.save(model, sys.argv[2])
PY
status 4 "$NPUC" bench "$demo/model.onnx" --repeat 2 --against onnxruntime=other.onnx --python "$environment"; says err.txt NPUC-E0920
echo "no model" > broken.onnx
status 5 "$NPUC" bench "$demo/model.onnx" --repeat 2 --against onnxruntime=broken.onnx --python "$environment"; says err.txt NPUC-E0931
finish
