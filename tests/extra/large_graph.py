# SPDX-License-Identifier: Apache-2.0
"""Writes a network of about N nodes in blocks of three branches: python large_graph.py N FILE"""

import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper


def main():
    wanted, path = int(sys.argv[1]), sys.argv[2]
    nodes = []

    def add(op, inputs, name):
        nodes.append(helper.make_node(op, inputs, [name + "_out"], name=name))
        return name + "_out"

    x = "x"
    while len(nodes) < wanted - 1:
        at = f"block{len(nodes) // 10}/"
        a = add("Relu", [add("Conv", [x, "w"], at + "a/conv")], at + "a/relu")
        b = add("Mul", [add("Sigmoid", [add("Conv", [x, "w"], at + "b/conv")], at + "b/gate"), a], at + "b/mul")
        c = add("Conv", [add("Relu", [add("Conv", [x, "w"], at + "c/conv1")], at + "c/relu"), "w"], at + "c/conv2")
        x = add("Add", [add("Add", [b, c], at + "sum"), x], at + "residual")
    nodes.append(helper.make_node("Relu", [x], ["y"], name="last"))
    weights = numpy_helper.from_array(np.full((8, 8, 1, 1), 1e-6, np.float32), "w")
    ports = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 8, 8, 8]) for name in "xy"]
    graph = helper.make_graph(nodes, "large", ports[:1], ports[1:], [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


if __name__ == "__main__":
    main()
