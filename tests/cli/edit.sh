#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# npuc edit, and edits in a build.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"

status 0 "$NPUC" edit --list;                                        says out.txt eliminate-transpose; says out.txt approximate
status 2 "$NPUC" edit;                                               says err.txt "--list"
status 2 "$NPUC" edit "$demo/model.onnx" -o a;                       says err.txt "no edit is asked for"
status 2 "$NPUC" edit "$demo/model.onnx" --edit remove-is-nan;       says err.txt "-o DIR"
status 2 "$NPUC" edit "$demo/model.onnx" -o a --edit remove-is-nam;  says err.txt NPUC-E0507; says err.txt "remove-is-nan"
status 2 "$NPUC" edit "$demo/model.onnx" -o a --edit eliminate-expand:oops=Mul; says err.txt NPUC-E0508; says err.txt ops
[ ! -e a ] || fail "a slip made a folder"

# what finds nothing says so; the model is the same
status 0 "$NPUC" edit "$demo/model.onnx" -o a --edit remove-is-nan;  says err.txt NPUC-E0512
status 0 "$NPUC" diff "$demo/model.onnx" a/model.onnx

# a list, stronger flags, a dump for each edit; --json has it all
printf 'edits:\n  - name: BroadcastOpInputs\n    args: [[Sub]]\n  - EliminateTranspose\n' > edits.yaml
status 0 "$NPUC" edit "$demo/model.onnx" -o b --edits edits.yaml --edit broadcast-op-inputs:ops=Relu --edit fold-conv-batch-norm --skip-edit eliminate-transpose --dump-after-edit --json
says out.txt '"broadcast-op-inputs"'; says out.txt '"Relu"'; says out.txt '"compared": true'
[ -f b/intermediates/0001_broadcast-op-inputs_model.onnx ] || fail "no first dump"
[ -f b/intermediates/0002_fold-conv-batch-norm_model.onnx ] || fail "no second dump"
[ ! -f b/intermediates/0003_eliminate-transpose_model.onnx ] || fail "a skipped edit ran"
says b/npuc.json '"done": true'
status 0 "$NPUC" diff "$demo/model.onnx" b/model.onnx --rtol 1e-5
status 6 "$NPUC" edit "$demo/model.onnx" -o b --edits "$demo/model.onnx"; says err.txt NPUC-E0509

# a folder of somebody else is left alone
mkdir other && echo mine > other/file
status 2 "$NPUC" edit "$demo/model.onnx" -o other --edit remove-is-nan; says err.txt NPUC-E0901
[ "$(ls other)" = file ] || fail "something was written into other"

# in a build: recorded, part of stage adapt's key, and done again when they change
status 0 compile_demo built --edit replace-constant-div-with-mul --to adapt --dump-after-edit
[ -f built/intermediates/0001_replace-constant-div-with-mul_signnet.onnx ] || fail "no dump in the build"
says built/manifest.json replace-constant-div-with-mul
status 0 "$NPUC" compile built --to adapt -v;                        says out.txt "kept"
status 0 "$NPUC" compile built --to adapt --edit remove-is-nan;      says out.txt "adapt"; says out.txt "done"
finish
