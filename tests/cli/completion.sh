#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The completion scripts in their shells: commands, every option that --help shows, and values. zsh and fish are asked where they are installed.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"
PATH=$(dirname "$NPUC"):$PATH
export PATH
for shell in bash zsh fish; do status 0 "$NPUC" completion $shell; cp out.txt "npuc.$shell"; done
status 2 "$NPUC" completion tcsh; says err.txt bash

# options COMMAND: as its help lists them
options() { "$NPUC" "$1" --help | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p' | sort -u; }
commands=$("$NPUC" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')

# bash: complete WORD... prints what the last word may become
cat > complete.bash <<'BASH'
source ./npuc.bash || exit 1
COMP_WORDS=(npuc "$@")
COMP_CWORD=$(($# ))
compopt() { printf 'FILES\n'; }
_npuc
printf '%s\n' "${COMPREPLY[@]}"
BASH
if command -v bash > /dev/null; then
  for command in $commands; do
    bash complete.bash "$command" -- | sort -u | grep -v '^$' > got.txt
    options "$command" > wanted.txt
    same_file got.txt wanted.txt
  done
  equal "$(bash complete.bash comp | tr '\n' ' ')" "compile completion " "bash: commands"
  equal "$(bash complete.bash run --color a | tr '\n' ' ')" "auto always " "bash: a choice"
  equal "$(bash complete.bash run --color = n | tr '\n' ' ')" "never " "bash: a choice after ="
  equal "$(bash complete.bash compile m.onnx -t refnpu-n1 | tr '\n' ' ')" "refnpu-n16 " "bash: targets"
  equal "$(bash complete.bash compile m.onnx --to no | tr '\n' ' ')" "normalize " "bash: stages"
  equal "$(bash complete.bash compile --calib '' | head -n 1)" FILES "bash: files"
  equal "$(bash complete.bash run m.onnx | head -n 1)" FILES "bash: the model's file"
else
  echo "bash is not installed: its completion was not tried"
fi

if command -v zsh > /dev/null; then
  zsh -f -n npuc.zsh || fail "zsh: syntax"
  zsh -f -c 'autoload -Uz compinit && compinit -u -d ./dump && source ./npuc.zsh && [[ $_comps[npuc] = _npuc ]]' || fail "zsh: the function is not registered"
  for command in $commands; do
    for option in $(options "$command"); do
      sed -n "/^    $command)/,/;;/p" npuc.zsh | grep -qE -- "'\*?$option[=[]" || fail "zsh: $command has no $option"
    done
  done
else
  echo "zsh is not installed: its completion was not tried"
fi

if command -v fish > /dev/null; then
  HOME=$NPUC_SCRATCH
  export HOME
  fish -N -n npuc.fish || fail "fish: syntax"
  asked() { fish -N -c "source ./npuc.fish; complete -C '$1'" | sed 's/\t.*//'; }
  equal "$(asked 'npuc comp' | tr '\n' ' ')" "compile completion " "fish: commands"
  equal "$(asked 'npuc run --color a' | tr '\n' ' ')" "always auto " "fish: a choice"
  equal "$(asked 'npuc compile -t refnpu-n1')" "refnpu-n16" "fish: targets"
  for command in $commands; do
    asked "npuc $command --" | sort -u > got.txt
    options "$command" > wanted.txt
    same_file got.txt wanted.txt
  done
else
  echo "fish is not installed: its completion was not tried"
fi

# The page: every command and option, and no complaint of the formatters that are there.
status 0 "$NPUC" man; cp out.txt npuc.1
for command in $commands; do
  grep -q "^.SS npuc $command\$" npuc.1 || fail "man: no $command"
  for option in $(options "$command"); do
    grep -qF -- "$(printf '%s' "$option" | sed 's/-/\\-/g')" npuc.1 || fail "man: no $option"
  done
done
if command -v groff > /dev/null; then groff -man -Tutf8 -ww -z npuc.1 2> groff.txt; silent groff.txt; else echo "groff is not installed"; fi
if command -v mandoc > /dev/null; then mandoc -T lint -W error npuc.1 > mandoc.txt 2>&1 || { fail "mandoc"; head -5 mandoc.txt; }; else echo "mandoc is not installed"; fi
finish
