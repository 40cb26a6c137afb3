#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The wheel, built and installed into a fresh environment, which has no other way to npuc: all tests of the package, and the snippets of docs/from-pytorch.md.
set -eu
python=${NPUC_PYTHON:-$NPUC_BINARY_DIR/venv/bin/python}
"$python" -c 'import torch, numpy, pytest' 2> /dev/null || { echo "skipped: no Python with torch, numpy and pytest (set NPUC_PYTHON)"; exit 77; }
"$python" -c 'import scikit_build_core' 2> /dev/null || { echo "skipped: no scikit-build-core in $python"; exit 77; }
rm -rf "$NPUC_SCRATCH"
mkdir -p "$NPUC_SCRATCH"
cd "$NPUC_SCRATCH"
"$python" -m pip wheel -q --no-build-isolation --no-deps --no-index -C build-dir="$NPUC_SCRATCH/build" -w wheels "$NPUC_SOURCE_DIR"
ls wheels/npuc-*-py3-none-*.whl > /dev/null || { echo "the wheel is bound to one Python: $(ls wheels)"; exit 1; }
"$python" -m venv fresh
fresh/bin/python -m pip install -q --no-index --no-deps wheels/npuc-*.whl
# torch and the rest are the peers' own; npuc is the wheel's
"$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' > "$(fresh/bin/python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/peers.pth"
unset NPUC_LIBRARY NPUC_SHARE PYTHONPATH
export PYTHONDONTWRITEBYTECODE=1
fresh/bin/python -c 'import npuc, sys; sys.exit("fresh" not in npuc.__file__)'
exec fresh/bin/python -m pytest -q -p no:cacheprovider --basetemp="$NPUC_SCRATCH/pytest" "$NPUC_SOURCE_DIR/tests/python"
