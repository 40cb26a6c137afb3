#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ResNet-20, ten images: every intermediate tensor of the integer module equals what the simulator leaves, on n8, n16 and n32.
set -u
shared=${NPUC_SHARED:-$NPUC_SOURCE_DIR/../shared}
proof=$NPUC_BINARY_DIR/tests/test_runtime_intermediate
for needed in "$shared/data/resnet-cifar10/resnet20.onnx" "$shared/data/cifar10/calib_train_1000.bin" "$shared/data/cifar10/test_batch.bin" "$proof"; do
  [ -e "$needed" ] || { echo "skipped: $needed is not there (NPUC_SHARED names the folder)"; exit 77; }
done
rm -rf "$NPUC_SCRATCH" && mkdir -p "$NPUC_SCRATCH" || exit 1
head -c 307300 "$shared/data/cifar10/test_batch.bin" > "$NPUC_SCRATCH/test_100.bin" || exit 1 # records of 3,073 bytes
"$NPUC" compile "$shared/data/resnet-cifar10/resnet20.onnx" -t refnpu-n8 -t refnpu-n16 -t refnpu-n32 -o "$NPUC_SCRATCH/out" --to quantize \
  --calib "cifar10:$shared/data/cifar10/calib_train_1000.bin" --eval "cifar10:$NPUC_SCRATCH/test_100.bin" \
  --preprocess scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225 --max-drop 5 || exit 1
for n in 8 16 32; do "$proof" "$NPUC_SCRATCH/out" "$n" 10 || exit 1; done
