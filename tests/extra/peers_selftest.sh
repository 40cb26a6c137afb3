#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The comparison scripts notice what they must; fixtures and demo pictures are what their scripts make.
set -eu
. "$NPUC_SOURCE_DIR/tests/peers/peers.sh"
for script in int_module_ort qdq_ort check_onnx float_logits; do
  "$python" "$peers/$script.py" --self-test
done
"$python" "$peers/bad_input.py" --self-test --work "$work/bad"
"$python" "$peers/real_world_cases.py" --check
"$python" "$NPUC_SOURCE_DIR/examples/demo/train.py" --check
