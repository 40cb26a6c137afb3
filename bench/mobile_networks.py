#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes mobilenetv2.onnx and efficientnet-lite0.onnx into a folder: the published shapes, 224x224, batch norm folded, random weights.
usage: FOLDER

MobileNetV2: Sandler et al. 2018, table 2 (width 1). EfficientNet-Lite0: EfficientNet-B0 without squeeze-and-excite, ReLU6 for swish, stem and head
not scaled."""
import sys
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper

MOBILENET = dict(stem=32, head=1280, blocks=[  # expansion, channels, repeats, stride, kernel
    (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 32, 3, 2, 3), (6, 64, 4, 2, 3), (6, 96, 3, 1, 3), (6, 160, 3, 2, 3), (6, 320, 1, 1, 3)])
EFFICIENTNET = dict(stem=32, head=1280, blocks=[
    (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)])


class Builder:
    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants = [], []
        for name, value in (("zero", 0.0), ("six", 6.0)):
            self.constants.append(numpy_helper.from_array(np.float32(value), name))

    def constant(self, shape, deviation):
        name = f"w{len(self.constants)}"
        self.constants.append(numpy_helper.from_array((self.random.standard_normal(shape) * deviation).astype(np.float32), name))
        return name

    def node(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"n{len(self.nodes)}", **attributes))
        return name

    def conv(self, x, inputs, outputs, kernel, stride, group=1, relu=True):
        taps = inputs // group * kernel * kernel
        w = self.constant((outputs, inputs // group, kernel, kernel), (2.0 / taps) ** 0.5)
        y = self.node("Conv", [x, w, self.constant((outputs,), 0.1)], kernel_shape=[kernel, kernel], strides=[stride, stride],
                      pads=[kernel // 2] * 4, group=group)
        return self.node("Clip", [y, "zero", "six"]) if relu else y

    def block(self, x, inputs, outputs, expansion, kernel, stride):
        wide = inputs * expansion
        y = self.conv(x, inputs, wide, 1, 1) if expansion > 1 else x
        y = self.conv(y, wide, wide, kernel, stride, group=wide)
        y = self.conv(y, wide, outputs, 1, 1, relu=False)
        return self.node("Add", [x, y]) if stride == 1 and inputs == outputs else y


def network(shape, seed):
    b = Builder(seed)
    x, channels = b.conv("image", 3, shape["stem"], 3, 2), shape["stem"]
    for expansion, outputs, repeats, stride, kernel in shape["blocks"]:
        for i in range(repeats):
            x = b.block(x, channels, outputs, expansion, kernel, stride if i == 0 else 1)
            channels = outputs
    x = b.conv(x, channels, shape["head"], 1, 1)
    x = b.node("Flatten", [b.node("GlobalAveragePool", [x])], axis=1)
    x = b.node("Gemm", [x, b.constant((1000, shape["head"]), 0.02), b.constant((1000,), 0.1)], transB=1)
    graph = helper.make_graph(b.nodes, "net", [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 3, 224, 224])],
                              [helper.make_tensor_value_info(x, TensorProto.FLOAT, ["N", 1000])], b.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(model)
    return model


for name, shape, seed in (("mobilenetv2", MOBILENET, 1), ("efficientnet-lite0", EFFICIENTNET, 2)):
    onnx.save(network(shape, seed), f"{sys.argv[1]}/{name}.onnx")
