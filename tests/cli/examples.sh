#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every example of every command's --help runs as it stands, in order, in a folder that looks like the repository after `make demo`.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"
PATH=$(dirname "$NPUC"):$PATH
export PATH
ln -s "$NPUC_SOURCE_DIR/examples" examples
mkdir build
status 0 compile_demo build/demo --eval "$demo/test.npy"
for command in $("$NPUC" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  "$NPUC" "$command" --help | sed -n '/^Examples:/,/^$/s/^  \(npuc .*\)/\1/p' > list.txt
  [ -s list.txt ] || fail "npuc $command --help has no examples"
  while IFS= read -r line; do status 0 sh -c "$line" < /dev/null; done < list.txt
done
finish
