# SPDX-License-Identifier: Apache-2.0
"""Runs npuc's QDQ export in ONNX Runtime and compares its decisions with npuc's integers.

    python qdq_ort.py MODEL.qdq.onnx --data FILE --preprocess SPEC --integers OURS.npy [--limit N]
    python qdq_ort.py --self-test

FILE is a CIFAR-10 batch or X.npy with X.labels.npy; OURS.npy holds the integer module's outputs [samples, classes], int8 or int16.
ONNX Runtime runs the file as written, without fusing it into integer kernels (why: `common.session`).
Wanted: top-1 agreement of 99 % or more; where the two differ, npuc's top two lie within 4 output steps; accuracies within 0.2 points.
"""

import argparse
import json
import os

import numpy as np

import common

AGREEMENT, STEPS, POINTS = 99.0, 4, 0.2


def load(path):
    """Images and labels; no labels where a .npy has none beside it."""
    if path.endswith(".npy"):
        labels = path.removesuffix(".npy") + ".labels.npy"
        return np.load(path), np.load(labels) if os.path.exists(labels) else None
    return common.cifar10(path.removeprefix("cifar10:"))


def compare(theirs, integers, labels):
    """The measures as a dict. `theirs` are real logits, `integers` npuc's, both [samples, classes]."""
    if not np.issubdtype(integers.dtype, np.integer):
        raise SystemExit(f"npuc's outputs are {integers.dtype}; integers are needed")
    integers = integers.reshape(len(integers), -1).astype(np.int64)
    mine, other = integers.argmax(1), theirs.argmax(1)
    order = np.sort(integers, 1)
    differing = np.flatnonzero(mine != other)
    return {
        "samples": len(labels),
        "agreement": 100 * float((mine == other).mean()),
        "top1_npuc": 100 * float((mine == labels).mean()),
        "top1_onnxruntime": 100 * float((other == labels).mean()),
        "differing": [
            {"sample": int(i), "npuc": int(mine[i]), "onnxruntime": int(other[i]), "steps": int(order[i, -1] - order[i, -2])}
            for i in differing
        ],
    }


def verdict(tally, m):
    furthest = max((d["steps"] for d in m["differing"]), default=0)
    apart = abs(m["top1_npuc"] - m["top1_onnxruntime"])
    good = [
        tally.check(m["agreement"] >= AGREEMENT, f"QDQ in ONNX Runtime: top-1 agreement {m['agreement']:.2f} % of {m['samples']}"),
        tally.check(furthest <= STEPS, f"{len(m['differing'])} differing images, top two at most {furthest} output steps apart"),
        tally.check(apart <= POINTS + 1e-9, f"top-1 {m['top1_npuc']:.2f} (npuc) and {m['top1_onnxruntime']:.2f} (ONNX Runtime)"),
    ]
    return all(good)


def measure(model, images, labels, spec, integers):
    """A model that is fed one image at a time has batch 1; its outputs are joined."""
    logits = common.run_batched(common.session(model, fused=False), common.preprocess(images, spec))
    return compare(logits.reshape(len(logits), -1), integers, labels)


def self_test(tally):
    g = np.random.Generator(np.random.PCG64(1))
    integers = g.integers(-128, 128, (1000, 10)).astype(np.int8)
    labels = integers.argmax(1)
    theirs = integers * 0.1
    good = compare(theirs, integers, labels)
    tally.check(good["agreement"] == 100 and not good["differing"], "self-test: equal decisions agree")
    worse = theirs.copy()
    worse[:20] = -worse[:20]
    bad, quiet = compare(worse, integers, labels), common.Quiet()
    verdict(quiet, bad)
    tally.check(quiet.failed == 3, f"self-test: 20 decisions turned round fail all three measures (agreement {bad['agreement']:.1f} %)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("--data")
    parser.add_argument("--preprocess", default="")
    parser.add_argument("--integers")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--json", help="write the measures to this file")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    tally = common.Tally()
    if args.self_test:
        self_test(tally)
        return tally.close()
    if not (args.model and args.data and args.integers):
        parser.error("MODEL, --data and --integers are needed")
    images, labels = load(args.data)
    integers = np.load(args.integers)[: args.limit]
    measures = measure(args.model, images[: len(integers)], labels[: len(integers)], args.preprocess, integers)
    verdict(tally, measures)
    if args.json:
        with open(args.json, "w") as file:
            json.dump(measures, file, indent=1)
    return tally.close()


if __name__ == "__main__":
    raise SystemExit(main())
