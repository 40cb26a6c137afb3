# SPDX-License-Identifier: Apache-2.0
"""Invalid models: valid cases with one thing wrong, and hand-written ones. onnx.checker with full inference says which are valid; where npuc says otherwise, a line of
DISAGREEMENTS says why."""

import numpy as np
import onnx
from onnx import TensorProto, helper

LIMIT = 1 << 40  # elements that no machine has


def copy(model):
    made = onnx.ModelProto()
    made.CopyFrom(model)
    return made


def checker_refuses(model):
    try:
        onnx.checker.check_model(copy(model), full_check=True)
        return None
    except Exception as error:  # its exceptions share no base class
        return str(error).strip().split("\n")[0][:200] or type(error).__name__


def ranked(model, arrays=None):
    """onnx.checker wants a shape for each output: here with the rank alone."""
    made = copy(model)
    for value, array in zip(made.graph.output, arrays or [None] * len(made.graph.output)):
        rank = 1 if array is None else np.asarray(array).ndim
        value.type.tensor_type.shape.CopyFrom(onnx.TensorShapeProto(dim=[onnx.TensorShapeProto.Dimension() for _ in range(rank)]))
    return made


# -- one thing wrong: each gives a model, or None where there is no place for it --

def other_type(model, rng):
    values = [v for v in model.graph.input if v.type.HasField("tensor_type")]
    if not values:
        return None
    value = values[int(rng.integers(len(values)))]
    value.type.tensor_type.elem_type = TensorProto.BOOL if value.type.tensor_type.elem_type != TensorProto.BOOL else TensorProto.DOUBLE
    return model


def output_type(model, rng):
    value = model.graph.output[int(rng.integers(len(model.graph.output)))].type.tensor_type
    value.elem_type = TensorProto.INT16 if value.elem_type != TensorProto.INT16 else TensorProto.FLOAT
    return model


def input_missing(model, rng):
    node = model.graph.node[0]
    if not node.input:
        return None
    del node.input[0]
    return model


def input_empty(model, rng):
    node = model.graph.node[0]
    if not node.input:
        return None
    node.input[0] = ""
    return model


def input_unknown(model, rng):
    node = model.graph.node[0]
    if not node.input:
        return None
    node.input[0] = "nowhere"
    return model


def inputs_too_many(model, rng):
    node = model.graph.node[0]
    node.input.extend([node.input[0] if node.input else "x"] * 20)
    return model


def outputs_too_many(model, rng):
    model.graph.node[0].output.extend([f"extra{k}" for k in range(9)])
    return model


def attribute_unknown(model, rng):
    model.graph.node[0].attribute.append(helper.make_attribute("no_such_attribute", 1))
    return model


def attribute_type(model, rng):
    node = model.graph.node[0]
    if not node.attribute:
        return None
    k = int(rng.integers(len(node.attribute)))
    name, kind = node.attribute[k].name, node.attribute[k].type
    node.attribute[k].CopyFrom(helper.make_attribute(name, "text" if kind != onnx.AttributeProto.STRING else 3))
    return model


def attribute_twice(model, rng):
    node = model.graph.node[0]
    if not node.attribute:
        return None
    node.attribute.append(node.attribute[0])
    return model


def axis_outside(model, rng):
    for attribute in model.graph.node[0].attribute:
        if attribute.name == "axis":
            attribute.i = 77
            return model
    return None


def dim_negative(model, rng):
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        if dims and dims[0].HasField("dim_value"):
            dims[0].dim_value = -3
            return model
    return None


def rank_other(model, rng):
    for value in model.graph.input:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.shape.dim.extend(onnx.TensorShapeProto.Dimension(dim_value=3) for _ in range(3))
            return model
    return None


def output_rank(model, rng):
    value = model.graph.output[0].type.tensor_type
    value.shape.CopyFrom(onnx.TensorShapeProto(dim=[onnx.TensorShapeProto.Dimension(dim_value=7)] * 9))
    return model


def operator_unknown(model, rng):
    model.graph.node[0].op_type += "X"
    return model


def opset_before(model, rng):
    since = onnx.defs.get_schema(model.graph.node[0].op_type, model.opset_import[0].version).since_version
    first = min(s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.domain == "" and s.name == model.graph.node[0].op_type)
    if first <= 7 or since != first:
        return None
    model.opset_import[0].version = first - 1
    return model


def output_twice(model, rng):
    model.graph.node.append(model.graph.node[0])
    return model


def initializer_short(model, rng):
    for tensor in model.graph.initializer:
        if len(tensor.raw_data) > 1:
            tensor.raw_data = tensor.raw_data[:-1]
            return model
    return None


MUTATIONS = (other_type, output_type, input_missing, input_empty, input_unknown, inputs_too_many, outputs_too_many, attribute_unknown, attribute_type, attribute_twice, axis_outside,
             dim_negative, rank_other, output_rank, operator_unknown, opset_before, output_twice, initializer_short)


def mutants(cases, count, seed):
    """(name, what is wrong, model); `cases` are (case, its outputs)."""
    rng, made = np.random.default_rng(seed), []
    order = rng.permutation(len(cases))
    for n in range(10 * count):
        (case, outputs), change = cases[order[n % len(order)]], MUTATIONS[n % len(MUTATIONS)]
        model = change(ranked(case.model, outputs), rng)
        if model is not None:
            made.append((case.name, change.__name__, model))
        if len(made) == count:
            break
    return made


# -- by hand: what asks for more than there is, and what does not end --

def model_of(nodes, inputs=(), outputs=(("y", TensorProto.FLOAT),), initializers=(), opset=21, functions=(), domains=(), rank=1):
    graph = helper.make_graph(list(nodes), "g", [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs], [helper.make_tensor_value_info(n, t, None) for n, t in outputs],
                              [onnx.numpy_helper.from_array(np.array(v), n) for n, v in initializers])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)], ir_version=10, functions=list(functions))
    return ranked(made, [np.zeros([1] * rank)])


def deep_if(depth):
    body = helper.make_graph([helper.make_node("Identity", ["x"], ["b0"])], "b", [], [helper.make_tensor_value_info("b0", 1, None)])
    for k in range(1, depth + 1):
        body = helper.make_graph([helper.make_node("If", ["c"], [f"b{k}"], then_branch=body, else_branch=body if k < 3 else helper.make_graph(
            [helper.make_node("Identity", ["x"], [f"e{k}"])], "e", [], [helper.make_tensor_value_info(f"e{k}", 1, None)]))], "b", [], [helper.make_tensor_value_info(f"b{k}", 1, None)])
    return model_of([helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)], [("c", TensorProto.BOOL, []), ("x", 1, [2])])


def loop_of(body_inputs, body_outputs):
    body = helper.make_graph([helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Identity", ["v"], ["w"])], "b",
                             [helper.make_tensor_value_info(n, t, s) for n, t, s in body_inputs], [helper.make_tensor_value_info(n, t, None) for n, t in body_outputs])
    return model_of([helper.make_node("Loop", ["m", "", "x"], ["y"], body=body)], [("x", 1, [2])], initializers=[("m", np.int64(3))])


def by_hand():
    huge = np.array([LIMIT, LIMIT // 4], np.int64)
    plenty = np.array([1 << 20, 1 << 20], np.int64)
    recursive = [helper.make_function("f", name, ["a"], ["b"], [helper.make_node(inner, ["a"], ["b"], domain="f")], [helper.make_opsetid("", 21), helper.make_opsetid("f", 1)])
                 for name, inner in (("P", "Q"), ("Q", "P"))]
    counter, going, carried = ("i", TensorProto.INT64, []), ("c", TensorProto.BOOL, []), ("v", 1, [2])
    return [
        ("ConstantOfShape of 2^78 elements", model_of([helper.make_node("ConstantOfShape", ["s"], ["y"])], initializers=[("s", huge)], rank=2)),
        ("ConstantOfShape of 2^40 elements", model_of([helper.make_node("ConstantOfShape", ["s"], ["y"])], initializers=[("s", plenty)], rank=2)),
        ("ConstantOfShape of a negative dim", model_of([helper.make_node("ConstantOfShape", ["s"], ["y"])], initializers=[("s", np.array([-2], np.int64))])),
        ("Expand to 2^40 elements", model_of([helper.make_node("Expand", ["x", "s"], ["y"])], [("x", 1, [1])], initializers=[("s", plenty)], rank=2)),
        ("Expand to 2^78 elements", model_of([helper.make_node("Expand", ["x", "s"], ["y"])], [("x", 1, [1])], initializers=[("s", huge)], rank=2)),
        ("Expand to a negative dim", model_of([helper.make_node("Expand", ["x", "s"], ["y"])], [("x", 1, [1])], initializers=[("s", np.array([-1], np.int64))])),
        ("Tile to 2^40 elements", model_of([helper.make_node("Tile", ["x", "s"], ["y"])], [("x", 1, [1, 1])], initializers=[("s", plenty)], rank=2)),
        ("Tile to 2^78 elements", model_of([helper.make_node("Tile", ["x", "s"], ["y"])], [("x", 1, [1, 1])], initializers=[("s", huge)], rank=2)),
        ("Tile by a negative count", model_of([helper.make_node("Tile", ["x", "s"], ["y"])], [("x", 1, [1])], initializers=[("s", np.array([-1], np.int64))])),
        ("Range of 2^62 numbers", model_of([helper.make_node("Range", ["a", "b", "d"], ["y"])], outputs=[("y", TensorProto.INT64)],
                                           initializers=[("a", np.int64(0)), ("b", np.int64(1 << 62)), ("d", np.int64(1))])),
        ("Range of steps of 0", model_of([helper.make_node("Range", ["a", "b", "d"], ["y"])], outputs=[("y", TensorProto.INT64)],
                                         initializers=[("a", np.int64(0)), ("b", np.int64(5)), ("d", np.int64(0))])),
        ("an input of 2^80 elements", model_of([helper.make_node("Abs", ["x"], ["y"])], [("x", 1, [LIMIT, LIMIT])], rank=2)),
        ("Pad by 2^40", model_of([helper.make_node("Pad", ["x", "p"], ["y"])], [("x", 1, [1])], initializers=[("p", np.array([LIMIT, 0], np.int64))])),
        ("Reshape to other elements", model_of([helper.make_node("Reshape", ["x", "s"], ["y"])], [("x", 1, [3])], initializers=[("s", np.array([2, 2], np.int64))])),
        ("functions that call each other", model_of([helper.make_node("P", ["x"], ["y"], domain="f")], [("x", 1, [2])], functions=recursive, domains=["f"])),
        ("nodes in a circle", model_of([helper.make_node("Add", ["x", "y"], ["z"]), helper.make_node("Abs", ["z"], ["y"])], [("x", 1, [2])])),
        ("If 28 deep", deep_if(28)),
        ("a Loop body of two inputs", loop_of([counter, going], [("d", TensorProto.BOOL)])),
        ("a Loop body without its condition", loop_of([counter, going, carried], [("w", 1)])),
        ("a Loop body of four inputs", loop_of([counter, going, carried, ("u", 1, [2])], [("d", TensorProto.BOOL), ("w", 1)])),
    ]


# -- where onnx.checker and npuc differ: (what, who refuses) -> why --

HUGE = "onnx.checker counts no bytes; npuc names the tensor and the limit (--max-memory)"
DISAGREEMENTS = {
    **{(what, "npuc alone refuses"): HUGE for what in (
        "ConstantOfShape of 2^40 elements", "ConstantOfShape of 2^78 elements", "Expand to 2^40 elements", "Expand to 2^78 elements", "Tile to 2^40 elements", "Tile to 2^78 elements",
        "Pad by 2^40", "Range of 2^62 numbers", "an input of 2^80 elements")},
    ("Expand to a negative dim", "npuc alone refuses"): "the result has no shape; onnx.checker does not look at the numbers",
    ("Range of steps of 0", "npuc alone refuses"): "it has no end; onnx.checker does not look at the numbers",
    ("If 28 deep", "npuc alone refuses"): "messages are read to a depth of 64, so that no file can exhaust the stack (NPUC-E0201); protobuf's own limit is 100",
    ("axis_outside", "npuc alone refuses"): "an axis beyond the rank; onnx.checker infers no axis of QuantizeLinear",
    ("dim_negative", "npuc alone refuses"): "the other operands contradict an unknown dim's place; onnx.checker infers less for this operator",
    ("dim_negative", "checker alone refuses"): "a dim below 0 is an unknown dim in npuc, as in many exporters' files; onnx.checker compares the number where another shape names one",
    ("rank_other", "npuc alone refuses"): "operands that no longer fit; onnx.checker does not multiply them out, npuc does when it runs",
    ("output_rank", "npuc alone refuses"): "9 axes declared; npuc holds 8 (NPUC-E0305)",
    ("other_type", "npuc alone refuses"): "an operand of a type that the operator does not take; onnx.checker infers nothing from an omitted one",
    ("attribute_unknown", "checker alone refuses"): "npuc reads what it needs of an operator on sequences",
    ("attribute_type", "checker alone refuses"): "npuc reads what it needs of an operator on sequences",
    ("attribute_twice", "checker alone refuses"): "npuc reads what it needs of an operator on sequences",
    ("other_type", "checker alone refuses"): "npuc takes every type for an operator that newer versions take it for, and lists of mixed types",
    ("inputs_too_many", "checker alone refuses"): "If and operators on sequences: what stands behind the known inputs is not read",
    ("opset_before", "checker alone refuses"): "an operator newer than the file's opset is read with its first meaning: exporters and hand-made files write that",
    ("input_missing", "npuc alone refuses"): "fewer operands than the operator's meaning needs; onnx.checker knows the least count alone",
}
