#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# report.html of a real build: written by stage verify, written again by `report` with the same bytes; every section is there, the numbers are the simulator's.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"
page=out/7-verify.refnpu-n16/report.html
status 0 compile_demo out --eval "$demo/test.npy"
[ -s "$page" ] || fail "$page is missing"
status 0 "$NPUC" report out -o again.html
same_file "$page" again.html
for id in stages accuracy parity cycles memory graph placement distributions provenance; do says "$page" "<section id=\"$id\""; done
says "$page" "13,641"
says "$page" "same1_bn"

# the noise of the last value is that of `diff`, which counts it on another way, over the same samples
status 0 "$NPUC" --json diff out@quantize out@adapt --data "$demo/test.npy" --preprocess "$preprocess" --samples 8 --sqnr 0
wanted=$(number sqnr_db out.txt)
found=$(tr -d '\n' < out/7-verify.refnpu-n16/report.json | sed -n 's/.*"value": "logits", *"sqnr_db": *\([0-9.]*\).*/\1/p')
equal "$(printf '%.6f' "$found")" "$(printf '%.6f' "$wanted")" "SQNR of the output"

# a build that is not finished has a page too, and says what comes next
status 0 compile_demo half --to adapt
status 0 "$NPUC" report half -o half.html
says half.html "next: quantize"
says half.html "not done"
# two builds
status 0 "$NPUC" report out half -o compare.html
says compare.html "Options that differ"
says compare.html "All 27 nodes are where they were."
# asked for a target that is not there, or for no build
status 2 "$NPUC" report out -t refnpu-n8 -o no.html
status 6 "$NPUC" report "$demo/model.onnx" -o no.html
status 2 "$NPUC" report out half -o out/manifest.json; says err.txt "would overwrite"
status 0 "$NPUC" status out
[ ! -e no.html ] || fail "a refused report left a file"

# the graph of any model: a model, a stage, a program
status 0 "$NPUC" inspect "$demo/model.onnx" --graph model.html
says model.html "/stem/conv"
says model.html '"op":"BatchNormalization"'
status 0 "$NPUC" inspect out@quantize --graph stage.html
says stage.html '"op":"QConv"'
status 0 "$NPUC" inspect out --graph program.html
says program.html '"place":"npu"'
finish
