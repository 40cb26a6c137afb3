#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The second tier: makes (once) a private Python environment and runs every peer check. `make test-all` calls it.
#   tests/peers/test-all.sh NPUC [WORK [run_all options...]]
# NPUC_SHARED names the folder that stands beside the repository; NPUC_PYTHON an environment that has requirements.txt already.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
npuc=$1
work=${2:-"$here/../../build/peers"}
[ $# -lt 2 ] && shift || shift 2
shared=${NPUC_SHARED:-"$here/../../../shared"}
if [ ! -d "$shared/data" ]; then
    echo "test-all: $shared/data is not there: everything that needs it is skipped"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
mkdir -p "$work"
python=${NPUC_PYTHON:-"$work/venv/bin/python"}
if [ ! -x "$python" ]; then
    echo "test-all: making $work/venv from tests/peers/requirements.txt (about 1 GB)"
    python3 -m venv "$work/venv"
    "$work/venv/bin/pip" install --quiet -r "$here/requirements.txt"
fi
status=0
check() {
    echo "== $*"
    "$python" "$@" || status=1
}
cd "$here"
for script in int_module_ort qdq_ort check_onnx float_logits; do
    check "$script.py" --self-test
done
check real_world_cases.py --check
check ../../examples/demo/train.py --check
check build_models.py --shared "$shared" --work "$work/models" --self-test
check driver_test.py --shared "$shared" --work "$work/driver"
check ort_int8.py --shared "$shared" --work "$work/ort"
check bad_input.py --npuc "$npuc" --work "$work/bad"
check run_all.py --npuc "$npuc" --shared "$shared" --work "$work" "$@"
exit $status
