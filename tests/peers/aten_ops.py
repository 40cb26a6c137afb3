#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each operator of src/import/pt2/aten.def as torch exports it, run by npuc, against torch.

A case is a function of tensors and the tensors that it is given. torch exports it (as it stands, and after run_decompositions()),
`npuc run` reads the archive, and every output is compared: floats to rtol 1e-4 and atol 1e-5, everything else exactly. A case that the reader
must refuse names the diagnostic. One line a case; exit status 1 if any differs, if an operator of the table has no case, or if a core operator of torch
is neither translated nor refused with a reason; 2 if a control that must fail passes.

    aten_ops.py --npuc build/npuc --work DIR [--only WORD] [--family NAMES]
    aten_ops.py ... --part 0/2 & aten_ops.py ... --part 1/2; aten_ops.py --work DIR --merge     # DIR may be shared
    aten_ops.py ... --results tests/peers/aten_ops.tsv                # what docs/pytorch-operators.md is made from
    aten_ops.py ... --against tests/peers/aten_ops.tsv                # operators, types, refusals as written there, and no larger error
"""
import argparse
import json
import os
import re
import subprocess
import sys
import zipfile

import numpy as np
import torch

from aten_case import CASES, Module, real
from aten_cases import arithmetic, copies, elementwise, in_place, indexing, reductions, views
from aten_cases_direct import direct, sizes
from aten_cases_layers import control, dynamic, experts, layers, quantized

FAMILIES = (experts, quantized, elementwise, arithmetic, reductions, views, copies, indexing, in_place, layers, dynamic, control, direct, sizes)
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "import", "pt2", "aten.def")
TYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64", 9: "complex32", 10: "complex64", 12: "bool",
         13: "bfloat16", 28: "uint16"}


def table():
    """(translated, refused, those that only move elements) of aten.def."""
    names, refused, moves, file = [], [], set(), ""
    for line in open(TABLE):
        if found := re.match(r"/\* (\w+\.c)", line):
            file = found[1]
        if found := re.match(r'ATEN\("([^"]+)"', line):
            names.append(found[1])
            if file in ("aten_view.c", "aten_copy.c", "aten_create.c", "sym.c", "aten_control.c"):
                moves.add(found[1])
        if found := re.match(r'ATEN_REFUSED\("([^"]+)"', line):
            refused.append(found[1])
    return names, refused, moves


NAMES, REFUSED, MOVES = table()
# What torch 2.13 writes otherwise; older versions wrote these.
OLDER = {"aten.lift_fresh": "lift_fresh_copy", "aten.sym_constrain_range": "_assert_scalar", "aten.sym_constrain_range_for_size": "_assert_scalar"}


def packet(target):
    """"torch.ops.aten.add_.Tensor" is aten.add."""
    name = target
    if name.startswith("torch.ops."):
        name = ".".join(name.split(".")[2:4])
    return name[:-1] if name not in NAMES and name[:-1] in NAMES else name


def used(graph, out):
    """operator -> types of its operands, in a graph of the archive and in those inside it."""
    for node in graph["nodes"]:
        types = out.setdefault(packet(node["target"]), set())
        for part in [a["arg"] for a in node["inputs"]] + node["outputs"]:
            for kind, content in part.items():
                if kind == "as_graph":
                    used(content["graph"], out)
                for t in content if kind == "as_tensors" else [content] if kind == "as_tensor" else []:
                    types.add(TYPES.get(graph["tensor_values"].get(t["name"], {}).get("dtype"), ""))
    return out


def operators(archive):
    with zipfile.ZipFile(archive) as z:
        name = next(n for n in z.namelist() if n.endswith("models/model.json"))
        return used(json.loads(z.read(name))["graph_module"]["graph"], {})


class Seen:
    """What the run found of each operator."""

    def __init__(self):
        self.cases, self.types, self.own, self.joint, self.refused = {}, {}, {}, {}, {}

    def right(self, found, ulp):
        computing = [op for op in found if op not in MOVES]
        for op, types in found.items():
            self.cases[op] = self.cases.get(op, 0) + 1
            self.types.setdefault(op, set()).update(types - {""})
            if ulp is None:
                continue
            which = self.own if computing == [op] or not computing else self.joint
            which[op] = max(which.get(op, 0.0), ulp)

    def refusal(self, op, reason):
        self.refused.setdefault(packet(op), set()).add(reason)

    def add(self, other):
        for op, n in other.cases.items():
            self.cases[op] = self.cases.get(op, 0) + n
        for mine, theirs in ((self.types, other.types), (self.refused, other.refused)):
            for op, s in theirs.items():
                mine.setdefault(op, set()).update(s)
        for mine, theirs in ((self.own, other.own), (self.joint, other.joint)):
            for op, v in theirs.items():
                mine[op] = max(mine.get(op, 0.0), v)

    def rows(self):
        for op in NAMES:
            own = op in self.own
            ulp = self.own.get(op, self.joint.get(op))
            if op in OLDER:
                yield op, 0, "", "", f"(torch 2.13 writes {OLDER[op]})"
                continue
            text = "exact" if ulp in (None, 0.0) else f"{'' if own else '<= '}{round_up(ulp):g}"
            yield op, self.cases.get(op, 0), ", ".join(sorted(self.types.get(op, ()))), text, "; ".join(sorted(self.refused.get(op, ())))

    def save(self, path):
        content = {k: {op: sorted(v) if isinstance(v, set) else v for op, v in d.items()} for k, d in vars(self).items()}
        with open(path, "w") as f:
            json.dump(content, f)

    @staticmethod
    def load(path):
        seen = Seen()
        for k, d in json.load(open(path)).items():
            setattr(seen, k, {op: set(v) if isinstance(v, list) else v for op, v in d.items()})
        return seen


def round_up(ulp):
    """To 1, 2 or 5 times a power of ten, so that another processor's last bits change no page."""
    power = 10.0 ** np.floor(np.log10(ulp))
    return next(float(k * power) for k in (1, 2, 5, 10) if ulp <= k * power * 1.0001) if ulp > 1 else 1.0


def run_npuc(npuc, archive, names, inputs, out, extra):
    command = [npuc, "--json", "run", archive, "-q", "-o", out, *extra]
    for name, x in zip(names, inputs):
        path = os.path.join(out, f"in_{name}.npy")
        np.save(path, (torch.view_as_real(x) if x.is_complex() else x).numpy())
        command += ["-i", f"{name}={path}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def errors(r):
    found = []
    for line in r.stderr.splitlines():
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue
        if event.get("severity") == "error":
            found.append(event)
    return found


def told(r):
    return f"status {r.returncode}: " + ("; ".join(f"{e['code']} {e.get('op')} {e.get('attribute')}: {e['reason']}" for e in errors(r)) or r.stderr.strip()[:400])


def compare(got, want):
    want = want.detach().resolve_conj().resolve_neg()
    want = (torch.view_as_real(want) if want.is_complex() else want).numpy()
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    if want.dtype.kind != "f":
        return None if np.array_equal(got, want) else f"{np.count_nonzero(got != want)} of {want.size} values differ"
    close = np.isclose(got, want, rtol=1e-4, atol=1e-5, equal_nan=True)
    return None if close.all() else f"values differ by up to {np.nanmax(np.abs(got.astype('f8') - want.astype('f8')))}"


def ulps(got, want):
    """The largest difference in units of the last place of torch's value; a value below a thousandth of the tensor's largest counts as if it were that."""
    want = want.detach().resolve_conj().resolve_neg()
    want = (torch.view_as_real(want) if want.is_complex() else want).numpy()
    if want.dtype.kind != "f" or want.size == 0:
        return None
    finite = np.isfinite(want) & np.isfinite(got)
    if not finite.any():
        return None
    a, b = got[finite].astype("f8"), want[finite].astype("f8")
    scale = np.maximum(np.abs(b), np.abs(b).max() / 1000)
    return float((np.abs(a - b) / np.spacing(np.maximum(scale, np.finfo(want.dtype).tiny).astype(want.dtype)).astype("f8")).max())


def export(c, decompose, work):
    """(archive, program, inputs, arguments, model)"""
    _, function, inputs, _, is_dynamic, size, _, _ = c
    model = function if isinstance(function, torch.nn.Module) else Module(function)
    model.eval()
    dims = None
    if is_dynamic:
        names = [f"batch{i}" if is_dynamic == "own" else "batch" for i in range(len(inputs))]
        made = {name: torch.export.Dim(name, min=2, max=64) for name in names}
        dims = tuple({0: made[name]} for name in names)
        dims = (dims,) if isinstance(model, Module) else dims
    program = torch.export.export(model, tuple(inputs), dynamic_shapes=dims, strict=False)
    if decompose:
        program = program.run_decompositions()
    archive = os.path.join(work, "case.pt2")
    torch.export.save(program, archive)
    extra = []
    if is_dynamic:
        symbols = {str(s) for n in program.graph.nodes if n.op == "placeholder" for s in n.meta["val"].shape if not isinstance(s, int)}
        extra = [a for s in symbols for a in ("--dim", f"{s}={size}")]
        inputs = tuple(torch.cat([x] * size)[:size] for x in inputs)
    return archive, program, inputs, extra, model


def check(npuc, work, c, decompose, seen):
    """The outcome of a case, None when it is right."""
    refused, other = c[3], c[7]
    archive, program, inputs, extra, model = export(c, decompose, work)
    for old in os.listdir(work):
        if old.endswith(".npy"):
            os.remove(os.path.join(work, old))
    r = run_npuc(npuc, archive, program.graph_signature.user_inputs, inputs, work, extra)
    if refused and not decompose:
        for e in errors(r):
            if r.returncode == 3 and refused in e["code"]:
                seen.refusal(e.get("op") or "", re.sub(r' \(".*line.*\)$', "", e["reason"]))
                return None
        return f"must be refused with {refused}: {told(r)}"
    if r.returncode:
        return told(r)
    with torch.no_grad():
        want = (other or model)(*(x.clone() for x in inputs))
    want = torch.utils._pytree.tree_flatten(want)[0]
    wrong, worst = [], None
    for output, w in zip(program.graph_signature.user_outputs, want):
        # an input that is returned as it is: the output has a name of its own
        path = os.path.join(work, f"{output}{'_1' if output in program.graph_signature.user_inputs else ''}.npy")
        if not os.path.exists(path):
            wrong.append(f"{output}: not written")
            continue
        got = np.load(path)
        difference = compare(got, w)
        if difference:
            wrong.append(f"{output}: {difference}")
        else:
            ulp = ulps(got, w)
            worst = ulp if worst is None else max(worst, ulp or 0.0)
    if other:
        return None if wrong else "the control passes: another function's values are taken for these"
    if not wrong:
        seen.right(operators(archive), worst)
    return "; ".join(wrong) or None


def self_test():
    """Each kind of difference is found."""
    one = torch.tensor([1.0, 2.0])
    assert compare(np.array([1.0, 2.0], np.float32), one) is None
    assert compare(np.array([1.0, 2.001], np.float32), one)
    assert compare(np.array([1.0, np.nan], np.float32), one)
    assert compare(np.array([1, 2], np.int64), one)
    assert compare(np.array([[1.0, 2.0]], np.float32), one)
    assert compare(np.array([1, 3], np.int64), torch.tensor([1, 2]))
    assert ulps(np.array([1.0, 2.0 + 2.0**-22], np.float32), one) == 1.0
    assert [round_up(x) for x in (0.5, 1.5, 3, 7, 40)] == [1, 2, 5, 10, 50]


def run_cases(args, seen):
    counts, wanted = {"ok": 0, "FAIL": 0}, [int(x) for x in args.part.split("/")]
    for i, c in enumerate(CASES):
        if args.only not in c[0] or i % wanted[1] != wanted[0]:
            continue
        for decompose in (True,) if c[6] else (False,) if args.plain or c[3] or i % 3 else (False, True):
            try:
                wrong = check(args.npuc, args.work, c, decompose, seen)
            except Exception as e:  # torch could not export it: the case is at fault
                wrong = f"{type(e).__name__}: {str(e)[:200]}"
            outcome = "FAIL" if wrong else "ok"
            counts[outcome] += 1
            print(f"{outcome:5}{c[0]}{' (decomposed)' if decompose else ''}{': ' + wrong if wrong else ''}", flush=True)
    print(f"{counts['ok']} right, {counts['FAIL']} wrong")
    return counts["FAIL"]


def control_passes(args):
    """The same comparison, told to expect another function's values."""
    model = Module(lambda x: torch.sin(x))
    program = torch.export.export(model, (real(3, 5),), strict=False)
    archive = os.path.join(args.work, "case.pt2")
    torch.export.save(program, archive)
    run_npuc(args.npuc, archive, program.graph_signature.user_inputs, (real(3, 5),), args.work, [])
    output = program.graph_signature.user_outputs[0]
    return compare(np.load(os.path.join(args.work, output + ".npy")), torch.cos(real(3, 5))) is None


def core_operators():
    found = set()
    for name in torch._C._dispatch_get_all_op_names():
        base, _, overload = name.partition(".")
        if base.startswith("aten::") and hasattr(torch.ops.aten, base[6:]):
            if torch.Tag.core in getattr(getattr(torch.ops.aten, base[6:]), overload or "default").tags:
                found.add("aten." + base[6:])
    return sorted(found)


def check_table(seen, against):
    """Every operator has a case, every core operator a place in the table; and what the committed results say holds."""
    wrong = [f"{op} has no case" for op in NAMES if not seen.cases.get(op) and op not in OLDER]
    wrong += [f"{op} is core and not in aten.def" for op in core_operators() if packet(op) not in NAMES and op not in REFUSED]
    if against:
        was = {line.split("\t")[0]: line.rstrip("\n").split("\t") for line in open(against) if not line.startswith("#")}
        for op, _, types, ulp, refused in seen.rows():
            before = was.get(op)
            if not before or (before[2], before[4]) != (types, refused):
                wrong.append(f"{op}: {types}, refused: {refused}; {against} says otherwise")
            elif number(ulp) > number(before[3]):
                wrong.append(f"{op}: {ulp} ulp, {before[3]} in {against}")
    for line in wrong:
        print("FAIL " + line)
    return len(wrong)


def number(ulp):
    return 0.0 if ulp in ("exact", "") else float(ulp.removeprefix("<= "))


def write_results(seen, path):
    with open(path, "w") as f:
        f.write("# SPDX-License-Identifier: Apache-2.0\n# Written by tests/peers/aten_ops.py --results: operator, cases, types of operands and results, largest error in ulp, refusals\n")
        for row in seen.rows():
            f.write("\t".join(str(x) for x in row) + "\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--npuc")
    parser.add_argument("--work", required=True)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--family", default="", help="families of cases, joined by commas: " + ", ".join(f.__name__ for f in FAMILIES))
    parser.add_argument("--plain", action="store_true", help="not after run_decompositions()")
    parser.add_argument("--part", default="0/1", help="I/N: every N-th case")
    parser.add_argument("--merge", action="store_true", help="runs nothing: puts together what parts left in DIR")
    parser.add_argument("--results", help="file to write")
    parser.add_argument("--against", help="file to compare with")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    self_test()
    seen, failed = Seen(), 0
    if args.merge:
        for name in sorted(os.listdir(args.work)):
            if re.fullmatch(r"part-\d+-of-\d+\.json", name):
                seen.add(Seen.load(os.path.join(args.work, name)))
    else:
        for family in FAMILIES:
            if not args.family or family.__name__ in args.family.split(","):
                family()
        shared, args.work = args.work, os.path.join(args.work, "part-" + args.part.replace("/", "-of-"))
        os.makedirs(args.work, exist_ok=True)
        failed = run_cases(args, seen)
        seen.save(os.path.join(shared, os.path.basename(args.work) + ".json"))
        if not args.only and not args.family and control_passes(args):
            print("the control passes: sin is taken for cos")
            return 2
    whole = args.merge or (args.part == "0/1" and not args.only and not args.family and not args.plain)
    if whole:
        failed += check_table(seen, args.against)
    if args.results and whole:
        write_results(seen, args.results)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
