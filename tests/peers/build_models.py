# SPDX-License-Identifier: Apache-2.0
"""Writes the peer networks as ONNX and their data as .npy with labels into a scratch folder, and checks each network in ONNX
Runtime against the count of right answers that ../shared/data/README.md gives.

    python build_models.py --shared ../shared --work DIR [--no-check | --self-test]

DIR/models.json lists, for each: model, preprocess, calib, eval (data in npuc's spelling), all, labels, right, of.
"""

import argparse
import json
import pathlib
import shutil

import numpy as np
import onnx

import common
from models import executorch, keywords, resnet8

CALIB = 100  # keywords and MNIST have no training part: the first 100 calibrate and the rest judges


def save(work, name, inputs, labels):
    np.save(work / f"{name}.npy", inputs)
    np.save(work / f"{name}.labels.npy", labels)
    return str(work / f"{name}.npy")


def split(work, name, inputs, labels):
    """All samples in one file; the first CALIB and the rest in two more."""
    return {
        "all": save(work, f"{name}_all", inputs, labels),
        "calib": save(work, f"{name}_calib", inputs[:CALIB], labels[:CALIB]),
        "eval": save(work, f"{name}_eval", inputs[CALIB:], labels[CALIB:]),
    }


def recordings(folder):
    files = sorted(folder.glob("*.f32"))
    inputs = np.stack([np.fromfile(file, np.float32).reshape(1, 49, 10) for file in files])
    return inputs, np.array([executorch.KEYWORDS.index(file.stem) for file in files], np.int64)


def build(data, work):
    """Every network with its data: name -> entry of models.json."""
    cifar = {
        "all": f"cifar10:{data}/cifar10/test_batch.bin",
        "eval": f"cifar10:{data}/cifar10/test_batch.bin",
        "calib": f"cifar10:{data}/cifar10/calib_train_1000.bin",
    }
    onnx.save(resnet8.build(data / "mlperf-tiny/ic/pretrainedResnet.h5"), work / "resnet8.onnx")
    onnx.save(executorch.cifar_net(data / "executorch/cifar_net.pth"), work / "cifar_net.onnx")
    onnx.save(keywords.build(data / "mlperf-tiny/kws/kws_ref_model_float32.tflite"), work / "keywords.onnx")
    onnx.save(executorch.dscnn(data / "executorch/kws_dscnn.pth"), work / "dscnn_executorch.onnx")
    shutil.copyfile(data / "mnist-cnn-burn/mnist.onnx", work / "mnist.onnx")

    ten = save(work, "dscnn_executorch_all", *recordings(data / "executorch/kws_mfcc"))
    return {
        "resnet8": {**cifar, "preprocess": "scale=1", "right": 8719, "of": 10000},
        "keywords": {**split(work, "keywords", *common.keywords(data / "mlperf-tiny/kws")), "preprocess": "", "right": 901, "of": 1000},
        "cifar_net": {**cifar, "preprocess": "scale=1/255,mean=0.5:0.5:0.5,std=0.5:0.5:0.5", "right": 6032, "of": 10000},
        "dscnn_executorch": {"all": ten, "calib": ten, "eval": ten, "preprocess": "", "right": 10, "of": 10},
        "mnist": {**split(work, "mnist", *common.mnist(data / "mnist")), "preprocess": "scale=1/255,mean=0.1307,std=0.3081", "right": 9916, "of": 10000},
    }


def load(entry):
    """All inputs (preprocessed) and labels of an entry."""
    source = entry["all"]
    if source.startswith("cifar10:"):
        inputs, labels = common.cifar10(source.removeprefix("cifar10:"))
    else:
        inputs, labels = np.load(source), np.load(source.replace(".npy", ".labels.npy"))
    return common.preprocess(inputs, entry["preprocess"]), labels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--no-check", action="store_true", help="only write the files")
    parser.add_argument("--self-test", action="store_true", help="also show that the check fails on wrong weights")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    work, tally = args.work.resolve(), common.Tally()

    entries = build(args.shared.resolve() / "data", work)
    for name, entry in entries.items():
        entry["model"] = str(work / f"{name}.onnx")
        if args.no_check:
            continue
        inputs, labels = load(entry)
        count = common.right(common.run_batched(common.session(entry["model"]), inputs), labels)
        tally.check(count == entry["right"], f"{name}: ONNX Runtime has {count} of {len(labels)} right, wanted {entry['right']}")
        if args.self_test:
            tally.check(damaged_count(entry, inputs, labels) != entry["right"], f"{name}: half the first filters negated is noticed")
    (work / "models.json").write_text(json.dumps(entries, indent=1) + "\n")
    return tally.close()


def damaged_count(entry, inputs, labels):
    """The count of right answers with half of the first layer's filters negated."""
    model = onnx.load(entry["model"])
    weight = model.graph.node[0].input[1]
    first = next(tensor for tensor in model.graph.initializer if tensor.name == weight)
    values = onnx.numpy_helper.to_array(first).copy()
    values[::2] *= -1
    first.CopyFrom(onnx.numpy_helper.from_array(values, first.name))
    return common.right(common.run_batched(common.session(model.SerializeToString()), inputs), labels)


if __name__ == "__main__":
    raise SystemExit(main())
