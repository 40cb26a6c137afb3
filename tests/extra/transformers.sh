#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Model families of transformers in tiny configurations, exported by torch, run by npuc, equal to torch: docs/transformers-families.md.
set -eu
python=${NPUC_PYTHON:-$NPUC_BINARY_DIR/venv/bin/python}
"$python" -c 'import torch, torch.export, transformers' 2> /dev/null || { echo "skipped: no Python with torch and transformers (set NPUC_PYTHON)"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$NPUC_SOURCE_DIR/tests/peers/transformers_families.py" --npuc "$NPUC" --work "$NPUC_SCRATCH"
