#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The demo network, compiled for each NPU: npu-decode, written from docs/refnpu.md alone, gives npuc's bytes (both engines) and cycles.
# Negative control: of single flipped bits in instructions most are refused or give other bytes, and a damaged file is refused.
set -eu
demo=$NPUC_SOURCE_DIR/examples/demo
work=$NPUC_SCRATCH
rm -rf "$work"
mkdir -p "$work"

sample() { # INDEX FILE: one picture of test.npy as [1, 3, 16, 16]
  { printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 3, 16, 16), }"
    tail -c +129 "$demo/test.npy" | tail -c +$(($1 * 768 + 1)) | head -c 768; } > "$2"
}

for n in 8 16 32; do
  "$NPUC" -q compile "$demo/model.onnx" -t refnpu-n$n -o "$work/n$n" --calib "npy:$demo/calib.npy" --eval "npy:$demo/test.npy" \
    --preprocess scale=1/255,mean=0.5:0.5:0.5,std=0.25:0.25:0.25 > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  file=$work/n$n/6-build.refnpu-n$n/model.npu
  for i in 0 1 57 211 399; do
    sample $i "$work/x.npy"
    for engine in simulator graph; do
      mkdir -p "$work/$engine"
      "$NPUC" -q run "$file" --engine $engine -i "image=$work/x.npy" -o "$work/$engine" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    done
    for engine in stream graph; do
      mkdir -p "$work/second-$engine"
      "$NPU_DECODE" "$file" --engine $engine --input "image=$work/x.npy" --output "$work/second-$engine" --cycles > "$work/cycles-$engine"
      cmp "$work/simulator/logits.npy" "$work/second-$engine/logits.npy"
    done
    cmp "$work/graph/logits.npy" "$work/second-graph/logits.npy"
    for order in 1 2 3; do # no race: the same bytes in other orders of the queues
      "$NPU_DECODE" "$file" --order $order --input "image=$work/x.npy" --output "$work/second-stream"
      cmp "$work/simulator/logits.npy" "$work/second-stream/logits.npy"
    done
  done
  "$NPUC" --json simulate "$file" > "$work/simulate.json" 2> /dev/null
  theirs=$(tr -d '\n' < "$work/simulate.json" | sed -n 's/.*"cycles" *: *\([0-9]*\).*/\1/p')
  ours=$(sed -n 's/.*: \([0-9]*\) cycles.*/\1/p' "$work/cycles-stream")
  echo "n$n: equal bytes; $ours cycles here, $theirs in npuc"
  [ "$ours" = "$theirs" ] || exit 1
done

# The last file (n32), one flipped bit at a time; every 7th instruction, another bit in each.
caught=0
tried=0
bit=1
mkdir -p "$work/flipped"
while "$NPU_DECODE" "$file" --flip $bit 2> "$work/error" || ! grep -q 'beyond the last' "$work/error"; do
  tried=$((tried + 1))
  rm -f "$work/flipped/logits.npy"
  "$NPU_DECODE" "$file" --flip $bit --input "image=$work/x.npy" --output "$work/flipped" 2> /dev/null || true
  cmp -s "$work/simulator/logits.npy" "$work/flipped/logits.npy" || caught=$((caught + 1))
  bit=$((bit + 7 * 128 + 19))
done
echo "$caught of $tried flipped bits are refused or change the output"
[ "$tried" -ge 20 ] && [ $((caught * 2)) -ge "$tried" ]

{ head -c 5000 "$file"; printf '\252'; tail -c +5002 "$file"; } > "$work/damaged.npu"
if "$NPU_DECODE" "$work/damaged.npu" 2> /dev/null; then
  echo "a damaged file is taken"
  exit 1
fi
