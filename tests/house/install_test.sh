#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs into a scratch prefix and builds a small C program against what is there, by pkg-config and by find_package.
# usage: install_test.sh SOURCE BUILD SCRATCH COMPILER
set -eu
source=$1 build=$2 scratch=$3 cc=$4
rm -rf "$scratch"
mkdir -p "$scratch"
cmake --install "$build" --prefix "$scratch/usr" > /dev/null
pc=$(find "$scratch/usr" -name npuc.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export PKG_CONFIG_PATH LD_LIBRARY_PATH
version="npuc $(pkg-config --modversion npuc)"
for file in bash-completion/completions/npuc zsh/site-functions/_npuc fish/vendor_completions.d/npuc.fish man/man1/npuc.1; do
  [ -s "$scratch/usr/share/$file" ] || { echo "share/$file is not installed"; exit 1; }
done

check() { # PROGRAM
  said=$("$1")
  [ "$said" = "$version" ] || { echo "$1 said '$said', not '$version'"; exit 1; }
}
for library in npuc npuc-runtime; do
  # shellcheck disable=SC2046
  "$cc" -Wall -Werror "$source/tests/house/consumer/main.c" $(pkg-config --cflags --libs $library) -o "$scratch/$library-shared"
  check "$scratch/$library-shared"
  # shellcheck disable=SC2046
  "$cc" -Wall -Werror "$source/tests/house/consumer/main.c" $(pkg-config --cflags $library) "$LD_LIBRARY_PATH/lib$library.a" \
    $(pkg-config --static --libs-only-l $library | sed "s/-l$library //") -pthread -o "$scratch/$library-static"
  check "$scratch/$library-static"
done

cmake -S "$source/tests/house/consumer" -B "$scratch/consumer" -G Ninja -DCMAKE_C_COMPILER="$cc" \
  -DCMAKE_PREFIX_PATH="$scratch/usr" > "$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
cmake --build "$scratch/consumer" > "$scratch/log" 2>&1 || { cat "$scratch/log"; exit 1; }
for library in npuc npuc-runtime npuc-static npuc-runtime-static; do check "$scratch/consumer/with-$library"; done
rm -rf "$scratch"
