#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# profile of a float model, an integer stage and a program; its JSON, its traces, and the simulator's.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"
compile_demo built > /dev/null || fail "compile"

status 0 "$NPUC" profile "$demo/model.onnx" --batch 4 --repeat 2 --threads 1 --trace float.json; silent err.txt
says out.txt "GMAC/s"; says float.json '"traceEvents"'; says float.json '"ph":"C"'
status 0 "$NPUC" profile built@quantize --batch 2 --repeat 2 --json
for key in median_ms runs live_bytes share; do [ -n "$(number $key out.txt)" ] || fail "no $key"; done
says out.txt '"engine": "executor"'
status 0 "$NPUC" profile built --json --trace program.json
cp out.txt profile.txt
says profile.txt '"engine": "simulator"'; says profile.txt '"capacity"'; says program.json '"scratchpad"'; says program.json '"array waits"'
# what profile and simulate say of one program is the same
status 0 "$NPUC" simulate built --json --trace simulate.json
total() { tr -d ' ,' < "$1" | sed -n 's/^"cycles"://p' | tail -1; }
equal "$(total profile.txt)" "$(total out.txt)" "cycles of profile and simulate"
grep -v scratchpad program.json | sed 's/,$//' > without.txt
sed 's/,$//' simulate.json > with.txt
same_file without.txt with.txt

status 5 "$NPUC" profile built --trace /nowhere/t.json; silent out.txt
status 2 "$NPUC" profile "$demo/model.onnx" --repeat 0
finish
