#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Odd but possible models are computed right or refused with the exit status and the diagnostic that say why.
set -eu
. "$NPUC_SOURCE_DIR/tests/peers/peers.sh"
"$python" "$peers/odd_models.py" --self-test --work "$work"
exec "$python" "$peers/odd_models.py" --npuc "$NPUC" --work "$work"
