# SPDX-License-Identifier: Apache-2.0
"""Families that add products: matrices, attention, recurrent networks; and graphs inside nodes, sequences."""

import numpy as np
from onnx import helper

from .core import NO_CASES, Unfit, dtype_number, family, finish, is_integer, tensor_proto, value_info


@family("MatMul")
def matmul(g):
    kind = g.type(0)
    m, k, n = g.pick("m", [1, 2, 5]), g.pick("k", [1, 3, 8, 0]), g.pick("n", [1, 4])
    form = g.pick("form", ["2d", "2d", "vector left", "vector right", "vectors", "stack", "broadcast"])
    shapes = {"2d": ([m, k], [k, n]), "vector left": ([k], [k, n]), "vector right": ([m, k], [k]), "vectors": ([k], [k]),
              "stack": ([2, 3, m, k], [2, 3, k, n]), "broadcast": ([3, m, k], [2, 1, k, n])}[form]
    return g.case([g.tensor(kind, s) for s in shapes], constants=(1,))


@family("MatMulInteger")
def matmul_integer(g):
    m, k, n = g.pick("m", [1, 2, 5]), g.pick("k", [1, 3, 8]), g.pick("n", [1, 4])
    a, b = g.tensor(g.type(0), g.pick("form", [[m, k], [2, m, k]]), -128, 255), g.tensor(g.type(1), [k, n], -128, 255)
    a_zero = g.tensor(a.dtype, [], -5, 9) if g.chance("a zero") else None
    b_zero = g.tensor(b.dtype, g.pick("b shape", [[], [n]]), -5, 9) if g.chance("b zero") else None
    return g.case([a, b, a_zero, b_zero], constants=(1, 3))


@family("QLinearMatMul")
def qlinear_matmul(g):
    a = g.tensor(g.type(0, is_integer), g.pick("form", [[2, 3], [2, 4, 3]]), -128, 255)
    b, y_zero = g.tensor(g.type(3, is_integer), [3, 4], -128, 255), g.tensor(a.dtype, [], -3, 9)
    kind = np.dtype(np.float32) if g.version < 21 else g.type(1)
    def scale(base):
        return np.array(base * g.pick("scale", [1, 1.25]), kind)
    return g.case([a, scale(0.125), g.tensor(a.dtype, [], -5, 9), b, scale(0.0625), g.tensor(b.dtype, [], -5, 9), scale(2), y_zero],
                  constants=("always", 1, 2, 4, 5, 6, 7))


@family("Gemm")
def gemm(g):
    kind = g.type(0)
    m, k, n = g.pick("m", [1, 2, 5]), g.pick("k", [1, 3, 8]), g.pick("n", [1, 4])
    ta, tb = g.pick("transA", [None, 0, 1]), g.pick("transB", [None, 0, 1])
    c = g.pick("c", [None, [m, n], [n], [m, 1], [1, n], [], [1]])
    if c is None and g.version < 11:
        c = [n]
    alpha, beta = (g.pick("alpha", [None, 0.5]), g.pick("beta", [None, 0.25])) if not is_integer(kind) else (None, None)
    return g.case([g.tensor(kind, [k, m] if ta else [m, k]), g.tensor(kind, [n, k] if tb else [k, n]), None if c is None else g.tensor(kind, c)],
                  constants=(1, 2), transA=ta, transB=tb, alpha=alpha, beta=beta)


@family("Einsum")
def einsum(g):
    kind = g.type(0)
    equation, shapes = g.pick("equation", [
        ("ij,jk->ik", ([2, 3], [3, 4])), ("ij,jk", ([2, 3], [3, 4])), ("bij,bjk->bik", ([2, 2, 3], [2, 3, 2])), ("ii->i", ([3, 3],)), ("ii", ([3, 3],)),
        ("ij->ji", ([2, 3],)), ("ij->", ([2, 3],)), ("i,j->ij", ([2], [3])), ("...ij,...jk->...ik", ([2, 2, 3], [2, 3, 4])), ("bhqd,bhkd->bhqk", ([1, 2, 3, 2], [1, 2, 4, 2])),
        ("ij,ij->i", ([2, 3], [2, 3])), ("i,i,i->", ([3], [3], [3])), ("ij, jk -> ik", ([2, 3], [3, 1])), ("...i->...", ([2, 3, 4],)), ("ijk->kij", ([2, 3, 2],)),
        ("aij,k->jk", ([2, 2, 3], [2])), ("iij->j", ([2, 2, 3],))])
    return g.case([g.tensor(kind, s) for s in shapes], constants=(1,), equation=equation)


@family("SwiGLU")
def swiglu(g):
    kind, shape = g.type(0), g.shape()
    return g.case([g.tensor(kind, shape), g.tensor(kind, shape)], **g.maybe(alpha=[None, 0.5, 2.0]))


@family("Attention")
def attention(g):
    kind, batch, q_len, kv_len, size = g.type(0), 2, g.pick("q", [1, 3]), g.pick("kv", [2, 4]), 4
    heads, kv_heads = g.pick("heads", [(2, 2), (4, 2), (2, 1)])
    flat = g.chance("3d")
    past_len = g.pick("past", [0, 0, 3])
    def operand(n, length):
        return g.tensor(kind, [batch, length, n * size] if flat else [batch, n, length, size], -2, 2)
    past = [g.tensor(kind, [batch, kv_heads, past_len, size]) for _ in range(2)] if past_len else [None, None]
    total = past_len + kv_len
    mask_kind = g.pick("mask", [None, "bool", "float", "float 4d"])
    mask_shape = [batch, 1, q_len, total] if mask_kind == "float 4d" else [q_len, total]
    mask = None if mask_kind is None else np.ones(mask_shape, np.bool_) if mask_kind == "bool" else g.tensor(kind, mask_shape, -2, 2)
    if mask_kind == "bool":
        mask[:, 1:] = g.rng.random(mask[:, 1:].shape) < 0.6
    outputs = [True, True, True] if past_len else [True]
    more = {"qk_matmul_output_mode": None}
    if g.chance("qk output", 4) and g.version >= 23:
        outputs = (outputs + [False] * 3)[:3] + [True]
        more["qk_matmul_output_mode"] = g.pick("qk mode", [None, 0, 1, 2, 3])
    if flat:
        more |= {"q_num_heads": heads, "kv_num_heads": kv_heads}
    if kind == np.float64 and len(outputs) == 4:
        raise Unfit  # the reference evaluator's modes are one off where there is a softcap, and ONNX Runtime keeps constants of float32
    return g.case([operand(heads, q_len), operand(kv_heads, kv_len), operand(kv_heads, kv_len), mask, *past], outputs=outputs, is_causal=g.pick("causal", [None, 0, 1]),
                  **g.maybe(scale=[None, 0.25], softcap=[None, 2.0]), **more)


@family("RotaryEmbedding")
def rotary(g):
    kind, interleaved, heads = g.type(0), g.pick("interleaved", [None, 0, 1]), 2
    flat, partial = g.chance("3d"), g.pick("partial", [None, 4])
    size, length = 6 if partial else 4, 3
    half = (partial or size) // 2
    x = g.tensor(kind, [2, length, heads * size] if flat else [2, heads, length, size])
    angles = g.rng.random([5, half] if g.pick("ids", [1, 0]) else [2, length, half])
    ids = None if angles.ndim == 3 else g.rng.integers(0, 5, [2, length]).astype(np.int64)
    return g.case([x, np.cos(angles).astype(kind), np.sin(angles).astype(kind), ids], interleaved=interleaved, rotary_embedding_dim=partial,
                  num_heads=heads if flat else None)


@family("LinearAttention")
def linear_attention(g):
    kind, batch, length, size = g.type(0), 2, g.pick("length", [1, 4]), 3
    rule = g.pick("rule", [None, "linear", "gated", "delta", "gated_delta"])
    heads, kv = g.pick("heads", [(2, 2), (4, 2)])
    def operand(n, low=-1):
        return g.tensor(kind, [batch, length, n * size], low, 1)
    decay = g.tensor(kind, [batch, length, kv * g.pick("decay size", [1, size])], -1, 0) if rule in (None, "gated", "gated_delta") else None
    beta = g.tensor(kind, [batch, length, kv], 0, 1) if rule in (None, "delta", "gated_delta") else None
    state_kind = g.type(3)
    state = g.tensor(state_kind, [batch, kv, size, size], -1, 1) if g.chance("state") else None
    return g.case([operand(heads), operand(kv), operand(kv), state, decay, beta], outputs=2, out_types=[None, state_kind if state is not None else kind],
                  q_num_heads=heads, kv_num_heads=kv, update_rule=rule, **g.maybe(scale=[None, 0.5], chunk_size=[None, 2]))


@family("CausalConvWithState")
def causal_conv(g):
    kind, k, channels, length = g.type(0), g.pick("kernel", [1, 2, 4]), 3, g.pick("length", [1, 5])
    x, w = g.tensor(kind, [2, channels, length]), g.tensor(kind, [channels, 1, k])
    bias = g.tensor(kind, [channels]) if g.chance("bias") else None
    state = g.tensor(kind, [2, channels, k - 1]) if g.chance("state") else None
    return g.case([x, w, bias, state], outputs=2, constants=(1, 2), activation=g.pick("activation", [None, "none", "silu", "swish"]))


@family("RNN", "GRU", "LSTM")
def recurrent(g):
    kind, hidden, size, length, batch = g.type(0), g.pick("hidden", [1, 3]), 2, g.pick("length", [1, 4]), g.pick("batch", [1, 2])
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[g.op]
    direction = g.pick("direction", [None, "forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    layout = g.pick("layout", [None, 0, 1]) if g.version >= 14 else None
    x = g.tensor(kind, [batch, length, size] if layout else [length, batch, size], -1, 1)
    w, r = g.tensor(kind, [ways, gates * hidden, size], -1, 1), g.tensor(kind, [ways, gates * hidden, hidden], -1, 1)
    bias = g.tensor(kind, [ways, 2 * gates * hidden], -1, 1) if g.chance("bias") else None
    lengths = g.rng.integers(1, length + 1, [batch]).astype(np.int32) if g.chance("lengths", 3) else None
    state = [batch, ways, hidden] if layout else [ways, batch, hidden]
    first = g.tensor(kind, state, -1, 1) if g.chance("state") else None
    more = {}
    arguments = [x, w, r, bias, lengths, first]
    if g.op == "GRU":
        more["linear_before_reset"] = g.pick("before", [None, 0, 1])
    if g.op == "LSTM":
        arguments.append(g.tensor(kind, state, -1, 1) if g.chance("cell") else None)
        arguments.append(g.tensor(kind, [ways, 3 * hidden], -1, 1) if g.chance("peephole", 3) else None)
        more["input_forget"] = g.pick("input_forget", [None, 0, 0])
    per = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}[g.op]
    if g.chance("activations", 3):
        per = [g.pick("activation", ["Relu", "Sigmoid", "Tanh", "Softsign", "HardSigmoid"]) for _ in per]
        more["activations"] = per * ways
        if "HardSigmoid" in per:
            more["activations"] = None
    full = [True] * (3 if g.op == "LSTM" else 2)
    outputs = g.pick("outputs", [full, [True], [False, True], full])
    if layout and direction is None and False:
        raise Unfit
    return g.case(arguments, outputs=outputs, constants=("always", 1, 2, 3), hidden_size=hidden, direction=direction, layout=layout,
                  **g.maybe(clip=[None, None, 0.5]), **more)


# -- graphs inside nodes --

def typed(name, dtype, shape=None):
    return helper.make_tensor_value_info(name, dtype_number(dtype), shape)


@family("If")
def branch(g):
    kind = np.dtype(g.pick("kind", ["float32", "int64", "bool"]))
    shape = g.shape(site="then")
    other = g.shape(site="else") if g.chance("unlike") else shape
    x = g.tensor(kind, shape)
    capture = g.chance("capture")
    then = helper.make_graph([helper.make_node("Identity", ["x"], ["t"])] if capture else [helper.make_node("Constant", [], ["t"], value=tensor_proto("", x))], "then", [],
                             [typed("t", kind)])
    alike = helper.make_graph([helper.make_node("Constant", [], ["e"], value=tensor_proto("", g.tensor(kind, other)))], "else", [], [typed("e", kind)])
    condition = np.array(g.pick("condition", [True, False])).reshape(g.pick("condition shape", [(), (1,)]))
    fixed = g.chance("fixed", 3)
    graph = helper.make_graph([helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=alike)], "g",
                              ([] if fixed else [value_info("c", condition)]) + [value_info("x", x)], [typed("y", kind)],
                              [tensor_proto("c", condition)] if fixed else [])
    return finish(g, graph, ([] if fixed else [condition]) + [x], {}, [condition, x])


@family("Loop")
def loop(g):
    kind = np.dtype(g.pick("kind", ["float32", "int64"]))
    x, step = g.tensor(kind, g.shape(most=3)), g.tensor(kind, [])
    turns, start = g.pick("turns", [0, 1, 3, None]), g.pick("start", [True, False, None])
    stop = g.pick("stop", [2, 9])
    if turns is None and start is None and stop > 100:
        raise Unfit
    scans = g.chance("scan")
    body = helper.make_graph(
        [helper.make_node("Add", ["carried", "step"], ["next"]), helper.make_node("Cast", ["i"], ["turn"], to=1), helper.make_node("Less", ["turn", "stop"], ["go"]), helper.make_node("Identity", ["next"], ["seen"])],
        "body", [typed("i", np.int64, []), typed("go_in", np.bool_, []), typed("carried", kind, x.shape)],
        [typed("go", np.bool_), typed("next", kind)] + ([typed("seen", kind)] if scans else []), [tensor_proto("stop", np.array(stop, np.float32))])
    given = [("m", None if turns is None else np.array(turns, np.int64)), ("c", None if start is None else np.array(start)), ("x", x), ("step", step)]
    node = helper.make_node("Loop", [n if a is not None else "" for n, a in given[:3]], ["y"] + (["s"] if scans else []), body=body)
    feed = [(n, a) for n, a in given if a is not None]
    fixed = {"m", "c"} if g.chance("fixed") else set()
    graph = helper.make_graph([node], "g", [value_info(n, a) for n, a in feed if n not in fixed], [typed("y", kind)] + ([typed("s", kind)] if scans else []),
                              [tensor_proto(n, a) for n, a in feed if n in fixed])
    return finish(g, graph, [a for n, a in feed if n not in fixed], {}, [x])


@family("Scan")
def scan(g):
    kind = np.dtype(g.pick("kind", ["float32", "int64"]))
    backwards, out_backwards = g.pick("direction", [None, 0, 1]), g.pick("output direction", [None, 0, 1])
    axis, out_axis = g.pick("axis", [None, 0, 1, -1]), g.pick("output axis", [None, 0, 1, -1])
    if g.version < 9:
        axis = out_axis = None
    if g.version < 11:
        axis, out_axis = (None if a == -1 else a for a in (axis, out_axis))
    element = [2]
    sequence = [3, 2] if axis in (None, 0) else [2, 3]
    body = helper.make_graph([helper.make_node("Add", ["state", "x"], ["next"]), helper.make_node("Mul", ["next", "x"], ["seen"])], "body",
                             [typed("state", kind, element), typed("x", kind, element)], [typed("next", kind, element), typed("seen", kind, element)])
    if g.version < 9:
        start, x = g.tensor(kind, [2, *element]), g.tensor(kind, [2, *sequence])
        lengths = np.array([2, 3], np.int64) if g.chance("lengths") else None
        node = helper.make_node("Scan", ["" if lengths is None else "l", "s", "x"], ["f", "y"], body=body, num_scan_inputs=1, directions=None if backwards is None else [backwards])
        feed = ([] if lengths is None else [("l", lengths)]) + [("s", start), ("x", x)]
    else:
        start, x = g.tensor(kind, element), g.tensor(kind, sequence)
        more = {"scan_input_directions": backwards, "scan_output_directions": out_backwards, "scan_input_axes": axis, "scan_output_axes": out_axis}
        node = helper.make_node("Scan", ["s", "x"], ["f", "y"], body=body, num_scan_inputs=1, **{k: [v] for k, v in more.items() if v is not None})
        feed = [("s", start), ("x", x)]
    graph = helper.make_graph([node], "g", [value_info(n, a) for n, a in feed], [typed("f", kind), typed("y", kind)])
    return finish(g, graph, [a for _, a in feed], {}, [start, x])


# -- sequences and optionals: inside the graph, tensors at its ends --

def small_graph(g, nodes, feed, outputs):
    graph = helper.make_graph(nodes, "g", [value_info(n, a) for n, a in feed], outputs)
    return finish(g, graph, [a for _, a in feed], {}, [a for _, a in feed])


def const(name, value, kind=np.int64):
    return helper.make_node("Constant", [], [name], value=tensor_proto("", np.array(value, kind)))


@family("SequenceConstruct", "SequenceAt", "SequenceErase", "SequenceInsert", "SequenceLength", "SequenceEmpty")
def sequence(g):
    kind = np.dtype(g.pick("kind", ["float32", "int64", "float16"]))
    feed = [(n, g.tensor(kind, g.shape(most=2, site=n))) for n in "abc"]
    nodes = [helper.make_node("SequenceConstruct", list("abc"), ["s"])]
    last, length = "s", 3
    at = g.pick("place", [0, 1, -1])
    if g.op == "SequenceErase":
        nodes += [const("p", at), helper.make_node("SequenceErase", ["s", *(["p"] if g.chance("at") else [])], ["t"])]
        last, length = "t", 2
    if g.op == "SequenceInsert":
        nodes += [const("p", at), helper.make_node("SequenceInsert", ["s", "b", *(["p"] if g.chance("at") else [])], ["t"])]
        last, length = "t", 4
    if g.op == "SequenceEmpty":
        nodes = [helper.make_node("SequenceEmpty", [], ["e"], dtype=dtype_number(kind)), helper.make_node("SequenceInsert", ["e", "c"], ["t"])]
        last, length, feed = "t", 1, feed[2:]
    nodes += [helper.make_node("SequenceLength", [last], ["n"]), const("k", g.pick("which", [0, -1])), helper.make_node("SequenceAt", [last, "k"], ["y"])]
    return small_graph(g, nodes, feed, [typed("y", kind), typed("n", np.int64)]) if length else None


@family("SplitToSequence", "ConcatFromSequence")
def split_to_sequence(g):
    kind = np.dtype(g.pick("kind", ["float32", "int32"]))
    x = g.tensor(kind, [4, 6])
    axis = g.pick("axis", [0, 1, -1])
    length = x.shape[axis]
    split = g.pick("split", [None, "scalar", "list"])
    nodes = [] if split is None else [const("p", 2 if split == "scalar" else [1, length - 1])]
    keep = g.pick("keepdims", [None, 0, 1]) if split is None else None
    more = {"keepdims": keep} if keep is not None else {}
    nodes += [helper.make_node("SplitToSequence", ["x"] + ([] if split is None else ["p"]), ["s"], axis=axis, **more), helper.make_node("SequenceLength", ["s"], ["n"]),
              const("k", g.pick("which", [0, 1, -1])), helper.make_node("SequenceAt", ["s", "k"], ["y"])]
    new = g.pick("new_axis", [None, 0, 1])
    if new == 1 and split == "list":
        new = 0
    at = g.pick("concat axis", [0, -1])
    if not new and split == "list":
        at = axis
    if not new and keep == 0:
        at = 0
    nodes.append(helper.make_node("ConcatFromSequence", ["s"], ["z"], axis=at, **({} if new is None else {"new_axis": new})))
    return small_graph(g, nodes, [("x", x)], [typed("y", kind), typed("n", np.int64), typed("z", kind)])


@family("SequenceMap")
def sequence_map(g):
    kind = np.dtype("float32")
    feed = [(n, g.tensor(kind, g.shape(most=2, site=n))) for n in "ab"]
    body = helper.make_graph([helper.make_node(g.pick("body", ["Neg", "Abs", "Exp"]), ["e"], ["f"])], "body", [typed("e", kind)], [typed("f", kind)])
    nodes = [helper.make_node("SequenceConstruct", ["a", "b"], ["s"]), helper.make_node("SequenceMap", ["s"], ["t"], body=body), const("k", g.pick("which", [0, 1])),
             helper.make_node("SequenceAt", ["t", "k"], ["y"])]
    return small_graph(g, nodes, feed, [typed("y", kind)])


@family("Optional", "OptionalGetElement", "OptionalHasElement")
def optional(g):
    kind = np.dtype(g.pick("kind", ["float32", "int64"]))
    x = g.tensor(kind, g.shape())
    nodes = [helper.make_node("Optional", ["x"], ["o"]), helper.make_node("OptionalGetElement", ["o"], ["y"]), helper.make_node("OptionalHasElement", ["o"], ["h"])]
    return small_graph(g, nodes, [("x", x)], [typed("y", kind), typed("h", np.bool_)])


for _op in ("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Bernoulli", "Multinomial"):
    NO_CASES[_op] = "the specification leaves the generator open; tests/unit/eval/random_test.c holds type, shape and distribution"
for _op in ("StringConcat", "StringSplit", "StringNormalizer", "RegexFullMatch"):
    NO_CASES[_op] = "the grid compares numbers; the recorded cases of tests/conformance hold strings"
NO_CASES["ImageDecoder"] = "decodes image files; not supported (NPUC-E0421)"

