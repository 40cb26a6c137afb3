# SPDX-License-Identifier: Apache-2.0
"""Invalid models: npuc answers each with a diagnostic, and onnx.checker with full inference and npuc agree on which are valid, or a class of difference is listed.

    python op_invalid.py --npuc build/npuc --work DIR [--count 600] [--seed 0]
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

from grid.differences import refused
from grid.invalid import DISAGREEMENTS, by_hand, checker_refuses, mutants, ranked
from grid.judges import NoAnswer
from op_grid import draw, grids, right_value

MEMORY = "2G"


def answer(npuc, path):
    """(exit status, code, reason) of a run on random inputs."""
    done = subprocess.run([npuc, "--json", "--max-memory", MEMORY, "run", path], capture_output=True, text=True, errors="replace", timeout=120, check=False)
    for line in done.stderr.splitlines():
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            continue
        if event.get("severity") == "error":
            return done.returncode, event.get("code"), event.get("reason", "")
    return done.returncode, None, done.stderr[-200:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--npuc", required=True)
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    cases = []
    for case in draw(grids(args.seed, None, 40)[0], 1200):
        try:
            outputs = right_value(case, collections.Counter())[0]
        except NoAnswer:
            continue
        if refused(case) is None and checker_refuses(ranked(case.model, outputs)) is None:
            cases.append((case, outputs))
    models = mutants(cases, args.count, args.seed) + [("by hand", what, model) for what, model in by_hand()]
    tally, seen, bad = collections.Counter(), {}, []
    for name, what, model in models:
        path = args.work / "model.onnx"
        path.write_bytes(model.SerializeToString())
        checker = checker_refuses(model)
        status, code, reason = answer(args.npuc, path)
        if code == "NPUC-E0913":
            status, code = 0, None  # it was read, and wants --dim
        if status not in (0, 3, 5, 6) or (status and not code):
            bad.append(f"{name}: {what}: exit {status}, {code} {reason}")
        kind = "both refuse" if checker and status else "both accept" if not checker and not status else "npuc alone refuses" if status else "checker alone refuses"
        tally[what, kind] += 1
        if not kind.startswith("both") and (what, kind) not in DISAGREEMENTS:
            bad.append(f"{name}: {what}: {kind}, and no reason is listed: {code} {reason} | checker: {checker}"[:400])
        seen.setdefault((what, kind), f"{name}: {code} {reason} | checker: {checker}"[:300])
    for (what, kind), count in sorted(tally.items()):
        print(f"{count:4} {what}: {kind}" + ("" if kind.startswith("both") else f": {DISAGREEMENTS.get((what, kind))}: {seen[what, kind]}"))
    agreed = sum(n for (_, kind), n in tally.items() if kind.startswith("both"))
    print(f"{len(models)} models, {agreed} agreed")
    print("\n".join(bad))
    if not any(kind == "both refuse" for _, kind in tally) or not any(kind == "both accept" for _, kind in tally):
        sys.exit("the control failed: one of the two answers all models alike")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
