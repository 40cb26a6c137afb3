#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A decoder of 135 million parameters, made here at its real size, imported in place: greedy ids of transformers, private memory, times. Wants 2 GB of disk and 3 GB of memory.
set -eu
python=${NPUC_PYTHON:-$NPUC_BINARY_DIR/venv/bin/python}
"$python" -c 'import torch, torch.export, transformers, onnx' 2> /dev/null || { echo "skipped: no Python with torch, transformers and onnx (set NPUC_PYTHON)"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$NPUC_SOURCE_DIR/tests/peers/large_models.py" --npuc "$NPUC" --work "$NPUC_SCRATCH"
