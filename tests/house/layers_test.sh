#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/check-layers must pass a clean tree and catch each kind of wrong include. usage: layers_test.sh SOURCE SCRATCH
set -eu
source=$1 tree=$2
rm -rf "$tree"
mkdir -p "$tree/src/base" "$tree/src/ir" "$tree/src/runtime" "$tree/include/npuc"
echo '#include "npuc/status.h"' > "$tree/src/base/a.h"
echo '#include "base/a.h"' > "$tree/src/ir/b.h"
echo '#include "npuc/other.h"' > "$tree/include/npuc/c.h"
"$source/scripts/check-layers" "$tree" > /dev/null || { echo "a clean tree was refused"; exit 1; }

must_catch() { # FILE INCLUDED
  printf '/* c */\n#include "%s"\n' "$2" > "$tree/$1"
  if "$source/scripts/check-layers" "$tree" > "$tree/out"; then echo "$1 including $2 was not caught"; exit 1; fi
  grep -q "^$1:2: includes \"$2\"" "$tree/out" || { echo "no place named:"; cat "$tree/out"; exit 1; }
  rm "$tree/$1"
}
must_catch src/base/up.c ir/b.h
must_catch src/ir/bare.c b.h
must_catch src/ir/unknown.c nowhere/b.h
must_catch src/runtime/heavy.c ir/b.h
must_catch include/npuc/leak.h base/a.h
rm -rf "$tree"
