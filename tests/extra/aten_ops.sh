#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each operator of PyTorch that the reader translates, exported by torch, run by npuc, equal to torch; and whole networks.
set -eu
python=${NPUC_PYTHON:-$NPUC_BINARY_DIR/venv/bin/python}
"$python" -c 'import torch, torch.export, numpy' 2> /dev/null || { echo "skipped: no Python with torch (set NPUC_PYTHON)"; exit 77; }
export PYTHONDONTWRITEBYTECODE=1
mkdir -p "$NPUC_SCRATCH"
stories=${NPUC_SHARED:-$NPUC_SOURCE_DIR/../shared}/data/tinystories-656k
if [ ! -d "$stories" ]; then
  echo "left out: the decoder with a static cache, whose folder $stories is not there"
else
  "$python" "$NPUC_SOURCE_DIR/tests/peers/static_decoder.py" --npuc "$NPUC" --model "$stories/decoder_static.pt2" --ids "$stories/greedy_token_ids.json" \
    --logits "$stories/logits_first32.f32" --work "$NPUC_SCRATCH/decoder"
fi
"$python" "$NPUC_SOURCE_DIR/tests/peers/aten_models.py" --npuc "$NPUC" --work "$NPUC_SCRATCH"
exec "$python" "$NPUC_SOURCE_DIR/tests/peers/aten_ops.py" --npuc "$NPUC" --work "$NPUC_SCRATCH" --against "$NPUC_SOURCE_DIR/tests/peers/aten_ops.tsv"
