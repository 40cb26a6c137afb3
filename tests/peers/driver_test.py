# SPDX-License-Identifier: Apache-2.0
"""Tests the driver itself: run_all.py with a stand-in for npuc that answers `eval` and `run` by ONNX Runtime.

    python driver_test.py --shared ../shared --work DIR

The float rows must be ok with an honest stand-in and FAILED with one that answers a little wrong (the negative control of each row).
"""

import argparse
import json
import os
import pathlib
import stat
import subprocess
import sys

import common

STAND_IN = '''#!{python}
import json, os, pathlib, sys
sys.path.insert(0, {here!r})
import numpy as np
import common, qdq_ort
words, options, bare = sys.argv[1:], {{}}, []
while words:
    word = words.pop(0)
    if word == "--json": continue
    if word.startswith("-"): options[word] = words.pop(0)
    else: bare.append(word)
wrong = os.environ.get("STAND_IN_WRONG")
ort = common.session(bare[1])
if bare[0] == "eval":
    inputs, labels = qdq_ort.load(options["--data"])
    inputs = common.preprocess(inputs, options.get("--preprocess", ""))
    right = common.right(common.run_batched(ort, inputs), labels) - bool(wrong)
    print(json.dumps({{"top1": 100 * right / len(labels), "samples": len(labels)}}))
else:
    name, path = options["-i"].split("=")
    out = pathlib.Path(options["-o"]); out.mkdir(parents=True, exist_ok=True)
    values = common.run_batched(ort, np.load(path)) + (np.float32(2e-4) if wrong else 0)
    result = ort.get_outputs()[0].name
    np.save(out / (result + ".npy"), values)
    print(json.dumps({{"outputs": [{{"name": result, "file": str(out / (result + ".npy"))}}]}}))
'''
ROWS = "^(float|logits)-(resnet20|keywords|mnist|dscnn)"


def verdicts(args, wrong):
    binary = args.work / "stand-in"
    binary.write_text(STAND_IN.format(python=sys.executable, here=str(pathlib.Path(__file__).resolve().parent)))
    binary.chmod(binary.stat().st_mode | stat.S_IXUSR)
    place = args.work / ("wrong" if wrong else "honest")
    command = [sys.executable, pathlib.Path(__file__).with_name("run_all.py"), "--npuc", binary, "--shared", args.shared, "--work", place, "--rows", ROWS]
    environment = {**os.environ, **({"STAND_IN_WRONG": "1"} if wrong else {})}
    subprocess.run(command, env=environment, check=False, stdout=subprocess.DEVNULL)
    return {row["row"]: row["ok"] for row in json.loads((place / "results.json").read_text())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    args.work, args.shared = args.work.resolve(), args.shared.resolve()
    tally = common.Tally()
    for wrong in (False, True):
        found = verdicts(args, wrong)
        tally.check(len(found) >= 5, f"{len(found)} rows ran")
        for row, ok in found.items():
            tally.check(ok is not wrong, f"{row} with {'a wrong' if wrong else 'an honest'} stand-in: {'ok' if ok else 'FAILED'}")
    return tally.close()


if __name__ == "__main__":
    raise SystemExit(main())
