#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# MLPerf Tiny, MNIST and ExecuTorch's networks, float and int8, through the command line.
set -eu
. "$NPUC_SOURCE_DIR/tests/peers/peers.sh"
exec "$python" "$peers/run_all.py" --npuc "$NPUC" --shared "$shared" --work "$work" --rows '^(float|int8)-(resnet8|keywords|cifar_net|mnist|dscnn)'
