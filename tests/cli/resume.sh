#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A build stops, is looked at, and goes on: stages by themselves, kept stages, changed options, damaged stages, kills.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"
states() { grep -o '"status": "[a-z]*"' out.txt | cut -d'"' -f4 | tr '\n' ' '; }

# stage by stage gives what compile gives
status 0 "$NPUC" baseline "$demo/model.onnx" -o steps --calib "$demo/calib.npy" --preprocess "$preprocess"
for stage in import normalize static; do status 0 "$NPUC" $stage steps; done
status 0 "$NPUC" status steps
says out.txt "npuc adapt steps"
status 2 "$NPUC" quantize steps -t refnpu-n16      # adapt has not been done
says err.txt NPUC-E0905
for stage in adapt quantize build verify; do status 0 "$NPUC" $stage steps -t refnpu-n16; done
status 0 compile_demo whole
same_file steps/6-build.refnpu-n16/model.npu whole/6-build.refnpu-n16/model.npu

# bisection: one stage again with its rewrites cut, the stages before it whole; without the cut it is made whole again
cp -r steps cut
status 0 "$NPUC" normalize cut --pass-limit 3
cmp -s steps/2-normalize.onnx cut/2-normalize.onnx && fail "three rewrites are all of them"
status 2 "$NPUC" static cut # what it would stand on is cut
status 0 "$NPUC" normalize cut
same_file steps/2-normalize.onnx cut/2-normalize.onnx
status 2 "$NPUC" verify cut # and says nothing of results that are gone
[ -z "$(cat out.txt)" ] || fail "a refused command prints results"

# unchanged: everything is kept; an option changes: from its stage on
status 0 compile_demo whole --json
equal "$(states)" "kept kept kept kept kept kept kept kept " "second run"
status 0 compile_demo whole --json --set quantize.observer=min-max
equal "$(states)" "kept kept kept kept kept done done done " "after a changed observer"
status 0 compile_demo whole --json --set quantize.observer=mse
status 0 compile_demo whole --json --from static
equal "$(states)" "kept kept kept done done done done done " "--from static"

# a stage's file that was damaged is made again
printf x >> whole/2-normalize.onnx
status 0 compile_demo whole --json
equal "$(states)" "kept kept done done done done done done " "after damage"
same_file steps/6-build.refnpu-n16/model.npu whole/6-build.refnpu-n16/model.npu

# so are all stages that may have read a damaged weight
for file in whole/weights/*; do
  [ "$(wc -c < "$file")" -gt 4096 ] && printf '\277' | dd of="$file" bs=1 seek=3 conv=notrunc 2> /dev/null
done
status 0 compile_demo whole --json
says err.txt NPUC-E0927
equal "$(states)" "kept done done done done done done done " "after damaged weights"
same_file steps/6-build.refnpu-n16/model.npu whole/6-build.refnpu-n16/model.npu

# weights that are gone are not whole: the stages that refer to them run again
rm -r whole/weights
status 0 compile_demo whole --json
equal "$(states)" "kept done done done done done done done " "after the weights were removed"
same_file steps/6-build.refnpu-n16/model.npu whole/6-build.refnpu-n16/model.npu
status 0 "$NPUC" run whole@static

# weights beside the model (external data) are part of the source: a stage's own model has them
mkdir apart && cp -r whole/1-import.onnx whole/weights apart/
external() { "$NPUC" compile apart/1-import.onnx -t refnpu-n16 -o external --calib "$demo/calib.npy" --preprocess "$preprocess" "$@"; }
status 0 external
status 0 external --json
equal "$(states)" "kept kept kept kept kept kept kept kept " "unchanged external data"
for file in apart/weights/*; do # the sign of each file's first weight
  [ "$(wc -c < "$file")" -gt 256 ] && printf '\277' | dd of="$file" bs=1 seek=3 conv=notrunc 2> /dev/null
done
external --json > out.txt 2> err.txt # whatever becomes of the accuracy
case $(states) in kept*) fail "changed external data: $(states)" ;; esac

# a folder is what its files hold: a reference that was written over in place is compared again
mkdir reference && cp whole/0-baseline/outputs/*.npy reference/
referred() { "$NPUC" import "$demo/model.onnx" -o referred --calib "$demo/calib.npy" --preprocess "$preprocess" --reference reference "$@"; }
status 0 referred
status 0 referred --json
equal "$(states)" "kept kept " "unchanged reference"
for file in reference/*.npy; do printf '\100' | dd of="$file" bs=1 seek=$(($(wc -c < "$file") - 1)) conv=notrunc 2> /dev/null; done
status 4 referred

# killed at any moment: nothing looks finished, and running again ends with the same bytes
for delay in 0.02 0.05 0.1 0.15 0.2 0.3 0.5; do
  rm -rf killed
  "$NPUC" compile "$demo/model.onnx" -t refnpu-n16 -o killed --calib "$demo/calib.npy" --preprocess "$preprocess" > /dev/null 2>&1 &
  pid=$!
  sleep $delay
  kill -9 $pid 2> /dev/null
  wait $pid 2> /dev/null
  status 0 compile_demo killed
  same_file steps/6-build.refnpu-n16/model.npu killed/6-build.refnpu-n16/model.npu
  [ -z "$(find killed -name '*npuc-tmp*')" ] || fail "temporary files are left: $(find killed -name '*npuc-tmp*')"
done
finish
