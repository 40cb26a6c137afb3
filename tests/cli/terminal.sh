#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a terminal gets and a pipe does not: width, colours, progress; and what neither gets.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"

# longest FILE: columns of its longest line
longest() { LC_ALL=C.UTF-8 wc -L < "$1"; }
for columns in 60 80 132; do
  for line in "targets refnpu-n16" "ops" "explain" "inspect $demo/model.onnx --nodes"; do
    # shellcheck disable=SC2086
    status 0 env COLUMNS=$columns "$NPUC" $line
    [ "$(longest out.txt)" -le "$columns" ] || fail "$line is $(longest out.txt) wide at COLUMNS=$columns"
    iconv -f UTF-8 -t UTF-8 out.txt > /dev/null 2>&1 || fail "$line: half a character at COLUMNS=$columns"
  done
done
status 0 "$NPUC" explain; [ "$(longest out.txt)" -gt 80 ] || fail "a pipe gets short lines"
for columns in 60 100; do
  status 0 env COLUMNS=$columns "$NPUC" compile --help
  sed -n '/^Target:/,/^Examples:/p' out.txt > help.txt
  [ "$(longest help.txt)" -le "$columns" ] || fail "--help is $(longest help.txt) wide at COLUMNS=$columns"
done

# a pipe: no escape character anywhere; colours when asked for
escape=$(printf '\033')
status 0 compile_demo piped
grep -q "calibrate" err.txt && fail "progress in a pipe"
status 6 "$NPUC" inspect "$NPUC_SOURCE_DIR/LICENSE"
grep -q "$escape" err.txt && fail "colours in a pipe"
status 6 "$NPUC" inspect "$NPUC_SOURCE_DIR/LICENSE" --color always
grep -q "$escape" err.txt || fail "--color always has none"

# a terminal, where script(1) can make one
if script -qec true /dev/null > /dev/null 2>&1; then
  run_in_terminal() { env TERM=xterm "$@" script -qec "stty cols 70; '$NPUC' compile '$demo/model.onnx' -t refnpu-n16 -o tty$$ --force --calib '$demo/calib.npy' --preprocess '$preprocess'" /dev/null < /dev/null > tty.txt 2>&1; }
  run_in_terminal; grep -q "$escape\[K" tty.txt || fail "no progress on a terminal"
  run_in_terminal TERM=dumb; grep -q "$escape" tty.txt && fail "escapes on a dumb terminal"
  error_in_terminal() { env TERM=xterm "$@" script -qec "'$NPUC' inspect '$NPUC_SOURCE_DIR/LICENSE'" /dev/null < /dev/null > tty.txt 2>&1; }
  error_in_terminal; grep -q "$escape\[1;31m" tty.txt || fail "no colour on a terminal"
  error_in_terminal NO_COLOR=1; grep -q "$escape\[1;31m" tty.txt && fail "colour with NO_COLOR"
  error_in_terminal NO_COLOR=; grep -q "$escape\[1;31m" tty.txt || fail "no colour with an empty NO_COLOR"
else
  echo "script(1) is not installed: no terminal was tried"
fi

# names of a hostile file reach the screen as text
printf '\033]0;x\007.onnx' > name.txt
: > "$(cat name.txt)"
status 6 "$NPUC" inspect "$(cat name.txt)"
grep -q "$escape" err.txt && fail "an escape in a name reached the terminal"
says err.txt '\x1b]0;x\x07.onnx'

# a trace that cannot be written is said before the work, and leaves nothing
status 5 "$NPUC" simulate piped --trace /nowhere/trace.json; says err.txt /nowhere/trace.json; silent out.txt
status 0 "$NPUC" simulate piped --trace trace.json
[ -s trace.json ] || fail "no trace"
finish
