# SPDX-License-Identifier: Apache-2.0
# The runner notices what it must: a wrong output, a listed case that passes, a failing case that is not listed, a model that is cut short.
set -eu
cases=/usr/share/libonnx-testdata/data
[ -d "$cases/node/test_abs" ] || { echo "skipped: Debian's libonnx-testdata is not installed"; exit 77; }
work=$NPUC_SCRATCH
rm -rf "$work"
mkdir -p "$work/good" "$work/bad"
cp -r "$cases/node/test_abs" "$work/good/"
cp -r "$cases/node/test_abs" "$work/bad/test_wrong"
cp "$work/bad/test_wrong/test_data_set_0/input_0.pb" "$work/bad/test_wrong/test_data_set_0/output_0.pb"
cp -r "$cases/node/test_abs" "$work/bad/test_cut"
head -c 60 "$cases/node/test_abs/model.onnx" > "$work/bad/test_cut/model.onnx"
: > "$work/none"
echo "good/test_abs wrong by word alone" > "$work/abs"
printf 'bad/test_wrong wrong\nbad/test_cut cut\n' > "$work/both"

expect() { # STATUS LIST FOLDER TEXT
  status=0
  "$CONFORMANCE" "$work/$2" "$work/$3" > "$work/out" || status=$?
  [ "$status" = "$1" ] || { echo "list $2, folder $3: exit $status, $1 expected"; cat "$work/out"; exit 1; }
  grep -q "$4" "$work/out" || { echo "list $2, folder $3: no '$4'"; cat "$work/out"; exit 1; }
}
expect 0 none good "1 of 1 cases pass"
expect 1 abs good "listed as failing"
expect 1 none bad "test_wrong wrong output 0, element"
expect 1 none bad "test_cut NPUC-E"
expect 0 both bad "0 of 2 cases pass, 0 not as listed"
rm -rf "$work"
