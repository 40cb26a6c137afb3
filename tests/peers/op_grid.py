# SPDX-License-Identifier: Apache-2.0
"""Models of one operator each, from every operator of the default domain in every version that opset 7 to 28 means, through npuc and ONNX Runtime.

    python op_grid.py --grid build/npuc-grid --work DIR [--count 20000] [--seed 0] [--only REGEX]
    python op_grid.py --record tests/grid/cases.bin [--count 1000]
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys
import time

from grid import elements, matrices, moving, windows  # noqa: F401  they register the families
from grid.core import FAMILIES, NO_CASES, Case, Grid, draw, live_schemas
from grid.differences import DIFFERENCES, REFUSALS, refused
from grid.invalid import DISAGREEMENTS, checker_refuses, copy, input_empty, mutants, ranked
from grid.judges import NoAnswer, by_anybody, case_bytes


def grids(seed, only, room=240):
    made, without = [], {}
    for schema in live_schemas():
        if only and not re.fullmatch(only, schema.name):
            continue
        if schema.name in FAMILIES:
            made.append(Grid(schema, seed, room))
        else:
            without[schema.name] = NO_CASES.get(schema.name)
    silent = sorted(name for name, reason in without.items() if reason is None)
    if silent:
        sys.exit(f"operators without cases and without a reason: {', '.join(silent)}")
    return made, without


def right_value(case, tally):
    """(outputs, who said so), or (None, why nobody did)."""
    for difference in DIFFERENCES:
        if case.op in difference.operators and difference.applies(case):
            tally["difference", difference.name] += 1
            return difference.judge(case), difference.name
    return by_anybody(case)


def judge_all(cases, path):
    tally, judged, unjudged = collections.Counter(), [], collections.defaultdict(list)
    pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as out:
        for case in cases:
            if (reason := refused(case)) is not None:
                tally["refused", f"{case.op}: {reason}"] += 1
                judged.append((case, None, reason))
                out.write(case_bytes(case, None))
                continue
            try:
                outputs, who = right_value(case, tally)
            except NoAnswer as error:
                outputs, who = None, str(error)
            tally["judge", who if outputs is not None else "nobody"] += 1
            if outputs is None:
                unjudged[case.op].append((case.name, who))
                continue
            judged.append((case, outputs, who))
            out.write(case_bytes(case, outputs))
    return judged, unjudged, tally


def report(cases, made, without, unjudged, tally):
    print(f"{len(cases)} cases of {len({g.op for g in made})} operators in {len(made)} versions")
    for op, reason in sorted(without.items()):
        print(f"  no cases of {op}: {reason}")
    for (what, name), count in sorted(tally.items()):
        print(f"  {what}: {name}: {count}")
    for op, items in sorted(unjudged.items()):
        print(f"  nobody answers {len(items)} of {op}: {items[0][0]}: {items[0][1][:300]}")
    asked = {case.op for case in cases}
    silent = sorted(op for op in asked if len(unjudged[op]) == sum(case.op == op for case in cases))
    if silent:
        sys.exit(f"operators of which no case has an answer: {', '.join(silent)}")


PAGE = """# Operators against ONNX Runtime

Written by `python tests/peers/op_grid.py --docs docs/operator-grid.md`; `tests/extra/op_grid.sh` compares.

`tests/peers/op_grid.py` makes models of one operator each from the schemas of the onnx package: every operator of the default domain, every version that an opset from 7
to 28 means, its types, attribute values, ranks 0 to 5, empty axes, broadcasting, omitted operands, operands in the file and from outside, static and symbolic dims.
`npuc-grid` (`tests/grid/grid.c`) imports each, runs it, and compares within the accuracy that `docs/operators.md` states; then it writes the model, reads it again and wants
the same bytes. 20,000 are judged in the second tier (`tests/extra/op_grid.sh`); `tests/grid/cases.bin` holds 1,000 with their values for `make test`.

The right value is ONNX Runtime's; where it has no kernel, its answer under the version before (where types alone differ) or in float32 for 16-bit floats; else that of
onnx's reference evaluator. NaN equals NaN; the sign of zero counts where elements are handed on.

"""


def page():
    """Every difference and every refusal, with its reason."""
    lines = [PAGE, "## Where the judge is another one\n\n| operators | what | why |\n| --- | --- | --- |\n"]
    lines += [f"| {', '.join(d.operators)} | {d.name} | {d.reason} |\n" for d in DIFFERENCES]
    lines += ["\n## What npuc refuses\n\nValid models, refused with a diagnostic (exit status 3 or 6). The test expects it, and fails when one runs.\n\n| operators | what |\n| --- | --- |\n"]
    lines += [f"| {', '.join(r.operators)} | {r.reason} |\n" for r in REFUSALS]
    lines += ["\n## Operators without cases\n\n| operator | why |\n| --- | --- |\n"]
    lines += [f"| {name} | {reason} |\n" for name, reason in sorted(NO_CASES.items())]
    lines += ["\n## Valid or not: onnx.checker and npuc\n\n`tests/peers/op_invalid.py` puts one thing wrong into valid cases, and adds models that ask for too much. onnx.checker with full inference and `npuc run` agree "
              "on which are valid, but for these.\n\n| what is wrong | who refuses | why |\n| --- | --- | --- |\n"]
    lines += [f"| {what.replace('_', ' ')} | {who} | {why} |\n" for (what, who), why in DISAGREEMENTS.items()]
    return "".join(lines)


def record_invalid(path, judged, seed, count=150):
    """Appends models that onnx.checker refuses, of the kinds where npuc has no reason to differ."""
    sound = [(case, outputs) for case, outputs, _ in judged if outputs is not None and checker_refuses(ranked(case.model, outputs)) is None]
    made = [(name, what, model) for name, what, model in mutants(sound, 2 * count, seed) if (what, "checker alone refuses") not in DISAGREEMENTS and checker_refuses(model)][:count]
    made += [(case.name, "state_omitted", input_empty(copy(case.model), None)) for case, _ in sound if case.op == "Scan" and case.model.opset_import[0].version > 8]  # once a crash
    with open(path, "ab") as out:
        for name, what, model in made:
            op = model.graph.node[0].op_type
            out.write(case_bytes(Case(op, f"{name} {what}", model, []), None))
    return made


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grid", help="the npuc-grid program")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--record", type=pathlib.Path, help="write the cases here and run nothing")
    parser.add_argument("--count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="a regular expression of operators")
    parser.add_argument("--docs", type=pathlib.Path, help="write the page of differences")
    parser.add_argument("--check-docs", type=pathlib.Path, help="compare it")
    args = parser.parse_args()
    if args.docs:
        args.docs.write_text(page())
        return
    if args.check_docs and args.check_docs.read_text() != page():
        sys.exit(f"{args.check_docs} is not what --docs writes")
    began = time.time()
    made, without = grids(args.seed, args.only, 40 if args.record else 240)
    cases = draw(made, args.count or (1000 if args.record else 20000))
    path = args.record or args.work / "grid.bin"
    judged, unjudged, tally = judge_all(cases, path)
    report(cases, made, without, unjudged, tally)
    if args.record:
        judged += record_invalid(path, judged, args.seed)
        print(f"{len(judged)} cases in {path}, {path.stat().st_size} bytes")
        return
    for extra in ([], ["--spoil"]):
        done = subprocess.run([args.grid, *extra, path], capture_output=True, text=True, errors="replace", check=False)
        print(" ".join(["npuc-grid", *extra]), done.stdout[-200000:], done.stderr)
        if done.returncode:
            sys.exit(1)
    print(f"{time.time() - began:.0f} s")


if __name__ == "__main__":
    main()
