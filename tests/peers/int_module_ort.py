# SPDX-License-Identifier: Apache-2.0
"""Runs npuc's integer module in ONNX Runtime, through the function bodies that the file carries, and compares every output byte.

    python int_module_ort.py MODEL.onnx INPUTS.npy OUTPUTS.npy [--limit N] [--output NAME]
    python int_module_ort.py --self-test

INPUTS.npy is what npuc was given and OUTPUTS.npy what npuc computed; the first axis of both is samples.
"""

import argparse

import numpy as np
import onnx.parser

import common

SELF_TEST_MODEL = """
<ir_version: 8, opset_import: ["" : 18, "npuc" : 1]>
module (int8[1,4] x) => (int8[1,4] y) <int64 multiplier = {1234567890}, int64 half = {1073741824}, int64 unit = {2147483648}>
{ y = npuc.Requantize (x, multiplier, half, unit) }
<domain: "npuc", opset_import: ["" : 18]>
Requantize (x, multiplier, half, unit) => (y)
{
   wide = Cast <to = 7> (x)
   product = Mul (wide, multiplier)
   raised = Add (product, half)
   rest = Mod (raised, unit)
   even = Sub (raised, rest)
   shifted = Div (even, unit)
   y = Cast <to = 3> (shifted)
}
"""


def feed_batches(ort, inputs):
    """`inputs` in pieces of the model's own first axis (all at once where that is symbolic)."""
    feed = ort.get_inputs()[0]
    size = feed.shape[0] if feed.shape and isinstance(feed.shape[0], int) else len(inputs)
    for at in range(0, len(inputs), size):
        yield {feed.name: inputs[at : at + size]}


def compare(model, inputs, outputs, limit=None, output=None):
    """(bytes compared, bytes that differ, first sample that differs or None)."""
    ort = common.session(model)
    inputs = inputs[:limit]
    names = [output] if output else [ort.get_outputs()[0].name]
    got = np.concatenate([ort.run(names, feed)[0] for feed in feed_batches(ort, inputs)])
    wanted = outputs[: len(got)]
    if got.dtype != wanted.dtype or got.size != wanted.size or len(got) != len(inputs):
        raise SystemExit(f"ONNX Runtime made {got.dtype} {list(got.shape)}, npuc {wanted.dtype} {list(outputs.shape)}: not comparable")
    different = (got.reshape(-1) != wanted.reshape(-1)).reshape(len(got), -1)
    samples = np.flatnonzero(different.any(1))
    return got.nbytes, int(different.sum()) * got.itemsize, int(samples[0]) if len(samples) else None


def check(tally, model, inputs, outputs, **options):
    size, different, sample = compare(model, inputs, outputs, **options)
    where = "" if sample is None else f", the first in sample {sample}"
    return tally.check(different == 0, f"integer module in ONNX Runtime: {size} bytes compared, {different} differ{where}")


def self_test(tally):
    """An exact rule in a function body: (x * M + half) >> 31, rounding down for negatives as an arithmetic shift does."""
    model = onnx.parser.parse_model(SELF_TEST_MODEL).SerializeToString()
    inputs = np.arange(-128, 128, dtype=np.int8).reshape(-1, 4)
    wanted = ((inputs.astype(object) * 1234567890 + 2**30) >> 31).astype(np.int8)
    tally.check(compare(model, inputs, wanted)[1] == 0, "self-test: a function body is run and gives the exact bytes")
    wrong = wanted.copy()
    wrong[17, 2] += 1
    tally.check(compare(model, inputs, wrong)[1:] == (1, 17), "self-test: one byte changed is noticed and placed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?")
    parser.add_argument("inputs", nargs="?")
    parser.add_argument("outputs", nargs="?")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--output")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    tally = common.Tally()
    if args.self_test:
        self_test(tally)
    elif args.outputs is None:
        parser.error("MODEL, INPUTS and OUTPUTS are needed")
    else:
        check(tally, args.model, np.load(args.inputs), np.load(args.outputs), limit=args.limit, output=args.output)
    return tally.close()


if __name__ == "__main__":
    raise SystemExit(main())
