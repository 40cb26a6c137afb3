# SPDX-License-Identifier: Apache-2.0
"""Rows on ResNet-20 and -56: float accuracy and logits, int8 accuracy, cycles, and the QDQ export in ONNX Runtime."""

import common
import float_logits
import qdq_ort
from npuc import module_input
from row import Row

PREPROCESS = "scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225"
FLOAT_RIGHT = {20: 9173, 56: 9339}
INT8_LEAST = {20: 91.60, 56: 93.25}
SIZES = ("n8", "n16", "n32")
CYCLES = {"n8": 710_000, "n16": 190_000, "n32": 85_000}
MAIN = "refnpu-n16"


def model(context, depth):
    return context.shared / f"resnet-cifar10/resnet{depth}.onnx"


def test_data(context):
    return f"cifar10:{context.shared}/cifar10/test_batch.bin"


def test_images(context, count):
    images, labels = common.cifar10(context.shared / "cifar10/test_batch.bin")
    return images[:count], labels[:count]


def build(context, depth):
    """ResNet-20 is compiled for all sizes in one call, ResNet-56 for one."""
    targets = [f"refnpu-{size}" for size in SIZES] if depth == 20 else [MAIN]
    return context.compile(f"resnet{depth}", model(context, depth), targets, *calibration(context))


def calibration(context):
    return "--calib", f"cifar10:{context.shared}/cifar10/calib_train_1000.bin", "--preprocess", PREPROCESS


def evaluate(context, what, data, wanted_count, *options):
    """(top-1 in percent, samples, whether fewer than wanted)."""
    count, partial = context.limited(wanted_count)
    limit = ["--limit", count] if partial else []
    document = context.npuc("eval", what, "--data", data, *limit, *options)
    return document["top1"], document["samples"], partial


def float_accuracy(depth):
    def run(context):
        top1, samples, partial = evaluate(context, model(context, depth), test_data(context), 10000, "--preprocess", PREPROCESS)
        right = round(top1 * samples / 100)
        return f"{top1:.2f} ({right} of {samples})", None if partial else (right, samples) == (FLOAT_RIGHT[depth], 10000)

    return run


def logits(depth):
    def run(context):
        count, partial = context.limited(1000)
        images = common.preprocess(test_images(context, count)[0], PREPROCESS)
        _, outputs = context.npuc.run(model(context, depth), {"image": images}, context.work / f"logits{depth}", "--dim", f"N={count}")
        wanted = float_logits.recorded(context.shared / f"resnet-cifar10/resnet{depth}_logits_first1000.f32", 10)[:count]
        apart, equal = float_logits.compare(outputs["logits"], wanted)
        return f"{apart:.2e} apart, {equal} of {count} decisions equal", None if partial else apart <= 1e-4

    return run


def int8_accuracy(depth):
    def run(context):
        folder = build(context, depth)
        top1, samples, partial = evaluate(context, f"{folder}@quantize.{MAIN}" if depth == 20 else f"{folder}@quantize",
                                          test_data(context), 10000, "--preprocess", PREPROCESS)
        return f"{top1:.2f} of {samples}", None if partial else top1 >= INT8_LEAST[depth] and samples == 10000

    return run


def cycles(size):
    def run(context):
        document = context.npuc("simulate", build(context, 20) / f"6-build.refnpu-{size}/model.npu")
        return f"{document['cycles']:,} ({100 * document['utilization']:.1f} % use)", document["cycles"] <= CYCLES[size]

    return run


def module_outputs(context, count):
    """(input name, integer inputs, integer outputs) of ResNet-20's integer module on the first `count` images: run once, kept."""
    kept = context.built.get("module outputs")
    if kept is None or len(kept[1]) < count:
        folder = build(context, 20)
        floats = common.preprocess(test_images(context, count)[0], PREPROCESS)
        name, inputs = module_input(folder / f"5-quantize.{MAIN}.onnx", floats)
        kept = name, inputs, context.npuc.run_each(f"{folder}@quantize.{MAIN}", name, inputs, context.work / "module")["logits"]
        context.built["module outputs"] = kept
    return kept[0], kept[1][:count], kept[2][:count]


def qdq(context):
    folder = build(context, 20)
    count, partial = context.limited(1000)
    images, labels = test_images(context, count)
    outputs = module_outputs(context, count)[2]
    measures = qdq_ort.measure(folder / f"5-quantize.{MAIN}.qdq.onnx", images, labels, PREPROCESS, outputs)
    quiet = common.Quiet()
    good = qdq_ort.verdict(quiet, measures)
    steps = [d["steps"] for d in measures["differing"]]
    text = (f"agreement {measures['agreement']:.2f} %, differing images' steps {steps}, "
            f"top-1 {measures['top1_npuc']:.2f} and {measures['top1_onnxruntime']:.2f}")
    return text, None if partial else good


def rows():
    yield from (Row(f"float-resnet{d}", f"{FLOAT_RIGHT[d] / 100:.2f}, 10,000 images", float_accuracy(d)) for d in (20, 56))
    yield from (Row(f"logits-resnet{d}", "first 1,000 within 1e-4", logits(d)) for d in (20, 56))
    yield from (Row(f"cycles-{size}", f"at most {CYCLES[size]:,}", cycles(size)) for size in SIZES)
    yield Row("qdq-resnet20", "1,000 images: agreement 99 %, 4 steps, 0.2 points", qdq)
    yield from (Row(f"int8-resnet{d}", f"at least {INT8_LEAST[d]:.2f}, 10,000 images", int8_accuracy(d)) for d in (20, 56))
