# SPDX-License-Identifier: Apache-2.0
"""A small writer of ONNX graphs, shared by the builders."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Builder:
    """Collects nodes and weights in order; every value has the name its maker gives."""

    def __init__(self, name):
        self.name, self.nodes, self.initializers = name, [], []

    def weight(self, name, values):
        self.initializers.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, op, inputs, output, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [output], name=f"{output}.{op}", **attributes))
        return output

    def model(self, inputs, outputs, opset=18, ir_version=8, producer="npuc-peers"):
        """`inputs` and `outputs` map names to dims; strings are symbols."""

        def infos(values):
            return [helper.make_tensor_value_info(name, TensorProto.FLOAT, dims) for name, dims in values.items()]

        graph = helper.make_graph(self.nodes, self.name, infos(inputs), infos(outputs), self.initializers)
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version, producer_name=producer
        )
        onnx.checker.check_model(model, full_check=True)
        return model


def same_padding(size, kernel, stride):
    """TensorFlow's SAME: the output has ceil(size / stride) cells and the odd cell of padding comes last."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2
