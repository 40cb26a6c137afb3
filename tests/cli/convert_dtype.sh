#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# npuc convert-dtype: narrower models that the executor runs, and what is refused.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"

status 2 "$NPUC" convert-dtype "$demo/model.onnx" -o a;                            says err.txt "--to TYPE"
status 2 "$NPUC" convert-dtype "$demo/model.onnx" --to bf16;                       says err.txt "-o DIR"
status 2 "$NPUC" convert-dtype "$demo/model.onnx" --to bf15 -o a;                  says err.txt "bf16, fp16, int32"
status 2 "$NPUC" convert-dtype "$demo/model.onnx" --to bf16 -o a --keep Softmaks;  says err.txt NPUC-E0514
status 2 "$NPUC" convert-dtype "$demo/model.onnx" --to bf16 -o a --rounding up;    says err.txt "nearest or truncate"
status 2 "$NPUC" convert-dtype "$demo/model.onnx" --to int32 -o a --range x=0;     says err.txt "NAME=LO:HI"
[ ! -e a ] || fail "a slip made a folder"

# the float model has 379 of 400 right; a bfloat16 or float16 one loses or wins a few near ties, truncation more
for type in bf16 fp16; do
  for io in "" --convert-io; do
    rm -rf "$type"
    status 0 "$NPUC" convert-dtype "$demo/model.onnx" --to "$type" -o "$type" $io --json
    says out.txt '"compared": true'
    status 0 "$NPUC" diff "$demo/model.onnx" "$type/model.onnx" --samples 8 --cosine 0.999
    status 4 "$NPUC" diff "$demo/model.onnx" "$type/model.onnx" --samples 8 --cosine 0.99999999
    status 0 "$NPUC" eval "$type/model.onnx" --data "$demo/test.npy" --preprocess "$preprocess" --json
    right=$(number top1 out.txt)
    awk -v r="$right" 'BEGIN { exit !(r >= 94.0 && r <= 95.5) }' || fail "$type $io: $right % right"
  done
done
status 0 "$NPUC" inspect fp16/model.onnx; says out.txt float16
mkdir other && echo mine > other/file
status 2 "$NPUC" convert-dtype "$demo/model.onnx" --to bf16 -o other; says err.txt NPUC-E0901
finish
