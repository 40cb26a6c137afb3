# SPDX-License-Identifier: Apache-2.0
"""Odd but possible models: each is right, or refused with a diagnostic and the exit status that says why; never a crash, a hang or a wrong number.

    python odd_models.py --npuc build/npuc --work DIR [--only PATTERN]
    python odd_models.py --self-test --work DIR

A case is a small model, the exit statuses wanted from `run` and from `compile`, and the inputs. Where `run` is good its outputs are compared with ONNX
Runtime's (float, 1e-4 of the largest right value; integers exactly); where `compile` is good, so are those of OUT@adapt, and the artifact in the
simulator must equal the integer graph byte for byte. Every refusal must carry a code and a reason.
"""

import argparse
import json
import pathlib
import re
import resource
import shutil
import subprocess
from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import common

GOOD, UNSUPPORTED, GATE, BAD = 0, 3, 4, 6
SECONDS, MEMORY = 120, 6 << 30
RELATIVE = 1e-4
CASES = {}


@dataclass
class Case:
    model: onnx.ModelProto
    inputs: dict = field(default_factory=dict)
    run: tuple = (GOOD,)
    compile: tuple = (GOOD,)
    options: tuple = ()  # of compile
    dims: tuple = ()  # of run


def case(build):
    CASES[build.__name__] = build
    return build


def rng(seed=1):
    return np.random.Generator(np.random.PCG64(seed))


def normal(*dims, seed=1, scale=1.0):
    return (rng(seed).normal(size=dims) * scale).astype(np.float32)


def uniform(*dims, seed=9):
    return rng(seed).uniform(-1, 1, size=dims).astype(np.float32)


def info(name, dims, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, dims)


def node(op, inputs, outputs, **attributes):
    names = (inputs.split() if isinstance(inputs, str) else inputs, outputs.split() if isinstance(outputs, str) else outputs)
    return helper.make_node(op, *names, **attributes)


def model(nodes, inputs, outputs, weights=None, opset=17):
    tensors = [numpy_helper.from_array(array, name) for name, array in (weights or {}).items()]
    graph = helper.make_graph(nodes, "odd", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def conv_net(x=(1, 3, 8, 8), w=(4, 3, 3, 3), y=None, then=(), **attributes):
    """x -> Conv -> c, then the nodes of `then` from c to y."""
    attributes = {"pads": [1] * (2 * (len(x) - 2)), **attributes}
    nodes = [node("Conv", "x w b", "c" if then else "y", **attributes), *then]
    return model(nodes, [info("x", x)], [info("y", y)], {"w": normal(*w, scale=0.3), "b": normal(w[0], seed=2, scale=0.1)})


def on_image(m, **options):
    return Case(m, {"x": uniform(1, 3, 8, 8)}, **options)


# -- graphs that are hardly graphs --


@case
def empty_graph():
    return Case(model([], [], []), run=(GOOD, BAD, UNSUPPORTED), compile=(BAD, UNSUPPORTED, GATE))


@case
def output_is_input():
    return Case(model([], [info("x", [1, 4])], [info("x", [1, 4])]), {"x": uniform(1, 4)}, compile=(GOOD, UNSUPPORTED))


@case
def output_is_input_beside_conv():
    m = model([node("Conv", "x w", "y")], [info("x", [1, 3, 8, 8])], [info("y", None), info("x", [1, 3, 8, 8])], {"w": normal(4, 3, 1, 1)})
    return on_image(m, compile=(GOOD, UNSUPPORTED))


@case
def output_is_constant():
    m = model([node("Relu", "x", "y")], [info("x", [1, 4])], [info("y", [1, 4]), info("k", [3])], {"k": normal(3)})
    return Case(m, {"x": uniform(1, 4)}, compile=(GOOD, UNSUPPORTED))


@case
def duplicate_outputs():
    m = model([node("Relu", "x", "y")], [info("x", [1, 4])], [info("y", [1, 4]), info("y", [1, 4])])
    return Case(m, {"x": uniform(1, 4)}, run=(GOOD, BAD), compile=(GOOD, BAD, UNSUPPORTED))


@case
def value_written_twice():
    m = model([node("Relu", "x", "y"), node("Sigmoid", "x", "y")], [info("x", [1, 4])], [info("y", [1, 4])])
    return Case(m, {"x": uniform(1, 4)}, run=(BAD,), compile=(BAD,))


@case
def cycle():
    m = model([node("Add", "x b", "a"), node("Relu", "a", "b")], [info("x", [1, 4])], [info("b", [1, 4])])
    return Case(m, {"x": uniform(1, 4)}, run=(BAD,), compile=(BAD,))


@case
def dangling_input():
    return Case(model([node("Add", "x nowhere", "y")], [info("x", [1, 4])], [info("y", [1, 4])]), {"x": uniform(1, 4)}, run=(BAD,), compile=(BAD,))


@case
def missing_output():
    return Case(model([node("Relu", "x", "y")], [info("x", [1, 4])], [info("z", [1, 4])]), {"x": uniform(1, 4)}, run=(BAD,), compile=(BAD,))


@case
def unused_input():
    m = model([node("Relu", "x", "y")], [info("x", [1, 4]), info("idle", [1, 2])], [info("y", [1, 4])])
    return Case(m, {"x": uniform(1, 4), "idle": uniform(1, 2)}, compile=(GOOD, UNSUPPORTED))


@case
def without_weights():
    m = model([node("Add", "x x", "s"), node("Relu", "s", "y")], [info("x", [1, 3, 8, 8])], [info("y", [1, 3, 8, 8])])
    return on_image(m)


@case
def dead_nodes():
    m = model([node("Relu", "x", "y"), node("Sigmoid", "x", "dead")], [info("x", [1, 4])], [info("y", [1, 4])])
    return Case(m, {"x": uniform(1, 4)})


# -- dims --


@case
def zero_dim():
    return Case(model([node("Relu", "x", "y")], [info("x", [1, 0, 4, 4])], [info("y", [1, 0, 4, 4])]),
                {"x": np.zeros((1, 0, 4, 4), np.float32)}, run=(GOOD, UNSUPPORTED), compile=(UNSUPPORTED, GATE, BAD))


@case
def huge_dim():
    big = [1, 1 << 40, 1 << 20]
    return Case(model([node("Relu", "x", "y")], [info("x", big)], [info("y", big)]), run=(5, BAD, UNSUPPORTED), compile=(5, BAD, UNSUPPORTED))


@case
def product_overflows():
    big = [1 << 32, 1 << 32, 4]
    return Case(model([node("Relu", "x", "y")], [info("x", big)], [info("y", big)]), run=(5, BAD, UNSUPPORTED), compile=(5, BAD, UNSUPPORTED))


@case
def expand_huge():
    m = model([node("Expand", "x s", "y")], [info("x", [1])], [info("y", None)], {"s": np.array([1 << 33, 1 << 33], np.int64)})
    return Case(m, {"x": uniform(1)}, run=(5, BAD, UNSUPPORTED), compile=(5, BAD, UNSUPPORTED))


@case
def negative_dim():
    return Case(model([node("Relu", "x", "y")], [info("x", [1, -4])], [info("y", [1, -4])]), run=(BAD, GATE, UNSUPPORTED, 2), compile=(BAD, GATE))


@case
def batch_four():
    return Case(conv_net(x=(4, 3, 8, 8)), {"x": uniform(4, 3, 8, 8)}, compile=(GOOD, UNSUPPORTED))


@case
def dynamic_height():
    m = conv_net(x=("N", 3, "H", "W"))
    return Case(m, {"x": uniform(1, 3, 8, 8)}, dims=("--dim", "H=8", "--dim", "W=8"), compile=(GATE,))


@case
def dynamic_height_bound():
    m = conv_net(x=("N", 3, "H", "W"))
    bound = ("--dim", "H=8", "--dim", "W=8")
    return Case(m, {"x": uniform(1, 3, 8, 8)}, dims=bound, options=bound)


@case
def scalar_input():
    m = model([node("Mul", "x k", "y")], [info("x", [])], [info("y", [])], {"k": np.array(3, np.float32)})
    return Case(m, {"x": np.array(0.5, np.float32)}, compile=(GOOD, UNSUPPORTED, GATE))


@case
def wrong_declared_output():
    m = conv_net(y=(1, 9, 9, 9))
    return on_image(m, run=(GOOD, BAD), compile=(GOOD, BAD))


@case
def ones_everywhere():
    m = model([node("Conv", "x w", "y")], [info("x", [1, 1, 1, 1])], [info("y", None)], {"w": normal(1, 1, 1, 1)})
    return Case(m, {"x": uniform(1, 1, 1, 1)})


@case
def larger_than_scratchpad():
    then = [node("Relu", "c", "r"), node("MaxPool", "r", "p", kernel_shape=[2, 2], strides=[2, 2]), node("GlobalAveragePool", "p", "y")]
    return Case(conv_net(x=(1, 3, 224, 224), w=(16, 3, 3, 3), then=then), {"x": uniform(1, 3, 224, 224)})


@case
def wide_row():
    return Case(conv_net(x=(1, 2, 3, 5000), w=(3, 2, 3, 3)), {"x": uniform(1, 2, 3, 5000)}, compile=(GOOD, UNSUPPORTED))


@case
def many_channels():
    return Case(conv_net(x=(1, 1500, 3, 3), w=(70, 1500, 3, 3)), {"x": uniform(1, 1500, 3, 3)})


# -- types --


@case
def integer_input():
    m = model([node("Cast", "x", "f", to=TensorProto.FLOAT), node("Relu", "f", "y")], [info("x", [1, 4], TensorProto.INT64)], [info("y", [1, 4])])
    return Case(m, {"x": np.array([[1, -2, 3, 4]], np.int64)}, compile=(GOOD, UNSUPPORTED))


@case
def double_model():
    m = model([node("Add", "x k", "y")], [info("x", [1, 4], TensorProto.DOUBLE)], [info("y", [1, 4], TensorProto.DOUBLE)],
              {"k": np.arange(4, dtype=np.float64)})
    return Case(m, {"x": uniform(1, 4).astype(np.float64)}, run=(GOOD, UNSUPPORTED), compile=(GOOD, UNSUPPORTED))


@case
def half_model():
    m = model([node("Add", "x k", "y")], [info("x", [1, 4], TensorProto.FLOAT16)], [info("y", [1, 4], TensorProto.FLOAT16)],
              {"k": np.arange(4, dtype=np.float16)})
    return Case(m, {"x": uniform(1, 4).astype(np.float16)}, run=(GOOD, UNSUPPORTED), compile=(GOOD, UNSUPPORTED))


@case
def string_input():
    m = model([node("Identity", "x", "y")], [info("x", [1], TensorProto.STRING)], [info("y", [1], TensorProto.STRING)])
    return Case(m, run=(UNSUPPORTED, BAD), compile=(UNSUPPORTED, BAD))


@case
def types_disagree():
    m = model([node("Add", "x k", "y")], [info("x", [1, 4])], [info("y", [1, 4])], {"k": np.arange(4, dtype=np.int64)})
    return Case(m, {"x": uniform(1, 4)}, run=(BAD, UNSUPPORTED), compile=(BAD, UNSUPPORTED))


@case
def integer_output():
    then = [node("ArgMax", "c", "y", axis=1, keepdims=0)]
    m = conv_net(then=then)
    m.graph.output[0].type.tensor_type.elem_type = TensorProto.INT64
    return on_image(m, compile=(GOOD, UNSUPPORTED))


@case
def nan_weight():
    m = conv_net()
    m.graph.initializer[0].raw_data = np.full((4, 3, 3, 3), np.nan, np.float32).tobytes()
    return on_image(m, compile=(GATE, BAD, UNSUPPORTED))


@case
def infinite_weight():
    m = conv_net()
    weights = normal(4, 3, 3, 3)
    weights[0, 0, 0, 0] = np.inf
    m.graph.initializer[0].raw_data = weights.tobytes()
    return on_image(m, compile=(GATE, BAD, UNSUPPORTED))


@case
def zero_weights():
    m = conv_net()
    m.graph.initializer[0].raw_data = np.zeros((4, 3, 3, 3), np.float32).tobytes()
    return on_image(m, compile=(GATE,))  # every sample gives the same


@case
def tiny_weights():
    m = conv_net()
    m.graph.initializer[0].raw_data = normal(4, 3, 3, 3, scale=1e-30).tobytes()
    m.graph.initializer[1].raw_data = np.zeros(4, np.float32).tobytes()
    return on_image(m, compile=(GOOD, GATE, UNSUPPORTED))


@case
def enormous_weights():
    m = conv_net()
    m.graph.initializer[0].raw_data = normal(4, 3, 3, 3, scale=1e30).tobytes()
    return on_image(m, compile=(GOOD, GATE, UNSUPPORTED))


# -- names --


def named(x, y, hidden="h"):
    return Case(model([node("Sigmoid", [x], [hidden]), node("Relu", [hidden], [y])], [info(x, [1, 4])], [info(y, [1, 4])]), {x: uniform(1, 4)})


@case
def name_unicode():
    return named("入力 é", "出力😀")


@case
def name_spaces():
    return named("an input", "an output", "a = b")


@case
def name_long():
    return named("x" * 300, "y" * 300, "h" * 3000)


@case
def name_newline():
    return named("a\nb", "c\nd\t\"e\"", "\n")


@case
def name_path():
    return named("../up/x", "../../up/y", "/etc/h")


@case
def name_not_utf8():
    m = named("xx", "yy").model.SerializeToString().replace(b"\x02yy", b"\x02\xff\xfe")
    return Case(m, run=(BAD, GOOD), compile=(BAD, GOOD))


@case
def names_that_meet_as_files():
    m = model([node("Relu", ["x"], ["a/b"]), node("Sigmoid", ["x"], ["a_b"])], [info("x", [1, 4])], [info("a/b", [1, 4]), info("a_b", [1, 4])])
    return Case(m, {"x": uniform(1, 4)}, run=(GOOD,), compile=(GOOD, UNSUPPORTED, GATE))


@case
def numbered_names_that_meet_as_files():
    names = ["a_b_2", "a_b", "a/b"]
    m = model([node(op, ["x"], [y]) for op, y in zip(("Relu", "Sigmoid", "Tanh"), names, strict=True)],
              [info("x", [1, 4])], [info(y, [1, 4]) for y in names])
    return Case(m, {"x": uniform(1, 4)}, compile=(GOOD, UNSUPPORTED, GATE))


@case
def inputs_that_meet_as_files():
    m = model([node("Sub", ["a/b", "a_b"], ["y"])], [info("a/b", [1, 4]), info("a_b", [1, 4])], [info("y", [1, 4])])
    return Case(m, {"a/b": uniform(1, 4, seed=3), "a_b": uniform(1, 4, seed=4)})


@case
def nodes_without_names_or_same():
    a, b = node("Sigmoid", "x", "h"), node("Relu", "h", "y")
    a.name = b.name = "same"
    return Case(model([a, b], [info("x", [1, 4])], [info("y", [1, 4])]), {"x": uniform(1, 4)})


# -- size --


def chain(length, op, **attributes):
    names = ["x", *[f"t{i}" for i in range(1, length)], "y"]
    nodes = [node(op, [a], [b], **attributes) for a, b in zip(names, names[1:], strict=False)]
    return Case(model(nodes, [info("x", [1, 4])], [info("y", [1, 4])]), {"x": uniform(1, 4)}, compile=(GOOD, GATE))


@case
def chain_of_5000():
    return chain(5000, "LeakyRelu", alpha=0.9999)


@case
def chain_of_500_that_become_one():
    return chain(500, "Relu")


@case
def chain_of_2000_add():
    names = ["x", *[f"t{i}" for i in range(1, 2000)], "y"]
    nodes = [node("Add", [a, "k"], [b]) for a, b in zip(names, names[1:], strict=False)]
    return Case(model(nodes, [info("x", [1, 4])], [info("y", [1, 4])], {"k": normal(4, scale=0.01)}), {"x": uniform(1, 4)}, compile=(GOOD, GATE))


@case
def fan_out_of_200():
    nodes = [node("Relu", "x", "r"), *[node("Mul", ["r", f"k{i}"], [f"m{i}"]) for i in range(200)],
             node("Concat", [f"m{i}" for i in range(200)], ["y"], axis=-1)]
    weights = {f"k{i}": np.array([0.01 * (i + 1)], np.float32) for i in range(200)}
    return Case(model(nodes, [info("x", [1, 4])], [info("y", None)], weights), {"x": uniform(1, 4)}, compile=(GOOD, UNSUPPORTED, GATE))


# -- operators at their edges --


@case
def several_inputs_and_outputs():
    m = model([node("Add", "a b", "s"), node("Relu", "s", "y"), node("Mul", "a b", "z")],
              [info("a", [1, 4, 4, 4]), info("b", [1, 4, 4, 4])], [info("y", None), info("z", None)])
    return Case(m, {"a": uniform(1, 4, 4, 4), "b": uniform(1, 4, 4, 4, seed=8)}, compile=(GOOD, UNSUPPORTED))


@case
def output_used_twice():
    m = conv_net(then=[node("Relu", "c", "r"), node("Add", "r c", "y")])
    m.graph.output.append(info("r", None))
    return on_image(m)


@case
def shared_weights():
    nodes = [node("Conv", "x w", "a", pads=[1] * 4), node("Conv", "a w", "b", pads=[1] * 4), node("Mul", "b k", "y")]
    return on_image(model(nodes, [info("x", [1, 3, 8, 8])], [info("y", None)], {"w": normal(3, 3, 3, 3, scale=0.3), "k": normal(3, 1, 1)}))


@case
def computed_weights():
    m = model([node("Relu", "w", "v"), node("Conv", "x v", "y")], [info("x", [1, 3, 8, 8]), info("w", [4, 3, 1, 1])], [info("y", None)])
    return Case(m, {"x": uniform(1, 3, 8, 8), "w": uniform(4, 3, 1, 1)}, compile=(UNSUPPORTED,))


@case
def weights_folded_from_constants():
    m = model([node("Relu", "w", "v"), node("Conv", "x v", "y")], [info("x", [1, 3, 8, 8])], [info("y", None)], {"w": normal(4, 3, 1, 1)})
    return on_image(m)


@case
def conv_1d():
    return Case(conv_net(x=(1, 3, 20), w=(4, 3, 3)), {"x": uniform(1, 3, 20)}, compile=(GOOD, UNSUPPORTED))


@case
def conv_3d():
    return Case(conv_net(x=(1, 2, 5, 6, 7), w=(3, 2, 3, 3, 3)), {"x": uniform(1, 2, 5, 6, 7)}, compile=(GOOD, UNSUPPORTED))


@case
def conv_grouped():
    return Case(conv_net(x=(1, 6, 8, 8), w=(4, 3, 3, 3), group=2), {"x": uniform(1, 6, 8, 8)})


@case
def conv_depthwise_multiplier():
    return Case(conv_net(x=(1, 3, 8, 8), w=(6, 1, 3, 3), group=3), {"x": uniform(1, 3, 8, 8)})


@case
def conv_dilated_strided_uneven_pads():
    return Case(conv_net(x=(1, 3, 11, 13), pads=[0, 1, 2, 3], strides=[2, 3], dilations=[2, 1]), {"x": uniform(1, 3, 11, 13)})


@case
def conv_same_upper():
    m = model([node("Conv", "x w", "y", auto_pad="SAME_UPPER", strides=[2, 2])], [info("x", [1, 3, 9, 8])], [info("y", None)],
              {"w": normal(4, 3, 3, 2)})
    return Case(m, {"x": uniform(1, 3, 9, 8)})


@case
def conv_kernel_larger_than_input():
    m = model([node("Conv", "x w", "y")], [info("x", [1, 1, 2, 2])], [info("y", None)], {"w": normal(1, 1, 5, 5)})
    return Case(m, {"x": uniform(1, 1, 2, 2)}, run=(BAD,), compile=(BAD,))


@case
def conv_stride_zero():
    return on_image(conv_net(strides=[0, 0]), run=(BAD,), compile=(BAD,))


@case
def conv_group_does_not_divide():
    return on_image(conv_net(group=2), run=(BAD,), compile=(BAD,))


@case
def conv_wrong_channels():
    return on_image(conv_net(w=(4, 5, 3, 3)), run=(BAD,), compile=(BAD,))


@case
def conv_negative_pads():
    return on_image(conv_net(pads=[-1, -1, -1, -1]), run=(GOOD, BAD, UNSUPPORTED), compile=(GOOD, BAD, UNSUPPORTED))


@case
def conv_transpose():
    m = model([node("ConvTranspose", "x w", "y", strides=[2, 2])], [info("x", [1, 3, 4, 4])], [info("y", None)], {"w": normal(3, 2, 2, 2)})
    return Case(m, {"x": uniform(1, 3, 4, 4)}, run=(GOOD, UNSUPPORTED), compile=(GOOD, UNSUPPORTED))


@case
def gemm_trans_a():
    m = model([node("Gemm", "x w c", "y", transA=1, transB=1, alpha=0.5, beta=2.0)], [info("x", [6, 1])], [info("y", None)],
              {"w": normal(5, 6), "c": normal(5)})
    return Case(m, {"x": uniform(6, 1)}, compile=(GOOD, UNSUPPORTED))


@case
def gemm_scalar_c():
    m = model([node("Gemm", "x w c", "y")], [info("x", [1, 6])], [info("y", None)], {"w": normal(6, 5), "c": np.array(0.25, np.float32)})
    return Case(m, {"x": uniform(1, 6)})


@case
def matmul_vectors():
    m = model([node("MatMul", "x w", "y")], [info("x", [6])], [info("y", None)], {"w": normal(6)})
    return Case(m, {"x": uniform(6)}, compile=(GOOD, UNSUPPORTED))


@case
def matmul_batched_activations():
    m = model([node("MatMul", "a b", "y")], [info("a", [1, 2, 3, 4]), info("b", [1, 2, 4, 5])], [info("y", None)])
    return Case(m, {"a": uniform(1, 2, 3, 4), "b": uniform(1, 2, 4, 5, seed=4)}, compile=(GOOD, UNSUPPORTED))


@case
def softmax_axis_one_of_four():
    return on_image(conv_net(then=[node("Softmax", "c", "y", axis=1)]), compile=(GOOD, UNSUPPORTED, GATE))


@case
def softmax_before_13():
    m = model([node("Softmax", "x", "y")], [info("x", [2, 3, 4])], [info("y", None)], opset=11)
    return Case(m, {"x": uniform(2, 3, 4)}, compile=(GOOD, UNSUPPORTED, GATE))


@case
def log_softmax():
    m = model([node("LogSoftmax", "x", "y", axis=-1)], [info("x", [1, 10])], [info("y", None)])
    return Case(m, {"x": uniform(1, 10)}, run=(GOOD, UNSUPPORTED), compile=(GOOD, UNSUPPORTED, GATE))


@case
def gather_constant_negative():
    m = conv_net(then=[node("Gather", "c i", "y", axis=-3)])
    m.graph.initializer.append(numpy_helper.from_array(np.array([-1, 0, 2], np.int64), "i"))
    return on_image(m, compile=(GOOD, UNSUPPORTED))


@case
def gather_out_of_range():
    m = conv_net(then=[node("Gather", "c i", "y", axis=1)])
    m.graph.initializer.append(numpy_helper.from_array(np.array([7], np.int64), "i"))
    return on_image(m, run=(BAD,), compile=(BAD, UNSUPPORTED))


@case
def gather_embedding():
    m = model([node("Gather", "t x", "y")], [info("x", [1, 5], TensorProto.INT64)], [info("y", None)], {"t": normal(20, 6)})
    return Case(m, {"x": np.array([[1, 0, 19, 3, 3]], np.int64)}, compile=(GOOD, UNSUPPORTED))


@case
def max_pool_ceil_mode():
    return Case(conv_net(x=(1, 3, 7, 7), then=[node("MaxPool", "c", "y", kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)]),
                {"x": uniform(1, 3, 7, 7)})


@case
def average_pool_ceil_mode_exclude_pad():
    pool = node("AveragePool", "c", "y", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 0], ceil_mode=1)
    return Case(conv_net(x=(1, 3, 8, 8), then=[pool]), {"x": uniform(1, 3, 8, 8)}, compile=(GOOD, UNSUPPORTED))


@case
def max_pool_with_indices():
    m = conv_net(then=[node("MaxPool", "c", "y i", kernel_shape=[2, 2], strides=[2, 2])])
    m.graph.output.append(info("i", None, TensorProto.INT64))
    return on_image(m, run=(GOOD, UNSUPPORTED), compile=(GOOD, UNSUPPORTED))


@case
def max_pool_all_negative_padding():
    then = [node("Sigmoid", "c", "e"), node("Sub", "e k", "n"), node("MaxPool", "n", "y", kernel_shape=[3, 3], pads=[1, 1, 1, 1])]
    m = conv_net(then=then)
    m.graph.initializer.append(numpy_helper.from_array(np.array(5, np.float32), "k"))
    return on_image(m, compile=(GOOD, UNSUPPORTED))


@case
def lp_pool():
    return on_image(conv_net(then=[node("LpPool", "c", "y", kernel_shape=[2, 2])]), run=(GOOD, UNSUPPORTED), compile=(GOOD, UNSUPPORTED))


@case
def concat_of_different_scales():
    then = [node("Mul", "c k", "big"), node("Concat", "c big", "y", axis=1)]
    m = conv_net(then=then)
    m.graph.initializer.append(numpy_helper.from_array(np.array([20], np.float32), "k"))
    return on_image(m)


@case
def concat_of_itself_negative_axis():
    return on_image(conv_net(then=[node("Concat", "c c c", "y", axis=-1)]), compile=(GOOD, UNSUPPORTED))


@case
def concat_axis_out_of_range():
    return on_image(conv_net(then=[node("Concat", "c c", "y", axis=4)]), run=(BAD,), compile=(BAD,))


@case
def sigmoid():
    return on_image(conv_net(then=[node("Sigmoid", "c", "y")]))


@case
def hard_swish():
    return on_image(conv_net(then=[node("HardSwish", "c", "y")]))


@case
def clip_without_bounds():
    return on_image(conv_net(then=[node("Clip", "c", "y")]))


@case
def clip_upper_bound_alone():
    m = conv_net(then=[node("Clip", ["c", "", "hi"], "y")])
    m.graph.initializer.append(numpy_helper.from_array(np.array(0.5, np.float32), "hi"))
    return on_image(m)


@case
def clip_bounds_crossed():
    m = conv_net(then=[node("Clip", "c lo hi", "y")])
    m.graph.initializer.extend([numpy_helper.from_array(np.array(v, np.float32), n) for n, v in (("lo", 1.0), ("hi", -1.0))])
    return on_image(m, compile=(GOOD, UNSUPPORTED, GATE))


@case
def split_uneven():
    m = conv_net(then=[node("Split", "c s", "p q", axis=1), node("Relu", "p", "y")])
    m.graph.initializer.append(numpy_helper.from_array(np.array([1, 3], np.int64), "s"))
    m.graph.output.append(info("q", None))
    return on_image(m, compile=(GOOD, UNSUPPORTED))


@case
def split_sizes_do_not_add_up():
    m = conv_net(then=[node("Split", "c s", "y q", axis=1)])
    m.graph.initializer.append(numpy_helper.from_array(np.array([1, 1], np.int64), "s"))
    return on_image(m, run=(BAD,), compile=(BAD,))


@case
def transpose():
    return on_image(conv_net(then=[node("Transpose", "c", "y", perm=[0, 2, 3, 1])]), compile=(GOOD, UNSUPPORTED))


@case
def transpose_repeated_axis():
    return on_image(conv_net(then=[node("Transpose", "c", "y", perm=[0, 2, 2, 1])]), run=(BAD,), compile=(BAD,))


@case
def reshape_two_unknowns():
    m = conv_net(then=[node("Reshape", "c s", "y")])
    m.graph.initializer.append(numpy_helper.from_array(np.array([-1, -1], np.int64), "s"))
    return on_image(m, run=(BAD,), compile=(BAD,))


@case
def reshape_flatten_and_dense():
    then = [node("Reshape", "c s", "f"), node("MatMul", "f m", "y")]
    m = conv_net(then=then)
    m.graph.initializer.extend([numpy_helper.from_array(np.array([0, -1], np.int64), "s"), numpy_helper.from_array(normal(256, 5, scale=0.1), "m")])
    return on_image(m)


@case
def pad_reflect():
    m = conv_net(then=[node("Pad", "c p", "y", mode="reflect")])
    m.graph.initializer.append(numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), "p"))
    return on_image(m, run=(GOOD, UNSUPPORTED), compile=(GOOD, UNSUPPORTED))


@case
def pad_with_value():
    m = conv_net(then=[node("Pad", "c p v", "y")])
    m.graph.initializer.extend([numpy_helper.from_array(np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64), "p"),
                                numpy_helper.from_array(np.array(0.7, np.float32), "v")])
    return on_image(m, compile=(GOOD, UNSUPPORTED))


@case
def slice_backwards():
    m = conv_net(then=[node("Slice", "c from to over s", "y")])
    for name, value in (("from", -1), ("to", -1000), ("over", 2), ("s", -2)):
        m.graph.initializer.append(numpy_helper.from_array(np.array([value], np.int64), name))
    return on_image(m, compile=(GOOD, UNSUPPORTED))


@case
def slice_to_nothing():
    m = conv_net(then=[node("Slice", "c from to over", "y")])
    for name, value in (("from", 5), ("to", 2), ("over", 2)):
        m.graph.initializer.append(numpy_helper.from_array(np.array([value], np.int64), name))
    return on_image(m, run=(GOOD, UNSUPPORTED), compile=(UNSUPPORTED, GATE, BAD))


@case
def resize_nearest_upsampling():
    m = conv_net(then=[node("Resize", ["c", "", "sc"], "y", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")])
    m.graph.initializer.append(numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "sc"))
    return on_image(m, run=(GOOD, UNSUPPORTED), compile=(GOOD, UNSUPPORTED))


@case
def prelu_per_channel():
    m = conv_net(then=[node("PRelu", "c a", "y")])
    m.graph.initializer.append(numpy_helper.from_array(normal(4, 1, 1), "a"))
    return on_image(m, run=(GOOD, UNSUPPORTED), compile=(GOOD, UNSUPPORTED))


@case
def leaky_relu_negative_slope_above_one():
    return on_image(conv_net(then=[node("LeakyRelu", "c", "y", alpha=3.0)]), compile=(GOOD, UNSUPPORTED))


@case
def batch_norm_alone():
    m = model([node("BatchNormalization", "x s b m v", "y")], [info("x", [1, 3, 8, 8])], [info("y", None)],
              {"s": normal(3), "b": normal(3, seed=2), "m": normal(3, seed=3), "v": np.abs(normal(3, seed=4)) + 0.1})
    return on_image(m, compile=(GOOD, UNSUPPORTED))


@case
def batch_norm_negative_variance():
    m = model([node("BatchNormalization", "x s b m v", "y")], [info("x", [1, 3, 8, 8])], [info("y", None)],
              {"s": normal(3), "b": normal(3), "m": normal(3), "v": -np.ones(3, np.float32)})
    return on_image(m, compile=(GATE, BAD, UNSUPPORTED))


@case
def broadcast_both_ways():
    m = model([node("Add", "a b", "y")], [info("a", [1, 4, 1, 5]), info("b", [3, 1])], [info("y", None)])
    return Case(m, {"a": uniform(1, 4, 1, 5), "b": uniform(3, 1)}, compile=(GOOD, UNSUPPORTED))


@case
def broadcast_impossible():
    m = model([node("Add", "x k", "y")], [info("x", [1, 4])], [info("y", None)], {"k": normal(3)})
    return Case(m, {"x": uniform(1, 4)}, run=(BAD,), compile=(BAD,))


@case
def division_by_zero_constant():
    m = conv_net(then=[node("Div", "c k", "y")])
    m.graph.initializer.append(numpy_helper.from_array(np.array([0], np.float32), "k"))
    return on_image(m, compile=(GATE, BAD, UNSUPPORTED))


@case
def reduce_mean_without_axes():
    return on_image(conv_net(then=[node("ReduceMean", "c", "y")]), compile=(GOOD, UNSUPPORTED, GATE))


@case
def dropout_with_mask():
    m = conv_net(then=[node("Dropout", "c", "y mask")])
    m.graph.output.append(info("mask", None, TensorProto.BOOL))
    return on_image(m, run=(GOOD, UNSUPPORTED), compile=(GOOD, UNSUPPORTED))


@case
def unknown_operator():
    return Case(model([node("NoSuchThing", "x", "y")], [info("x", [1, 4])], [info("y", [1, 4])]), {"x": uniform(1, 4)}, run=(UNSUPPORTED,), compile=(UNSUPPORTED,))


@case
def unknown_domain():
    m = model([node("Relu", "x", "y", domain="com.example")], [info("x", [1, 4])], [info("y", [1, 4])])
    m.opset_import.append(helper.make_opsetid("com.example", 1))
    return Case(m, {"x": uniform(1, 4)}, run=(UNSUPPORTED,), compile=(UNSUPPORTED,))


@case
def unknown_attribute():
    return on_image(conv_net(colour=3), run=(GOOD, BAD, UNSUPPORTED), compile=(GOOD, BAD, UNSUPPORTED))


@case
def opset_of_the_future():
    m = model([node("Relu", "x", "y")], [info("x", [1, 4])], [info("y", [1, 4])], opset=999)
    return Case(m, {"x": uniform(1, 4)}, run=(UNSUPPORTED, BAD), compile=(UNSUPPORTED, BAD))


@case
def opset_missing():
    m = model([node("Relu", "x", "y")], [info("x", [1, 4])], [info("y", [1, 4])])
    del m.opset_import[:]
    return Case(m, {"x": uniform(1, 4)}, run=(BAD, UNSUPPORTED), compile=(BAD, UNSUPPORTED))


@case
def if_with_subgraphs():
    def branch(op):
        return helper.make_graph([node(op, "x", f"{op}_y")], op, [], [info(f"{op}_y", [1, 4])])
    m = model([node("If", "k", "y", then_branch=branch("Relu"), else_branch=branch("Sigmoid"))], [info("x", [1, 4])], [info("y", [1, 4])],
              {"k": np.array(False)})
    return Case(m, {"x": uniform(1, 4)}, run=(GOOD, UNSUPPORTED), compile=(GOOD, UNSUPPORTED))


@case
def initializer_is_also_input():
    m = model([node("Add", "x k", "y")], [info("x", [1, 4]), info("k", [4])], [info("y", [1, 4])], {"k": normal(4)})
    return Case(m, {"x": uniform(1, 4)})


@case
def initializer_shorter_than_its_dims():
    m = conv_net()
    m.graph.initializer[0].raw_data = m.graph.initializer[0].raw_data[:-4]
    return on_image(m, run=(BAD,), compile=(BAD,))


@case
def external_data_outside_folder():
    m = conv_net()
    tensor = m.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "../../../../etc/passwd"), ("offset", "0"), ("length", "432")):
        tensor.external_data.add(key=key, value=value)
    return on_image(m, run=(BAD,), compile=(BAD,))


# -- the judge --


class Judge:
    def __init__(self, npuc, work, tally):
        self.npuc, self.work, self.tally = str(npuc), work, tally

    def command(self, *args):
        """(exit status or 'hang' or 'signal N', result document, first error event)."""
        def limits():
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

        sanitized = b"__asan_init" in pathlib.Path(self.npuc).read_bytes()
        try:
            done = subprocess.run([self.npuc, "--json", *map(str, args)], capture_output=True, timeout=SECONDS, check=False,
                                  preexec_fn=None if sanitized else limits)
        except subprocess.TimeoutExpired:
            return "hang", None, {}
        status = done.returncode if done.returncode >= 0 else f"signal {-done.returncode}"
        return status, parsed(done.stdout), first_error(done.stderr)

    def judge(self, name, case):
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        path = folder / "model.onnx"
        path.write_bytes(case.model if isinstance(case.model, bytes) else case.model.SerializeToString())
        problems = [*self.of_run(path, case, folder), *self.of_compile(path, case, folder)]
        self.tally.check(not problems, f"{name}{': ' if problems else ''}{'; '.join(problems)}")

    def of_status(self, what, status, wanted, error):
        if status not in wanted:
            return [f"{what}: exit status {status}, wanted {' or '.join(map(str, wanted))} ({error.get('code')} {str(error.get('node'))[:60]!r}: {error.get('reason')})"[:300]]
        if status != GOOD and not (re.fullmatch(r"NPUC-E\d{4}", error.get("code") or "") and error.get("reason")):
            return [f"{what}: exit status {status} without a diagnostic"]
        return []

    def feeds(self, case, folder):
        """By the source's names; a stage keeps a line end or tab in one as a blank."""
        options = []
        for index, (name, array) in enumerate(case.inputs.items()):
            np.save(folder / f"input{index}.npy", array)
            options += ["-i", f"{name}={folder / f'input{index}.npy'}"]
        return options

    def outputs(self, what, model_name, case, folder, options):
        """Runs a model, compares it with ONNX Runtime."""
        feeds = self.feeds(case, folder)
        if what != "run":
            feeds = [re.sub("[\t\n]", " ", text) for text in feeds]
        status, document, error = self.command("run", model_name, *feeds, "-o", folder / "outputs", *options)
        if status != GOOD:
            return status, error, []
        right = self.right(case, folder / "model.onnx")
        return status, error, compared(what, document, right) if right is not None else []

    def right(self, case, path):
        try:
            session = common.session(path, fused=False)
            return dict(zip([o.name for o in session.get_outputs()], session.run(None, case.inputs), strict=True))
        except Exception as error:  # pylint: disable=broad-except
            print(f"note {path.parent.name}: ONNX Runtime has no answer: {str(error).splitlines()[0][:120]}")
            return None

    def of_run(self, path, case, folder):
        status, error, problems = self.outputs("run", path, case, folder, case.dims)
        return self.of_status("run", status, case.run, error) + problems

    def of_compile(self, path, case, folder):
        out = folder / "out"
        status, document, error = self.command("compile", path, "-t", "refnpu-n16", "-o", out, "--calib", "random:8", *case.options)
        problems = self.of_status("compile", status, case.compile, error)
        if status != GOOD or problems:
            return problems
        status, error, more = self.outputs("adapt", f"{out}@adapt", case, folder, ())
        problems += self.of_status("run OUT@adapt", status, (GOOD,), error) + more
        status, document, error = self.command("diff", f"{out}@quantize", out, "--engine", "simulator", "--samples", 4)
        return problems + self.of_status("diff", status, (GOOD,), error)


def parsed(text):
    try:
        return json.loads(text)
    except ValueError:
        return None


def first_error(text):
    for line in text.decode(errors="replace").splitlines():
        event = parsed(line)
        if isinstance(event, dict) and event.get("severity") == "error":
            return event
    return {"reason": text.decode(errors="replace")[-200:]}


def compared(what, document, right):
    """Outputs in the model's order; `run` has the source's names, a stage may have cleaned them."""
    entries = (document or {}).get("outputs", [])
    names = [entry["name"] for entry in entries]
    if len(names) != len(right) or (what == "run" and names != list(right)):
        return [f"{what}: outputs {names}, wanted {list(right)}"[:300]]
    problems = []
    for entry, (name, wanted) in zip(entries, right.items(), strict=True):
        problem = differs(np.load(entry["file"]), wanted)
        if problem:
            problems.append(f"{what}: output {name[:40]!r}: {problem}")
    return problems


def differs(got, wanted):
    if got.shape != wanted.shape:
        return f"shape {got.shape}, wanted {wanted.shape}"
    if got.dtype != wanted.dtype:
        return f"dtype {got.dtype}, wanted {wanted.dtype}"
    if wanted.dtype.kind != "f":
        return None if np.array_equal(got, wanted) else "integers differ"
    got, wanted = got.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(wanted)
    if not np.array_equal(got[~finite], wanted[~finite], equal_nan=True):
        return "not the same infinities and NaNs"
    if not finite.any():
        return None
    worst, largest = np.abs(got[finite] - wanted[finite]).max(), np.abs(wanted[finite]).max()
    return None if worst <= RELATIVE * largest + 1e-30 else f"off by {worst:.3g} with max {largest:.3g}"


def self_test(tally):
    """The comparison notices what it must."""
    right = normal(3, 4)
    tally.check(differs(right, right) is None, "equal arrays are equal")
    tally.check(differs(right * np.float32(1.001), right), "a thousandth is noticed")
    tally.check(differs(right.reshape(4, 3), right), "another shape is noticed")
    tally.check(differs(np.array([np.nan]), np.array([np.inf])), "NaN for infinity is noticed")
    tally.check(differs(np.array([1]), np.array([2])), "another integer is noticed")
    tally.check(Judge("/bin/true", None, tally).of_status("run", 3, (GOOD,), {}), "another exit status is noticed")
    tally.check(Judge("/bin/true", None, tally).of_status("run", 6, (BAD,), {}), "a refusal without a code is noticed")
    for name, build in CASES.items():
        tally.check(isinstance(build(), Case), f"{name} can be made")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--npuc", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--only", default="")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    tally = common.Tally()
    if args.self_test:
        self_test(tally)
    else:
        judge = Judge(args.npuc.resolve(), args.work.resolve(), tally)
        for name, build in CASES.items():
            if re.search(args.only, name):
                judge.judge(name, build())
    return tally.close()


if __name__ == "__main__":
    raise SystemExit(main())
