#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The Python package on this build's library, as far as NumPy goes; tests/extra/python.sh has torch and the wheel.
set -eu
for python in "${NPUC_PYTHON:-}" "$NPUC_BINARY_DIR/venv/bin/python" python3 /usr/bin/python3 none; do
  [ "$python" != none ] || { echo "skipped: no Python with numpy and pytest (apt-get install python3-numpy python3-pytest, or set NPUC_PYTHON)"; exit 77; }
  if [ -n "$python" ] && "$python" -c 'import numpy, pytest' 2> /dev/null; then break; fi
done
mkdir -p "$NPUC_SCRATCH"
cd "$NPUC_SCRATCH"
export PYTHONDONTWRITEBYTECODE=1 NPUC_LIBRARY="$NPUC_BINARY_DIR/libnpuc.so" PYTHONPATH="$NPUC_SOURCE_DIR/python"
exec "$python" -m pytest -q -p no:cacheprovider --basetemp="$NPUC_SCRATCH/pytest" "$NPUC_SOURCE_DIR/tests/python/test_npuc.py"
