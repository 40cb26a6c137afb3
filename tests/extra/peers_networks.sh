#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The networks built from ../shared have their known counts in ONNX Runtime, and so has its quantizer; the driver's rows can fail.
set -eu
. "$NPUC_SOURCE_DIR/tests/peers/peers.sh"
"$python" "$peers/build_models.py" --shared "$shared" --work "$work/models" --self-test
"$python" "$peers/ort_int8.py" --shared "$shared" --work "$work/ort"
"$python" "$peers/driver_test.py" --shared "$shared" --work "$work/driver"
