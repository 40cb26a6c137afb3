# SPDX-License-Identifier: Apache-2.0
"""ExecuTorch's CifarNet and DS-CNN from their PyTorch weights."""

import torch

from .graph import Builder

KEYWORDS = ("silence", "unknown", "yes", "no", "up", "down", "left", "right", "on", "off", "stop", "go")


def load(path):
    return {name: value.numpy() for name, value in torch.load(path, weights_only=True, map_location="cpu").items()}


def cifar_net(path):
    """Three times convolution 5x5 and max pool of stride 2 (kernels 2, 2, 1), then one linear layer; no ReLU."""
    data, b, x = load(path), Builder("cifar_net"), "image"
    for number, kernel in ((1, 2), (2, 2), (3, 1)):
        parts = [b.weight(f"conv{number}.{part}", data[f"conv{number}.{part}"]) for part in ("weight", "bias")]
        x = b.node("Conv", [x, *parts], f"conv{number}", kernel_shape=[5, 5], pads=[2] * 4)
        x = b.node("MaxPool", [x], f"pool{number}", kernel_shape=[kernel] * 2, strides=[2, 2])
    x = b.node("Flatten", [x], "flatten", axis=1)
    b.node("Gemm", [x, b.weight("fc.weight", data["fc.weight"]), b.weight("fc.bias", data["fc.bias"])], "logits", transB=1)
    return b.model({"image": ["N", 3, 32, 32]}, {"logits": ["N", 10]})


def dscnn(path):
    """Convolution 10x4, four depthwise-separable blocks, global average, linear; batch norm and ReLU after each convolution."""
    data, b = load(path), Builder("dscnn_executorch")

    def conv_bn_relu(x, conv, bn, name, **attributes):
        weight = data[f"{conv}.weight"]
        x = b.node("Conv", [x, b.weight(f"{name}.weight", weight)], name, kernel_shape=list(weight.shape[2:]), **attributes)
        parts = [b.weight(f"{name}.bn.{p}", data[f"{bn}.{p}"]) for p in ("weight", "bias", "running_mean", "running_var")]
        return b.node("Relu", [b.node("BatchNormalization", [x, *parts], f"{name}.bn", epsilon=1e-5)], f"{name}.relu")

    x = conv_bn_relu("mfcc", "feature_extractor.0", "feature_extractor.1", "stem", strides=[2, 2], pads=[5, 1, 5, 1])
    for block in range(4, 8):
        stem = f"feature_extractor.{block}"
        x = conv_bn_relu(x, f"{stem}.depthwise", f"{stem}.depthwise_bn", f"depthwise{block}", pads=[1] * 4, group=64)
        x = conv_bn_relu(x, f"{stem}.pointwise", f"{stem}.pointwise_bn", f"pointwise{block}")
    x = b.node("Flatten", [b.node("GlobalAveragePool", [x], "average")], "flatten", axis=1)
    head = [b.weight(f"classifier.{p}", data[f"classifier.{p}"]) for p in ("weight", "bias")]
    b.node("Gemm", [x, *head], "logits", transB=1)
    return b.model({"mfcc": ["N", 1, 49, 10]}, {"logits": ["N", 12]})
