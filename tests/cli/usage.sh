#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What people mistype, and what a pipe sees.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"

status 0 "$NPUC" --help;            says out.txt compile; silent err.txt
status 0 "$NPUC" --version;         says out.txt npuc
status 2 "$NPUC";                   says err.txt Usage
for command in $("$NPUC" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  status 0 "$NPUC" "$command" --help
  says out.txt "Usage: npuc $command"
  says out.txt "Exit status"
done

status 2 "$NPUC" compiel;                                           says err.txt "npuc compile"
status 2 "$NPUC" compile "$demo/model.onnx" --calibb x;             says err.txt "did you mean --calib?"
status 2 "$NPUC" inspect "$demo/model.onnx" --calib x;              says err.txt "npuc compile"
status 2 "$NPUC" compile "$demo/model.onnx" -o a -o b;              says err.txt NPUC-E0103
status 2 "$NPUC" run "$demo/model.onnx" --dim N=2 --dim N=4;         says err.txt "--dim N is given twice"
status 2 "$NPUC" diff "$demo/model.onnx" "$demo/model.onnx" -i image=a.npy -i image=b.npy; says err.txt "--input image is given twice"
status 2 "$NPUC" run "$demo/model.onnx" -o "";                        says err.txt "is empty"
status 2 "$NPUC" run "$demo/model.onnx" --dim=;                       says err.txt "is empty"
# a fixed batch takes as many records at a time, and counts each once (400 is no multiple of 7)
for batch in 1 7 400; do
  status 0 "$NPUC" eval "$demo/model.onnx" --data "$demo/test.npy" --preprocess "$preprocess" --dim N=$batch; says out.txt "94.75 % (379 of 400)"
done
status 0 "$NPUC" eval "$demo/model.onnx" --data "$demo/test.npy" --preprocess "$preprocess" --dim N=7 --limit 10; says out.txt "of 10)"
status 2 "$NPUC" compile "$demo/model.onnx" -t refnpu-n17 -o x --calib "$demo/calib.npy"; says err.txt "refnpu-n16"
[ ! -e x/6-build.refnpu-n17 ] || fail "an unknown target was built"
status 2 "$NPUC" compile "$demo/model.onnx" -t refnpu-n16;          says err.txt "-o OUT"
status 2 "$NPUC" compile "$demo/model.onnx" -t refnpu-n16 -o y --set quantize.observr=mse; says err.txt quantize.observer
status 2 "$NPUC" compile "$demo/model.onnx" -t refnpu-n16 -o z --preprocess scal=1 --calib "$demo/calib.npy"; says err.txt scale
status 2 "$NPUC" explain E9999;                                     says err.txt NPUC-E0106
status 0 "$NPUC" explain E0901;                                     says out.txt not-our-folder
status 0 "$NPUC" explain gate-accuracy;                             says out.txt NPUC-E0915
status 0 "$NPUC" targets refnpu-n16;                                says out.txt npuc.QConv
status 0 "$NPUC" ops Conv;                                          says out.txt Conv
status 3 "$NPUC" compile "$demo/model.onnx" -t refnpu-n16 -o w --scheme w4a8 --calib "$demo/calib.npy" --preprocess "$preprocess"; says err.txt w8a8
status 2 "$NPUC" compile "$demo/model.onnx" -t refnpu-n16 -o v --preprocess "$preprocess"; says err.txt "--calib"
status 2 env NPUC_CPU=quantum "$NPUC" targets;                      says err.txt NPUC-E0007
# what a model or an option asks for is refused by size before it is claimed; the same model runs within the limit
status 3 "$NPUC" run "$demo/model.onnx" --dim N=1000000000;         says err.txt NPUC-E0009; says err.txt "--max-memory"
status 3 "$NPUC" run "$demo/model.onnx" --max-memory 1K;            says err.txt NPUC-E0009
status 0 "$NPUC" run "$demo/model.onnx" --max-memory 64M
for size in 12Q 1GB -1 0 "" 99999999999T; do
  status 2 "$NPUC" run "$demo/model.onnx" --max-memory "$size";     says err.txt NPUC-E0104
done
# nothing is written over what is read, however the path is spelled
cp "$demo/model.onnx" mine.onnx && ln -s mine.onnx link.onnx
for option in --graph --log; do
  status 2 "$NPUC" inspect mine.onnx "$option" ./mine.onnx;         says err.txt "would overwrite"
done
status 2 "$NPUC" inspect mine.onnx --graph link.onnx;               says err.txt "would overwrite"
status 2 "$NPUC" profile mine.onnx --repeat 1 --trace link.onnx;    says err.txt "would overwrite"
same_file mine.onnx "$demo/model.onnx"
status 0 "$NPUC" inspect mine.onnx --graph other.html
# a log that is cut short is no success
[ ! -w /dev/full ] || { status 5 compile_demo logged --log /dev/full --to import; says err.txt "the log"; }
# a name that no dim has: those that there are
status 2 "$NPUC" run "$demo/model.onnx" --dim Q=4;                  says err.txt "--dim N=NUMBER"
# NaN comes out as NaN
python_free_npy() { printf '\223NUMPY\1\0v\0%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3, 16, 16), }"; }
{ python_free_npy; i=0; while [ $i -lt 768 ]; do printf '\0\0\300\177'; i=$((i + 1)); done; } > nan.npy
status 0 "$NPUC" run "$demo/model.onnx" -i image=nan.npy;           says out.txt "min nan max nan mean nan nan 10"
status 2 "$NPUC" run "$demo/model.onnx" -i image="$demo/calib.npy" ; says err.txt "1x3x16x16"
mkdir foreign && echo mine > foreign/file
status 2 "$NPUC" compile "$demo/model.onnx" -t refnpu-n16 -o foreign --calib "$demo/calib.npy"; says err.txt NPUC-E0901
equal "$(ls -A foreign)" file "a foreign folder"
: > empty.onnx
status 6 "$NPUC" inspect empty.onnx;                                says err.txt NPUC-E0906

status 2 "$NPUC" run "$demo/model.onnx" --engine simulator;         says err.txt "ONNX model"
status 0 "$NPUC" --json --version;                                  says out.txt '"version"'

# JSON: one document on stdout, one line a diagnostic on stderr
status 2 "$NPUC" --json explain E9999
says err.txt '"event":"diagnostic"'
says err.txt '"code":"NPUC-E0106"'
status 0 "$NPUC" --json explain E0106
equal "$(number exit_status out.txt) $(number code_exit_status out.txt)" "0 2" "exit statuses of explain"
# nothing but the result reaches a pipe
status 0 "$NPUC" run "$demo/model.onnx"; silent err.txt
# names are shown on one line, and reach no terminal as commands of it: of files, nodes and operators
esc=$(printf '\033')
printf x > "$(printf 'two\n\033[31mlines.onnx')"
status 6 "$NPUC" inspect "$(printf 'two\n\033[31mlines.onnx')";      says err.txt 'two\x0a\x1b[31mlines.onnx'
printf '\010\010\0724\012\031\012\001x\022\001y\032\005no\033de\042\012Rel\033\1332Jxxx\022\001gZ\011\012\001x\022\004\012\002\010\001b\011\012\001y\022\004\012\002\010\001B\004\012\000\020\021' > escape.onnx
status 3 "$NPUC" inspect escape.onnx;                                says err.txt 'no\x1bde (Rel\x1b[2Jxxx)'
grep -q "$esc" err.txt && fail "an escape sequence reaches the terminal"
status 6 "$NPUC" status escape.onnx;                                 says err.txt "npuc inspect escape.onnx"
finish
