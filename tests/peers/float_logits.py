# SPDX-License-Identifier: Apache-2.0
"""Compares float outputs that npuc wrote with recorded ones.

    python float_logits.py OUTPUTS.npy RECORDED.f32|RECORDED.npy [--atol 1e-4]
    python float_logits.py --self-test

A .f32 file is little-endian float32 without a header; both are taken as [samples, classes] with the classes of OUTPUTS.
"""

import argparse

import numpy as np

import common


def recorded(path, classes):
    values = np.load(path) if str(path).endswith(".npy") else np.fromfile(path, "<f4")
    return values.reshape(-1, classes)


def compare(outputs, wanted):
    """(largest absolute difference, equal decisions); infinity where shapes differ or a value is not finite."""
    if outputs.shape != wanted.shape or not np.isfinite(outputs).all():
        return np.inf, 0
    return float(np.abs(outputs.astype(np.float64) - wanted).max()), int((outputs.argmax(1) == wanted.argmax(1)).sum())


def check(tally, outputs, wanted, atol):
    apart, equal = compare(outputs, wanted)
    return tally.check(apart <= atol, f"logits {list(outputs.shape)}: {apart:.2e} from the recorded, {equal} of {len(wanted)} decisions equal")


def self_test(tally):
    wanted = np.random.Generator(np.random.PCG64(2)).normal(0, 5, (50, 10)).astype(np.float32)
    tally.check(compare(wanted.copy(), wanted) == (0.0, 50), "self-test: equal logits")
    off, holes = wanted.copy(), wanted.copy()
    off[49, 9] += 3e-4
    holes[0, 0] = np.nan
    tally.check(compare(off, wanted)[0] > 1e-4, "self-test: one logit 3e-4 off is noticed")
    tally.check(compare(holes, wanted)[0] == np.inf, "self-test: not-a-number is noticed")
    tally.check(compare(wanted[:49], wanted)[0] == np.inf, "self-test: a missing sample is noticed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("outputs", nargs="?")
    parser.add_argument("recorded", nargs="?")
    parser.add_argument("--atol", type=float, default=1e-4)
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    tally = common.Tally()
    if args.self_test:
        self_test(tally)
    elif args.recorded:
        outputs = np.load(args.outputs)
        outputs = outputs.reshape(len(outputs), -1)
        check(tally, outputs, recorded(args.recorded, outputs.shape[1])[: len(outputs)], args.atol)
    else:
        parser.error("OUTPUTS and RECORDED are needed")
    return tally.close()


if __name__ == "__main__":
    raise SystemExit(main())
