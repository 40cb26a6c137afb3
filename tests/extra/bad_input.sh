#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Damaged and hostile files, wrong calibration, a full disk, a foreign folder: the right exit status and nothing half-written.
set -eu
. "$NPUC_SOURCE_DIR/tests/peers/peers.sh"
exec "$python" "$peers/bad_input.py" --npuc "$NPUC" --work "$work"
