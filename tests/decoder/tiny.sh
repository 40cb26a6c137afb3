#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Streams of random instructions of every kind (data/, written by make_tiny.py from the document's tables): npu-decode and npuc's
# simulator give the stored bytes and equal cycles, in every order of the queues (n8-33 and n16-12 hold sums beyond 64 bits).
# Where Python is, the stored files are also made again. Negative control: with one bit of an instruction flipped most are refused or give other bytes.
set -eu
here=$NPUC_SOURCE_DIR/tests/decoder
work=$NPUC_SCRATCH
rm -rf "$work"
mkdir -p "$work/npuc" "$work/second" "$work/flipped"

caught=0
tried=0
for file in "$here"/data/*.npu; do
  stem=${file%.npu}
  for order in 0 1 2 3; do
    "$NPU_DECODE" "$file" --order $order --input "x=$stem.x.npy" --output "$work/second" --cycles > "$work/cycles"
    cmp "$stem.y.npy" "$work/second/y.npy"
  done
  "$NPUC" --json run "$file" --engine simulator -i "x=$stem.x.npy" -o "$work/npuc" > "$work/run.json" 2> "$work/log" || { cat "$work/log"; exit 1; }
  cmp "$stem.y.npy" "$work/npuc/y.npy"
  theirs=$(tr -d '\n' < "$work/run.json" | sed -n 's/.*"cycles" *: *\([0-9]*\).*/\1/p')
  ours=$(sed -n 's/.*: \([0-9]*\) cycles.*/\1/p' "$work/cycles")
  echo "${stem##*/}: equal bytes; $ours cycles here, $theirs in npuc"
  [ "$ours" = "$theirs" ] || exit 1

  name=${stem##*/}
  if command -v python3 > /dev/null; then
    python3 "$here/make_tiny.py" "$work/again.npu" "$work/again.npy" --side "$(expr "$name" : 'n\([0-9]*\)-')" --seed "${name#*-}"
    cmp "$file" "$work/again.npu"
  fi
  bit=131
  while [ $bit -lt 12000 ]; do
    tried=$((tried + 1))
    rm -f "$work/flipped/y.npy"
    "$NPU_DECODE" "$file" --flip $bit --input "x=$stem.x.npy" --output "$work/flipped" 2> /dev/null || true
    cmp -s "$stem.y.npy" "$work/flipped/y.npy" || caught=$((caught + 1))
    bit=$((bit + 5 * 128 + 13))
  done
done
echo "$caught of $tried flipped bits are refused or change the output"
[ "$tried" -ge 20 ] && [ $((caught * 2)) -ge "$tried" ]
