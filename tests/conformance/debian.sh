# SPDX-License-Identifier: Apache-2.0
# The recorded cases of Debian's libonnx-testdata: each passes, or is named with its reason in debian.txt.
set -eu
cases=/usr/share/libonnx-testdata/data
[ -d "$cases/node" ] || { echo "skipped: Debian's libonnx-testdata is not installed"; exit 77; }
version=$(dpkg-query -W -f='${Version}' libonnx-testdata)
case $version in 1.12.*) ;; *) echo "skipped: the list speaks of libonnx-testdata 1.12, and $version is installed"; exit 77 ;; esac
"$CONFORMANCE" ${1:-} "$NPUC_SOURCE_DIR/tests/conformance/debian.txt" \
  "$cases/node" "$cases/simple" "$cases/real" "$cases/pytorch-converted" "$cases/pytorch-operator"
