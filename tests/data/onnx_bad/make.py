# SPDX-License-Identifier: Apache-2.0
"""Models that must be refused or warned about, each with one fault; and `all_forms.onnx`, valid, which has every way of storing a tensor: python make.py"""

import pathlib

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

HERE = pathlib.Path(__file__).parent
X = h.make_tensor_value_info("x", T.FLOAT, ["N", 4])
Y = h.make_tensor_value_info("y", T.FLOAT, ["N", 4])


def write(name, nodes, inputs=(X,), outputs=(Y,), weights=(), opset=18, ir=8, functions=(), **more):
    graph = h.make_graph(list(nodes), "bad", list(inputs), list(outputs), list(weights), **more)
    imports = [h.make_opsetid("", opset)] + [h.make_opsetid(d, 1) for d in {n.domain for n in nodes} if d]
    model = h.make_model(graph, opset_imports=imports, ir_version=ir, functions=list(functions))
    (HERE / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))


def external(name, location, offset=None, length=None):
    t = T(name=name, data_type=T.FLOAT, dims=[4], data_location=T.EXTERNAL)
    entries = {"location": location, "offset": offset, "length": length}
    for key, text in entries.items():
        if text is not None:
            t.external_data.add(key=key, value=str(text))
    return t


relu = h.make_node("Relu", ["x"], ["y"], name="relu")
add_w = h.make_node("Add", ["x", "w"], ["y"], name="add")
write("unknown_operator", [h.make_node("Rellu", ["x"], ["y"], name="act")])
write("unknown_domain", [h.make_node("Gelu", ["x"], ["y"], name="act", domain="com.example")])
write("foreign_form", [h.make_node("FusedMatMul", ["x", "x"], ["y"], name="product", domain="com.microsoft", transBatchA=1)])
write("foreign_attribute", [h.make_node("FastGelu", ["x"], ["y"], name="act", domain="com.microsoft", alpha=0.5)])
write("foreign_operator", [h.make_node("WordConvEmbedding", ["x"], ["y"], name="embed", domain="com.microsoft")])
write("learning_operator", [h.make_node("Normalizer", ["x"], ["y"], name="norm", domain="ai.onnx.ml", norm="L2")])
write("training_operator", [h.make_node("Adam", ["x", "x", "x", "x"], ["y"], name="step", domain="ai.onnx.preview.training")])
unnamed = h.make_model(h.make_graph([h.make_node("Relu", ["x"], ["y"], name="act")], "bad", [X], [Y]), opset_imports=[h.make_opsetid("com.microsoft", 1)], ir_version=8)
(HERE / "opset_unnamed.onnx").write_bytes(unnamed.SerializeToString(deterministic=True))
write("unknown_attribute", [h.make_node("LeakyRelu", ["x"], ["y"], name="act", alhpa=0.1)])
node = h.make_node("LeakyRelu", ["x"], ["y"], name="act", alpha=0.5)
node.attribute.append(h.make_attribute("alpha", 0.25))
write("attribute_twice", [node])
write("wrong_kind", [h.make_node("LeakyRelu", ["x"], ["y"], name="act", alpha=1)])
write("cycle", [h.make_node("Add", ["x", "b"], ["a"], name="one"), h.make_node("Relu", ["a"], ["b"], name="two"), h.make_node("Relu", ["b"], ["y"], name="three")])
write("undefined_input", [h.make_node("Relu", ["xx"], ["y"], name="relu")])
write("undefined_output", [relu], outputs=[h.make_tensor_value_info("yy", T.FLOAT, ["N", 4])])
write("assigned_twice", [relu, h.make_node("Sigmoid", ["x"], ["y"], name="again")])
write("no_outputs", [relu], outputs=[])
write("opset_0", [relu], opset=0)
write("opset_29", [relu], opset=29)
write("ir_2", [relu], ir=2)
write("ir_99", [relu], ir=99)
B = h.make_tensor_value_info("b", T.FLOAT, ["N", 4])
branch = h.make_graph([h.make_node("Relu", ["x"], ["b"])], "branch", [], [B])
cond = h.make_tensor_value_info("c", T.BOOL, [])
count = h.make_tensor_value_info("m", T.INT64, [])


def choose(then, other=branch):
    return h.make_node("If", ["c"], ["y"], name="choice", then_branch=then, else_branch=other)


def body(nodes, inputs=(), outputs=(B,), weights=()):
    return h.make_graph(list(nodes), "body", list(inputs), list(outputs), list(weights))


write("subgraph", [h.make_node("Choose", ["x"], ["y"], name="choice", domain="com.example", branch=branch)])
write("body_outputs", [choose(body([h.make_node("Relu", ["x"], ["b"])], outputs=[B, X]))], inputs=[X, cond])
node = choose(body([h.make_node("Relu", ["x"], ["b"])]))
node.attribute.append(h.make_attribute("then_branch", body([h.make_node("Exp", ["x"], ["b"])])))
write("body_twice", [node], inputs=[X, cond])
write("body_hides", [h.make_node("Exp", ["x"], ["t"]), choose(body([h.make_node("Relu", ["x"], ["t"], name="inner"), h.make_node("Exp", ["t"], ["b"])]))], inputs=[X, cond])
write("body_undefined", [choose(body([h.make_node("Add", ["x", "xx"], ["b"], name="inner")]))], inputs=[X, cond])
write("body_cycle", [choose(body([h.make_node("Relu", ["z"], ["b"])])), h.make_node("Exp", ["y"], ["z"], name="after")], inputs=[X, cond])
write("body_type", [choose(body([h.make_node("Cast", ["x"], ["b"], to=T.INT64)], outputs=[h.make_tensor_value_info("b", T.INT64, ["N", 4])]))], inputs=[X, cond])
deep = branch
for i in range(26):
    v = h.make_tensor_value_info(f"b{i}", T.FLOAT, ["N", 4])
    deep = h.make_graph([h.make_node("If", ["c"], [f"b{i}"], then_branch=deep, else_branch=branch)], "deep", [], [v])
write("body_deep", [choose(deep)], inputs=[X, cond])
flag = h.make_tensor_value_info("go", T.BOOL, [])
turn = body([h.make_node("Identity", ["go"], ["on"]), h.make_node("Relu", ["v"], ["b"])], [count, flag, h.make_tensor_value_info("v", T.FLOAT, ["N", 4])], [h.make_tensor_value_info("on", T.BOOL, []), B])
write("loop_inputs", [h.make_node("Loop", ["m", "", "x", "x"], ["y"], name="loop", body=turn)], inputs=[X, count])
slices = body([h.make_node("Add", ["p", "q"], ["b"])], [h.make_tensor_value_info(n, T.FLOAT, [4]) for n in "pq"], [h.make_tensor_value_info("b", T.FLOAT, [4])])
write("scan_lengths", [h.make_node("Scan", ["u", "w"], ["y"], name="scan", body=slices, num_scan_inputs=2)], inputs=[h.make_tensor_value_info(n, T.FLOAT, [k, 4]) for n, k in (("u", 3), ("w", 5))])
write("scan_count", [h.make_node("Scan", ["x"], ["y"], name="scan", body=slices, num_scan_inputs=2)])
position = T(name="p", data_type=T.INT64, dims=[], int64_data=[3])
construct = h.make_node("SequenceConstruct", ["x", "x"], ["s"], name="list")
write("sequence_position", [construct, h.make_node("SequenceAt", ["s", "p"], ["y"], name="at")], weights=[position])
write("sequence_whole", [construct, h.make_node("Relu", ["s"], ["y"], name="whole")])
floats = h.make_tensor_sequence_value_info("s", T.FLOAT, None)
write("sequence_mixed", [h.make_node("SequenceInsert", ["s", "m"], ["t"], name="insert"), relu], inputs=[X, count, floats])
write("sequence_of_sequences", [relu], inputs=[X, h.make_value_info("s", h.make_sequence_type_proto(floats.type))])
write("map_input", [relu], inputs=[X, h.make_value_info("s", h.make_map_type_proto(T.INT64, h.make_tensor_type_proto(T.FLOAT, None)))])
write("optional_untyped", [h.make_node("Optional", [], ["o"], name="none"), relu])
text = h.make_tensor_value_info("t", T.STRING, [4])
write("string_arithmetic", [h.make_node("Add", ["t", "t"], ["y"], name="add")], inputs=[text], outputs=[h.make_tensor_value_info("y", T.STRING, [4])])
write("regex_wrong", [h.make_node("RegexFullMatch", ["t"], ["y"], name="match", pattern="(a|b")], inputs=[text], outputs=[h.make_tensor_value_info("y", T.BOOL, [4])], opset=20)
write("external_missing", [add_w], weights=[external("w", "nowhere.bin")])
write("external_above", [add_w], weights=[external("w", "../external.bin")])
write("external_absolute", [add_w], weights=[external("w", "/etc/hostname")])
write("external_hidden_above", [add_w], weights=[external("w", "a/../../external.bin")])
write("external_beyond_end", [add_w], weights=[external("w", "make.py", offset=1 << 40)])
write("external_offset", [add_w], weights=[external("w", "make.py", offset="12x")])
write("external_length", [add_w], weights=[external("w", "make.py", length=15)])
write("external_good", [add_w], weights=[external("w", "weights.bin", offset=4, length=16)])
(HERE / "weights.bin").write_bytes(np.arange(6, dtype=np.float32).tobytes())
write("huge_tensor", [add_w], weights=[T(name="w", data_type=T.FLOAT, dims=[50000, 50000], raw_data=b"\0" * 16)])
write("overflowing_tensor", [add_w], weights=[T(name="w", data_type=T.FLOAT, dims=[1 << 62, 1 << 62], raw_data=b"\0" * 16)])
write("negative_dim", [add_w], weights=[T(name="w", data_type=T.FLOAT, dims=[-4], raw_data=b"\0" * 16)])
write("short_tensor", [add_w], weights=[T(name="w", data_type=T.FLOAT, dims=[4], float_data=[1, 2, 3])])
write("string_raw", [add_w], weights=[T(name="w", data_type=T.STRING, dims=[1], raw_data=b"\0" * 8)])
write("string_count", [add_w], weights=[T(name="w", data_type=T.STRING, dims=[2], string_data=[b"a"])])
write("nan_weights", [add_w], weights=[numpy_helper.from_array(np.float32([1, np.nan, 2, 3]), "w")])
write("batchnorm_training", [h.make_node("BatchNormalization", ["x", "s", "s", "s", "s"], ["y", "m"], name="norm"), h.make_node("Relu", ["m"], ["z"])],
      outputs=[Y, h.make_tensor_value_info("z", T.FLOAT, [4])], weights=[numpy_helper.from_array(np.ones(4, np.float32), "s")], opset=9, ir=4)
annotated = h.make_graph([add_w], "bad", [X], [Y], [numpy_helper.from_array(np.ones(4, np.float32), "w")])
annotated.quantization_annotation.add(tensor_name="w").quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="nothing")
(HERE / "annotation.onnx").write_bytes(h.make_model(annotated, opset_imports=[h.make_opsetid("", 18)], ir_version=8).SerializeToString(deterministic=True))


def call(name, function, inputs=("x",), **attributes):
    return h.make_node(function, list(inputs), ["y"], name=name, domain="com.example", **attributes)


def function(name, nodes, outputs=("b",), **more):
    return h.make_function("com.example", name, ["a"], list(outputs), nodes, [h.make_opsetid("", 18), h.make_opsetid("com.example", 1)], **more)


def step(kind, source, target, **attributes):
    return h.make_node(kind, [source], [target], domain="com.example", **attributes)


twice = function("Twice", [h.make_node("Add", ["a", "a"], ["b"])])
write("function_recursion", [call("f", "Even")], functions=[function("Even", [step("Odd", "a", "b")]), function("Odd", [step("Even", "a", "b")])])
chain = [function(f"F{i}", [step(f"F{i + 1}", "a", "b")]) for i in range(80)]
write("function_depth", [call("f", "F0")], functions=chain + [function("F80", twice.node)])
double = [function(f"F{i}", [step(f"F{i + 1}", "a", "t"), step(f"F{i + 1}", "t", "b")]) for i in range(40)]
write("function_doubling", [call("f", "F0")], functions=double + [function("F40", twice.node)])
write("function_inputs", [call("f", "Twice", ["x", "x"])], functions=[twice])
write("function_attribute", [call("f", "Twice", factr=2)], functions=[twice])
write("function_output", [call("f", "Twice")], functions=[function("Twice", twice.node, ["c"])])
write("function_undefined", [call("f", "Twice")], functions=[function("Twice", [h.make_node("Add", ["a", "x"], ["b"])])])
write("function_opset", [call("f", "Twice")], functions=[h.make_function("com.example", "Twice", ["a"], ["b"], twice.node, [h.make_opsetid("", 29)])])
stray = h.make_node("LeakyRelu", ["a"], ["b"])
stray.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
write("function_reference", [call("f", "Leaky")], functions=[function("Leaky", [stray])])
whole = h.make_node("LeakyRelu", ["a"], ["b"])
whole.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
write("function_kind", [call("f", "Leaky", slope=1)], functions=[function("Leaky", [whole], attributes=["slope"])])
write("function_twice", [call("f", "Twice")], functions=[twice, twice])

typed = [
    T(name="f", data_type=T.FLOAT, dims=[2], float_data=[1.5, -2]),
    T(name="d", data_type=T.DOUBLE, dims=[2], double_data=[0.1, 1e300]),
    T(name="i", data_type=T.INT64, dims=[2], int64_data=[-1, 1 << 40]),
    T(name="u", data_type=T.UINT64, dims=[1], uint64_data=[1 << 63]),
    T(name="u4", data_type=T.UINT32, dims=[1], uint64_data=[4000000000]),
    T(name="b", data_type=T.INT8, dims=[3], int32_data=[-1, 0, 127]),
    T(name="h", data_type=T.FLOAT16, dims=[2], int32_data=[0x3C00, 0xC000]),
    T(name="t", data_type=T.BOOL, dims=[2], int32_data=[1, 0]),
    T(name="n", data_type=T.INT4, dims=[3], int32_data=[0x7F, 0x08]),
    T(name="e", data_type=T.FLOAT, dims=[0]),
    numpy_helper.from_array(np.float32([[1, 2], [3, 4]]), "raw"),
    numpy_helper.from_array(np.float32([0.5, 0.25]), "raw_scale"),
    numpy_helper.from_array(np.int8([0, 0]), "raw_zero"),
]
nodes = [h.make_node("Identity", [t.name], [t.name + "_out"], name="id_" + t.name) for t in typed[:11]]
nodes += [
    h.make_node("Constant", [], ["c0"], value_float=0.5),
    h.make_node("Constant", [], ["c1"], value_floats=[1.0, 2.0]),
    h.make_node("Constant", [], ["c2"], value_int=7),
    h.make_node("Constant", [], ["c3"], value_ints=[1, 2, 3]),
    h.make_node("Constant", [], ["c4"], value=numpy_helper.from_array(np.int32([[5]]))),
]
outputs = [h.make_empty_tensor_value_info(n.output[0]) for n in nodes]
graph = h.make_graph(nodes, "forms", [], outputs, typed)
note = graph.quantization_annotation.add(tensor_name="raw")
note.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="raw_scale")
note.quant_parameter_tensor_names.add(key="ZERO_POINT_TENSOR", value="raw_zero")
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 21)], ir_version=10, producer_name="forms")
h.set_model_props(model, {"a": "1", "b": "two"})
(HERE / "all_forms.onnx").write_bytes(model.SerializeToString(deterministic=True))
