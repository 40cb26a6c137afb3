#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every npuc command of the task pages of docs/ runs as it stands there and ends well. Each page starts with the build that docs/compile-a-model.md begins with.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"
PATH=$(dirname "$NPUC"):$PATH
export PATH

# The commands of a page, one a line: indented by four, continued by a backslash.
commands() {
  sed -n 's/^    //p' "$NPUC_SOURCE_DIR/docs/$1.md" | sed -e ':more' -e '/\\$/{N;s/\\\n */ /;bmore' -e '}' | sed 's/  *#.*//' | grep -E '^(npuc|build/examples/classify) '
}
first=$(commands compile-a-model | head -n 1)
for page in compile-a-model check-a-model integer-module run-on-the-npu runtime from-pytorch; do
  mkdir "$page" && cd "$page" || exit 1
  ln -s "$NPUC_SOURCE_DIR/examples" examples
  ln -s "$NPUC_SOURCE_DIR/tests" tests
  ln -s "$NPUC_BINARY_DIR" build
  status 0 sh -c "$first"
  commands "$page" > list.txt
  [ -s list.txt ] || fail "docs/$page.md has no commands"
  while IFS= read -r line; do status 0 sh -c "$line" < /dev/null; done < list.txt
  cd ..
done
finish
