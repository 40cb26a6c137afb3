# SPDX-License-Identifier: Apache-2.0
"""Writes the trained SignNet as ONNX, in the way that exporters do: batch norm apart from its convolution, the classifier's
flattening as a computed Reshape, slice and pad arguments as Constant nodes. So the front end has its normal work to do."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 18
IR_VERSION = 8


class Builder:
    """Nodes in order and initializers, with a name for each."""

    def __init__(self):
        self.nodes, self.initializers = [], []

    def weight(self, name, array):
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def constant(self, name, values):
        tensor = numpy_helper.from_array(np.asarray(values, np.int64), f"{name}_value")
        self.nodes.append(helper.make_node("Constant", [], [name], name=f"/{name}", value=tensor))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"/{output}", **attributes))
        return output

    def conv_bn(self, block, value, name):
        conv, bn = block["conv"], block["bn"]
        weight = self.weight(f"{name}.conv.weight", conv.weight.detach().numpy())
        pad = conv.padding[0]
        value = self.node(
            "Conv", [value, weight], f"{name}/conv", dilations=[1, 1], group=conv.groups,
            kernel_shape=list(conv.kernel_size), pads=[pad] * 4, strides=list(conv.stride),
        )
        parts = {"weight": bn.weight, "bias": bn.bias, "running_mean": bn.running_mean, "running_var": bn.running_var}
        names = [self.weight(f"{name}.bn.{part}", data.detach().numpy()) for part, data in parts.items()]
        return self.node("BatchNormalization", [value, *names], f"{name}/bn", epsilon=bn.eps, momentum=0.9)


def option_a(b, value):
    """The shortcut without weights: every second row and column, and zero channels on both sides."""
    bounds = [b.constant(f"shortcut/{name}", data) for name, data in
              (("starts", [0, 0]), ("ends", [2**63 - 1, 2**63 - 1]), ("axes", [2, 3]), ("steps", [2, 2]))]
    value = b.node("Slice", [value, *bounds], "shortcut/slice")
    return b.node("Pad", [value, b.constant("shortcut/pads", [0, 8, 0, 0, 0, 8, 0, 0])], "shortcut/pad", mode="constant")


def flatten(b, value):
    """view(x.size(0), -1), as torch.onnx writes it."""
    shape = b.node("Shape", [value], "flatten/shape")
    batch = b.node("Gather", [shape, b.constant("flatten/index", [0])], "flatten/batch", axis=0)
    target = b.node("Concat", [batch, b.constant("flatten/rest", [-1])], "flatten/target", axis=0)
    return b.node("Reshape", [value, target], "flatten/out")


def export(net):
    b = Builder()
    six = [b.weight("relu6.min", np.float32(0)), b.weight("relu6.max", np.float32(6))]
    x = b.node("Relu", [b.conv_bn(net.stem, "image", "stem")], "stem/relu")
    y = b.node("Relu", [b.conv_bn(net.same1, x, "same1")], "same1/relu")
    x = b.node("Relu", [b.node("Add", [b.conv_bn(net.same2, y, "same2"), x], "same/add")], "same/relu")
    y = b.node("Relu", [b.conv_bn(net.down1, x, "down1")], "down1/relu")
    x = b.node("Relu", [b.node("Add", [b.conv_bn(net.down2, y, "down2"), option_a(b, x)], "down/add")], "down/relu")
    x = b.node("Clip", [b.conv_bn(net.depthwise, x, "depthwise"), *six], "depthwise/clip")
    x = b.node("Clip", [b.conv_bn(net.pointwise, x, "pointwise"), *six], "pointwise/clip")
    left = b.node("Relu", [b.conv_bn(net.reduce, x, "reduce")], "reduce/relu")
    right = b.node("MaxPool", [x], "pool", kernel_shape=[2, 2], strides=[2, 2])
    x = b.node("Relu", [b.conv_bn(net.mix, b.node("Concat", [left, right], "concat", axis=1), "mix")], "mix/relu")
    x = flatten(b, b.node("GlobalAveragePool", [x], "average"))
    head = [b.weight("head.weight", net.head.weight.detach().numpy()), b.weight("head.bias", net.head.bias.detach().numpy())]
    b.node("Gemm", [x, *head], "logits", transB=1)

    graph = helper.make_graph(
        b.nodes, "signnet",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["N", 3, 16, 16])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["N", 10])],
        b.initializers,
    )
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="npuc-demo"
    )
