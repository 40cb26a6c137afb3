# SPDX-License-Identifier: Apache-2.0
"""MLPerf Tiny's keyword spotter (DS-CNN) from its float TFLite file, whose weights are int8 with scales: they are dequantized
and the network is pure float32. The input `mfcc` is [N, 1, 49, 10]; the output is a softmax over 12 words."""

from . import flatbuffer
from .graph import Builder, same_padding

RELU = 1


class Lowering:
    """Carries NHWC activations of the TFLite graph as NCHW values of the ONNX graph."""

    def __init__(self, network):
        self.network, self.b = network, Builder("dscnn")
        self.values = {network.inputs[0]: "mfcc"}

    def tensor(self, index):
        return self.network.tensors[index]

    def relu(self, value, activation):
        if activation == 0:
            return value
        assert activation == RELU, f"fused activation {activation}"
        return self.b.node("Relu", [value], f"{value}.relu")

    def window(self, op, kernel):
        """Strides and pads of a convolution or pool; `kernel` is [height, width]."""
        _, height, width, _ = self.tensor(op.inputs[0]).shape
        strides = [op.options.scalar(2, "i", 1), op.options.scalar(1, "i", 1)]
        if op.options.scalar(0, "b"):  # VALID
            return {"kernel_shape": kernel, "strides": strides}
        (top, bottom), (left, right) = (same_padding(s, k, st) for s, k, st in zip((height, width), kernel, strides))
        return {"kernel_shape": kernel, "strides": strides, "pads": [top, left, bottom, right]}

    def convolution(self, op, name, depthwise):
        weight, bias = (self.tensor(index).real() for index in op.inputs[1:3])
        # Ordinary: [out, kh, kw, in]. Depthwise: [1, kh, kw, channels].
        filters = weight.transpose(3, 0, 1, 2) if depthwise else weight.transpose(0, 3, 1, 2)
        attributes = self.window(op, list(filters.shape[2:]))
        if depthwise:
            attributes["group"] = filters.shape[0]
        inputs = [self.values[op.inputs[0]], self.b.weight(f"{name}.weight", filters), self.b.weight(f"{name}.bias", bias)]
        out = self.b.node("Conv", inputs, name, **attributes)
        return self.relu(out, op.options.scalar(4 if depthwise else 3, "b"))

    def lower(self, number, op):
        name = f"{op.kind.lower()}_{number}"
        source = self.values.get(op.inputs[0])
        if op.kind == "CONV_2D":
            out = self.convolution(op, name, depthwise=False)
        elif op.kind == "DEPTHWISE_CONV_2D":
            out = self.convolution(op, name, depthwise=True)
        elif op.kind == "AVERAGE_POOL_2D":
            kernel = [op.options.scalar(4, "i"), op.options.scalar(3, "i")]
            out = self.b.node("AveragePool", [source], name, **self.window(op, kernel))
        elif op.kind == "RESHAPE":
            out = self.b.node("Flatten", [source], name, axis=1)
        elif op.kind == "FULLY_CONNECTED":
            weight, bias = (self.tensor(index).real() for index in op.inputs[1:3])
            inputs = [source, self.b.weight(f"{name}.weight", weight), self.b.weight(f"{name}.bias", bias)]
            out = self.b.node("Gemm", inputs, name, transB=1)
        elif op.kind == "SOFTMAX":
            out = self.b.node("Softmax", [source], "probabilities", axis=1)
        else:
            raise ValueError(f"operator {number}: {op.kind} is not known here")
        self.values[op.outputs[0]] = out


def build(path):
    lowering = Lowering(flatbuffer.read(path))
    for number, op in enumerate(lowering.network.operators):
        lowering.lower(number, op)
    return lowering.b.model({"mfcc": ["N", 1, 49, 10]}, {"probabilities": ["N", 12]})
