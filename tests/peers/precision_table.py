#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""src/passes/precision.def against ONNX's schemas: the ports that may be float32 (int64) and may not be the narrower type.
With --write the table's rows are printed. usage: precision_table.py SOURCE_DIR [--write]"""
import re
import sys

from onnx import defs

OPSET = 24
TYPES = [("float", "bfloat16"), ("float", "float16"), ("int64", "int32"), ("int64", "int16"), ("int64", "int8")]


def allowed(schema, port):
    for constraint in schema.type_constraints:
        if constraint.type_param_str == port.type_str:
            return set(constraint.allowed_type_strs)
    return {port.type_str}


def mask(schema, ports, old, new):
    bits = 0
    for i, port in enumerate(ports):
        types = allowed(schema, port)
        if f"tensor({old})" in types and f"tensor({new})" not in types:
            variadic = port.option == defs.OpSchema.FormalParameterOption.Variadic
            bits |= 0xFF << i & 0xFF if variadic else 1 << i
    return bits


def main():
    root = sys.argv[1]
    wanted = []
    with open(f"{root}/src/ir/ops.def", encoding="utf-8") as f:
        for line in f:
            found = re.match(r'OP\((\w+), "", "(\w+)"', line)
            if not found:
                continue
            try:
                schema = defs.get_schema(found.group(2), OPSET)
            except defs.SchemaError:
                schema = defs.get_schema(found.group(2))  # a younger operator: its newest form
            masks = [m for old, new in TYPES for m in (mask(schema, schema.inputs, old, new), mask(schema, schema.outputs, old, new))]
            if any(masks):
                wanted.append(f"KEEP({found.group(1)}, " + ", ".join(str(m) for m in masks) + ")")
    if "--write" in sys.argv:
        print("\n".join(wanted))
        return 0
    with open(f"{root}/src/passes/precision.def", encoding="utf-8") as f:
        have = [line.strip() for line in f if line.startswith("KEEP(")]
    for line in sorted(set(have) ^ set(wanted)):
        print(("not in the table: " if line in wanted else "not in the schemas: ") + line)
    print(f"precision.def: {len(have)} rows, schemas of opset {OPSET}: {len(wanted)}")
    return 0 if have == wanted else 1


sys.exit(main())
