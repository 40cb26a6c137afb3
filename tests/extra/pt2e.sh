#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ResNet-20 quantized in PyTorch (PT2E, torchao), from its .pt2 to the integer module: top-1 as torch's quantized graph.
set -eu
python=${NPUC_PYTHON:-$NPUC_BINARY_DIR/venv/bin/python}
"$python" -c 'import torch.export, torchao, onnx, onnxruntime' 2> /dev/null || { echo "skipped: no Python with torch and torchao (set NPUC_PYTHON)"; exit 77; }
shared=${NPUC_SHARED:-$NPUC_SOURCE_DIR/../shared}
[ -d "$shared/data/resnet-cifar10" ] || { echo "skipped: no $shared/data/resnet-cifar10"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$NPUC_SOURCE_DIR/tests/peers/pt2e_resnet.py" --npuc "$NPUC" --shared "$shared" --work "$NPUC_SCRATCH"
