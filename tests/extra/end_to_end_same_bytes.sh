#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The demo's artifact is the same from any run, thread count, instruction set, through the command line.
set -eu
. "$NPUC_SOURCE_DIR/tests/peers/peers.sh"
exec "$python" "$peers/run_all.py" --npuc "$NPUC" --shared "$shared" --work "$work" --rows '^same-bytes'
