#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Files of a hundred bytes that ask for terabytes: refused by name, nothing left behind. Their bytes are those of onnx.helper.
. "$NPUC_SOURCE_DIR/tests/cli/check.inc"

# x + ConstantOfShape(2^20, 2^20): 4 TiB
printf '\010\010\072\143\012\027\012\001\163\022\001\143\042\017\103\157\156\163\164\141\156\164\117\146\123\150\141\160\145\012\016\012\001\170\012\001\143\022\001\171\042\003\101\144\144\022\001\147\052\031\010\002\020\007\102\001\163\112\020\000\000\020\000\000\000\000\000\000\000\020\000\000\000\000\000\132\017\012\001\170\022\012\012\010\010\001\022\004\012\002\010\001\142\011\012\001\171\022\004\012\002\010\001\102\004\012\000\020\021' > constant.onnx
# Expand(x, [2^31, 2^20]): 8 PiB
printf '\010\010\072\115\012\021\012\001\170\012\001\163\022\001\171\042\006\105\170\160\141\156\144\022\001\147\052\031\010\002\020\007\102\001\163\112\020\000\000\000\200\000\000\000\000\000\000\020\000\000\000\000\000\132\017\012\001\170\022\012\012\010\010\001\022\004\012\002\010\001\142\011\012\001\171\022\004\012\002\010\001\102\004\012\000\020\021' > expand.onnx

for model in constant expand; do
  status 3 "$NPUC" run $model.onnx
  says err.txt NPUC-E0009
  says err.txt "$model.onnx: "
  says err.txt "bytes, with"
  status 3 "$NPUC" normalize $model.onnx -o "$model-out"
  says err.txt NPUC-E0009
  [ ! -e "$model-out/2-normalize.onnx" ] || fail "$model: a stage was left"
  status 0 "$NPUC" inspect $model.onnx
done

# x00000 -> Relu -> x00001 -> ... -> x60000, float[4]: the graph itself counts. 60,000 nodes of 24 bytes, and 47 bytes of name, input and output
value='\024\012\006%s\022\012\012\010\010\001\022\004\012\002\010\004'
{
  printf '\010\010\072\257\362\127\022\001g\132'"$value"'\142'"$value" x00000 x60000
  awk 'BEGIN { for (i = 0; i < 60000; i++) printf "\012\026\012\006x%05d\022\006x%05d\042\004Relu", i, i + 1 }'
  printf '\102\004\012\000\020\021'
} > chain.onnx
status 3 "$NPUC" inspect chain.onnx --max-memory 4M
says err.txt NPUC-E0009
status 0 "$NPUC" inspect chain.onnx
says out.txt 60000

# a manifest of 65 MB is no manifest
mkdir huge && head -c 68157440 /dev/zero | tr '\0' ' ' > huge/manifest.json
status 6 "$NPUC" status huge
says err.txt "at most"
