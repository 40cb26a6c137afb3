# SPDX-License-Identifier: Apache-2.0
# Sourced by tests/extra/*.sh: finds Python with the peers' packages and ../shared, else ends the test as skipped (77).
# Sets python, shared, peers, work. NPUC_PYTHON and NPUC_SHARED override what is found.
peers=$NPUC_SOURCE_DIR/tests/peers
work=$NPUC_SCRATCH
python=${NPUC_PYTHON:-$NPUC_BINARY_DIR/venv/bin/python}
shared=${NPUC_SHARED:-$NPUC_SOURCE_DIR/../shared}
if ! "$python" -c 'import numpy, onnx, onnxruntime, h5py, torch' 2> /dev/null; then
  echo "skipped: $python with tests/peers/requirements.txt is not there"
  exit 77
fi
if [ ! -d "$shared/data" ]; then
  echo "skipped: $shared/data is not there (NPUC_SHARED names it)"
  exit 77
fi
mkdir -p "$work"
export PYTHONDONTWRITEBYTECODE=1
