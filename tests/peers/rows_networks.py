# SPDX-License-Identifier: Apache-2.0
"""Rows on MLPerf Tiny's networks, MNIST and ExecuTorch's, in float against the known count and in int8 against our own float."""

import json

import build_models
import common
from row import Row
from rows_resnet import evaluate

TARGET = "refnpu-n16"
POINTS = 0.3
SAMPLES = {"keywords": 5}  # where the allowance is a number of samples
NAMES = ("resnet8", "keywords", "cifar_net", "mnist", "dscnn_executorch")
COUNTS = {"resnet8": 10000, "keywords": 1000, "cifar_net": 10000, "mnist": 10000, "dscnn_executorch": 10}


def entries(context):
    """models.json, built (with ONNX Runtime's judgement) where it is not there yet."""
    work = context.work / "models"
    if not (work / "models.json").exists():
        work.mkdir(exist_ok=True)
        built = build_models.build(context.shared, work)
        for name, entry in built.items():
            entry["model"] = str(work / f"{name}.onnx")
            inputs, labels = build_models.load(entry)
            right = common.right(common.run_batched(common.session(entry["model"]), inputs), labels)
            if right != entry["right"]:
                raise ValueError(f"{name}: ONNX Runtime has {right} right, wanted {entry['right']}: the builder is wrong")
        (work / "models.json").write_text(json.dumps(built, indent=1) + "\n")
    return json.loads((work / "models.json").read_text())


def preprocess(entry):
    return ["--preprocess", entry["preprocess"]] if entry["preprocess"] else []


def float_row(name):
    def run(context):
        entry = entries(context)[name]
        top1, samples, partial = evaluate(context, entry["model"], entry["all"], entry["of"], *preprocess(entry))
        right = round(top1 * samples / 100)
        return f"{top1:.2f} ({right} of {samples})", None if partial else (right, samples) == (entry["right"], entry["of"])

    return run


def int8_row(name):
    def run(context):
        entry = entries(context)[name]
        folder = context.compile(name, entry["model"], [TARGET], "--calib", entry["calib"], *preprocess(entry))
        count = COUNTS[name] - (build_models.CALIB if name in ("keywords", "mnist") else 0)
        ours, samples, partial = evaluate(context, entry["model"], entry["eval"], count, *preprocess(entry))
        int8, int8_samples, _ = evaluate(context, f"{folder}@quantize", entry["eval"], count, *preprocess(entry))
        allowed = SAMPLES[name] * 100 / samples if name in SAMPLES else POINTS
        text = f"float {ours:.2f}, int8 {int8:.2f} of {int8_samples}"
        return text, None if partial else ours - int8 <= allowed + 1e-9 and samples == int8_samples == count

    return run


def rows():
    known = {"resnet8": "87.19", "keywords": "90.1", "cifar_net": "60.32", "mnist": "99.16", "dscnn_executorch": "10 of 10"}
    yield from (Row(f"float-{name}", f"{known[name]} ({COUNTS[name]} samples)", float_row(name)) for name in NAMES)
    for name in NAMES:
        allowance = f"{SAMPLES[name]} samples" if name in SAMPLES else f"{POINTS} points"
        yield Row(f"int8-{name}", f"within {allowance} of our float", int8_row(name))
