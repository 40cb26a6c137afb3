#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Paths that lead nowhere are bad input (6), files that may not be read are the environment's (5); a build as the model of another; formulas of symbolic dims.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"

for command in inspect run eval simulate bench profile; do
  options=""; [ "$command" = eval ] && options="--data $demo/test.npy"
  # shellcheck disable=SC2086
  status 6 "$NPUC" $command missing.onnx $options; says err.txt NPUC-E0008
done
status 6 "$NPUC" diff "$demo/model.onnx" missing.onnx;                      says err.txt NPUC-E0008
status 6 "$NPUC" compile missing.onnx -t refnpu-n16 -o x --calib y.npy;     says err.txt NPUC-E0008
status 6 "$NPUC" compile "$demo/model.onnx" -t refnpu-n16 -o x --calib missing.npy; says err.txt NPUC-E0008
status 6 "$NPUC" eval "$demo/model.onnx" --data missing.npy;                says err.txt NPUC-E0008
status 6 "$NPUC" eval "$demo/model.onnx" --data dir:missing;                says err.txt NPUC-E0008
status 6 "$NPUC" run "$demo/model.onnx" -i image=missing.npy;               says err.txt NPUC-E0008
status 6 "$NPUC" inspect "$demo/model.onnx/below";                          says err.txt NPUC-E0008
cp "$demo/model.onnx" locked.onnx && chmod 0 locked.onnx
if [ "$(id -u)" = 0 ]; then echo "root may read everything: no permission was refused"; else
  status 5 "$NPUC" inspect locked.onnx; says err.txt NPUC-E0003
fi
status 5 "$NPUC" run "$demo/model.onnx" -o /proc/none;                      says err.txt NPUC-E0004

# compile OUT -o OTHER starts from what OUT was made of, with its preprocessing, and gives the same artifact
status 0 compile_demo first
status 0 "$NPUC" compile first -t refnpu-n16 -o second --calib "$demo/calib.npy"
says err.txt NPUC-E0933
same_file first/6-build.refnpu-n16/model.npu second/6-build.refnpu-n16/model.npu
status 2 "$NPUC" inspect "$demo/model.onnx" --dim M=3;                      says err.txt NPUC-E0502

status 0 "$NPUC" inspect "$demo/model.onnx"; says out.txt " N MACs"
one=$("$NPUC" inspect "$demo/model.onnx" --dim N=1 --json | tr -d ' ,' | sed -n 's/^"macs"://p' | tail -1)
status 0 "$NPUC" inspect "$demo/model.onnx" --json; says out.txt "\"macs_formula\": \"${one%.0} N\""
for option in --print-after --stop-after --pass-limit; do
  status 0 "$NPUC" compile --help; says out.txt "$option"
done
finish
