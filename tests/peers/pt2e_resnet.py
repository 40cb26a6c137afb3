#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ResNet-20 quantized by torchao's prepare_pt2e and convert_pt2e, exported, read by npuc: the program as it stands in the float executor, and compiled for an NPU, where
the integer module has the scales of the program.

    pt2e_resnet.py --npuc build/npuc --shared ../shared --work DIR [--images 1000]

Right is torch's quantized graph. At least 99.5 % of the images have its top-1 in the executor, whose float sums have an order of their own, and 98.5 % in the integer module;
where it is another, torch's graph has the two at most three steps of the logits' scale apart. The accuracies are within 0.2 points, and the input's scale is the program's.
Control: against the top-1 of the image before both must fail. Exit status 1 if not.
"""
import argparse
import pathlib
import subprocess
import sys
import warnings

import common
import numpy as np
import onnx
import torch
from npuc import module_input
from torchao.quantization.pt2e import HistogramObserver, PerChannelMinMaxObserver
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import QuantizationAnnotation, QuantizationSpec, Quantizer

warnings.filterwarnings("ignore")
PREPROCESS = "scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225"
aten = torch.ops.aten
QDQ = torch.ops.quantized_decomposed


class EightBits(Quantizer):
    """int8 everywhere: activations affine and per tensor, weights symmetric and per output channel, ReLU with its producer; XNNPACKQuantizer's default scheme."""

    activation = QuantizationSpec(torch.int8, HistogramObserver.with_args(eps=2**-12), -128, 127, torch.per_tensor_affine)
    weight = QuantizationSpec(torch.int8, PerChannelMinMaxObserver.with_args(eps=2**-12), -127, 127, torch.per_channel_symmetric, ch_axis=0)

    def annotate(self, model):
        for n in model.graph.nodes:
            if n.target in (aten.conv2d.default, aten.linear.default):
                self.note(n, {n.args[0]: self.activation, n.args[1]: self.weight})
            elif n.target in (aten.add.Tensor, aten.add_.Tensor):
                self.note(n, {n.args[0]: self.activation, n.args[1]: self.activation})
            elif n.target in (aten.adaptive_avg_pool2d.default, aten.avg_pool2d.default, aten.mean.dim):
                self.note(n, {n.args[0]: self.activation})
        return model

    def note(self, n, inputs):
        user = next(iter(n.users))
        fused = len(n.users) == 1 and user.target in (aten.relu.default, aten.relu_.default)
        n.meta["quantization_annotation"] = QuantizationAnnotation(inputs, None if fused else self.activation, _annotated=True)
        if fused:
            user.meta["quantization_annotation"] = QuantizationAnnotation(output_qspec=self.activation, _annotated=True)

    def validate(self, model):
        pass


def batches(model, images):
    with torch.no_grad():
        return torch.cat([model(images[i : i + 50]) for i in range(0, len(images), 50)])


def quantized(path, calibration):
    prepared = prepare_pt2e(torch.export.load(path).module(), EightBits())
    batches(prepared, calibration)
    return convert_pt2e(prepared)


def npuc(program, *arguments):
    done = subprocess.run([program, *map(str, arguments), "-q"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"npuc {arguments[0]}: status {done.returncode}: {done.stderr[:800]}")


def run(program, model, port, images, work):
    """The top-1 of a model of batch 1, image by image."""
    out, rows = work / model.stem, []
    for i in range(len(images)):
        np.save(work / "image.npy", images[i : i + 1])
        npuc(program, "run", model, "-i", f"{port}={work / 'image.npy'}", "-o", out, "--threads", "1")
        [file] = out.glob("*.npy")
        rows.append(np.load(file))
    return np.concatenate(rows).argmax(1)


def input_scale(path):
    """Of the integer module at `path`, from the annotation of its input."""
    model = onnx.load(str(path))
    weights = {t.name: onnx.numpy_helper.to_array(t) for t in model.graph.initializer}
    names = {e.key: e.value for a in model.graph.quantization_annotation if a.tensor_name == model.graph.input[0].name for e in a.quant_parameter_tensor_names}
    return float(weights[names["SCALE_TENSOR"]].reshape(-1)[0])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--npuc", required=True)
    parser.add_argument("--shared", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--images", type=int, default=1000)
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    data = args.shared / "data"
    calibration = data / "cifar10/calib_train_1000.bin"
    images, labels = common.cifar10(data / "cifar10/test_batch.bin")
    images, labels = common.preprocess(images[: args.images], PREPROCESS).astype(np.float32), np.asarray(labels[: args.images])
    model = quantized(str(data / "resnet-cifar10/resnet20.pt2"), torch.from_numpy(common.preprocess(common.cifar10(calibration)[0][:250], PREPROCESS).astype(np.float32)))
    logits = batches(model, torch.from_numpy(images)).numpy()
    want = logits.argmax(1)
    program = torch.export.export(model, (torch.from_numpy(images[:1]),), strict=False)
    grids = [n for n in program.graph.nodes if n.target == QDQ.quantize_per_tensor.default]
    archive, build = args.work / "quantized.pt2", args.work / "build"
    torch.export.save(program, archive)
    floats = run(args.npuc, archive, program.graph_signature.user_inputs[0], images, args.work)
    npuc(args.npuc, "compile", archive, "-t", "refnpu-n16", "-o", build, "--force", "--calib", f"cifar10:{calibration}", "--preprocess", PREPROCESS)
    module = build / "5-quantize.refnpu-n16.onnx"
    integers = run(args.npuc, module, *module_input(module, images), args.work)

    checks = common.Tally()
    checks.check(len(grids) >= 30, f"{len(grids)} activations are quantized in the program")
    for name, got, least in (("float executor", floats, 0.995), ("integer module", integers, 0.985)):
        agreement, accuracy, right = np.mean(got == want), 100 * np.mean(got == labels), 100 * np.mean(want == labels)
        checks.check(agreement >= least, f"{name}: top-1 of torch's quantized graph on {100 * agreement:.1f} % of {len(want)} images")
        row = np.arange(len(want))
        gap = np.max(logits[row, want] - logits[row, got]) / grids[-1].args[1]
        checks.check(gap < 3.5, f"{name}: where it is another, the two are {gap:.0f} steps apart at most")
        checks.check(abs(accuracy - right) <= 0.2, f"{name}: accuracy {accuracy:.1f} %, torch's {right:.1f} %")
        checks.check(np.mean(got == np.roll(want, 1)) < least, f"{name}: control: not of the image before")
    checks.check(input_scale(module) == np.float32(grids[0].args[1]), f"the input's scale is the program's, {grids[0].args[1]:.6g}")
    return checks.close()


if __name__ == "__main__":
    sys.exit(main())
