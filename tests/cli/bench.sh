#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# bench without peers: its document, its batch, and what it says about peers that are not there.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"
unset NPUC_ONNXRUNTIME NPUC_OPENVINO VIRTUAL_ENV
export XDG_CACHE_HOME="$NPUC_SCRATCH/cache"

compile_demo built > /dev/null || fail "compile"
status 0 "$NPUC" bench "$demo/model.onnx" --batch 3 --repeat 2 --threads 1 --json
equal "$(number batch out.txt) $(number repeat out.txt) $(number threads out.txt)" "3 2 1" "what was asked"
for key in median_ms min_ms p10_ms p90_ms cpu_ms; do
  [ -n "$(number $key out.txt)" ] || fail "no $key"
done
# models whose batch is bound already: by another one, and not at all
status 0 "$NPUC" bench built@static --batch 4 --repeat 1 --json;   equal "$(number batch out.txt)" 4 "batch of a float stage"
status 0 "$NPUC" bench built@quantize --batch 4 --repeat 1 --json; equal "$(number batch out.txt)" 4 "batch of an integer stage"
status 0 "$NPUC" bench built --repeat 1;                           says out.txt "median ms"; silent err.txt
status 3 "$NPUC" bench built --batch 2;                            says err.txt NPUC-E0929

status 2 "$NPUC" bench "$demo/model.onnx" --against onnxruntim;    says err.txt "--against onnxruntime"
status 2 "$NPUC" bench "$demo/model.onnx" --repeat 0;              says err.txt NPUC-E0104
status 5 "$NPUC" bench "$demo/model.onnx" --against openvino --python "$NPUC_SCRATCH"
says err.txt NPUC-E0930; says err.txt "pip install openvino"
status 5 env NPUC_ONNXRUNTIME=/nowhere "$NPUC" bench "$demo/model.onnx" --against onnxruntime; says err.txt /nowhere
echo "no library" > libonnxruntime.so
status 5 env NPUC_ONNXRUNTIME="$NPUC_SCRATCH" "$NPUC" bench "$demo/model.onnx" --against onnxruntime; says err.txt "cannot be loaded"
status 6 "$NPUC" bench "$demo/model.onnx" --against onnxruntime=missing.onnx --python "$NPUC_SCRATCH"; says err.txt missing.onnx
finish
