#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ResNet-20: float, logits, int8, cycles, QDQ, simulator and ONNX Runtime bytes, through the command line.
set -eu
. "$NPUC_SOURCE_DIR/tests/peers/peers.sh"
exec "$python" "$peers/run_all.py" --npuc "$NPUC" --shared "$shared" --work "$work" --rows 'resnet20$|^cycles'
