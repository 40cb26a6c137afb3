#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# EfficientNet-Lite0, MiniLM, rapidocr's networks and silero-vad: float, static, bfloat16 and float16; the table of ports against ONNX's schemas.
set -eu
. "$NPUC_SOURCE_DIR/tests/peers/peers.sh"
"$python" -c 'import onnxscript, transformers' 2> /dev/null || { echo "skipped: $python has no onnxscript or no transformers"; exit 77; }
"$python" "$peers/precision_table.py" "$NPUC_SOURCE_DIR"
exec "$python" "$peers/bf16_models.py" --npuc "$NPUC" --shared "$shared" --work "$work" ${NPUC_WHEELS:+--wheels "$NPUC_WHEELS"}
