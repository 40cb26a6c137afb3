#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Decoders with a growing cache made static, token by token beside ONNX Runtime: the trained one of ../shared/data, and what transformers and torch.onnx make here.
set -eu
python=${NPUC_PYTHON:-$NPUC_BINARY_DIR/venv/bin/python}
"$python" -c 'import torch.onnx, transformers, onnx, onnxruntime' 2> /dev/null ||
  { echo "skipped: no Python with torch, transformers, onnx and onnxruntime (set NPUC_PYTHON)"; exit 77; }
data=${NPUC_SHARED:-$NPUC_SOURCE_DIR/../shared}/data/tinystories-656k
[ -d "$data" ] || { echo "skipped: no $data"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$NPUC_SOURCE_DIR/tests/peers/decoder_forms.py" --npuc "$NPUC" --work "$NPUC_SCRATCH" --tinystories "$data"
