#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# doctor with a python3 that notes what it is asked and makes what pip would make: the steps, their order, and what a failure leaves.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"
export XDG_CACHE_HOME="$NPUC_SCRATCH/cache"
unset VIRTUAL_ENV NPUC_ONNXRUNTIME NPUC_OPENVINO

mkdir bin
cat > bin/python3 <<'FAKE'
#!/bin/sh
echo "python3 $*" >> "$NPUC_SCRATCH/calls.txt"
[ "$2" = venv ] || exit 1
mkdir -p "$3/bin" "$3/lib/python3.11/site-packages"
cat > "$3/bin/python" <<'PIP'
#!/bin/sh
echo "pip $*" >> "$NPUC_SCRATCH/calls.txt"
echo "a line of pip"
[ -z "$BREAK" ] || exit 3
case "$*" in *openvino*) mkdir -p "$(dirname "$0")/../lib/python3.11/site-packages/openvino-2026.4.9.dist-info" ;; esac
PIP
chmod +x "$3/bin/python"
FAKE
chmod +x bin/python3
PATH=$NPUC_SCRATCH/bin:$PATH
export PATH NPUC_SCRATCH

status 0 "$NPUC" doctor;        says out.txt "npuc doctor --install openvino"; says out.txt "$NPUC_SCRATCH/bin/python3"
status 0 "$NPUC" doctor --json; says out.txt '"installed": false'; says out.txt '"nncf~=3.4"'
status 0 "$NPUC" --json doctor --install openvino
says out.txt '"version": "2026.4.9"'; says err.txt "a line of pip"
grep -q "a line of pip" out.txt && fail "pip's words are in the document"
cat > wanted.txt <<WANTED
python3 -m venv $XDG_CACHE_HOME/npuc/tools/openvino
pip -m pip install --disable-pip-version-check openvino~=2026.4
pip -m pip install --disable-pip-version-check nncf~=3.4
WANTED
same_file calls.txt wanted.txt
status 0 "$NPUC" doctor; says out.txt 2026.4.9
status 0 "$NPUC" doctor --install openvino; same_file calls.txt wanted.txt # it is there: nothing is run

# pip that fails, and pip that does nothing: no environment stays
status 5 env BREAK=1 "$NPUC" doctor --install vela; says err.txt NPUC-E0932; says err.txt "status 3"
[ ! -e "$XDG_CACHE_HOME/npuc/tools/vela" ] || fail "a failed install left its environment"
status 5 "$NPUC" doctor --install litert;          says err.txt NPUC-E0932
[ ! -e "$XDG_CACHE_HOME/npuc/tools/litert" ] || fail "an empty install left its environment"
status 5 "$NPUC" doctor --install yosys;           says err.txt "apt-get install yosys"
status 2 "$NPUC" doctor --install openvin;         says err.txt "npuc doctor --install openvino"
status 5 env PATH=/nowhere "$NPUC" doctor --install iree; says err.txt python3-venv
finish
