#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes infer_cases.txt: single nodes over grids of attributes and shapes, and what ONNX's own shape inference says of them.

One case a line:  OP | name=value ... | input ; input ... | outputs
  input    TYPE:DIMS, or TYPE:DIMS=v,v,... for a constant, or - for an omitted one; DIMS are numbers or symbols
  outputs  TYPE:DIMS ; ... where ? is a dim that ONNX leaves open and * an unknown rank, or the word error
Needs the onnx package (1.23); the C test needs only the file:  python3 infer_cases.py > infer_cases.txt
"""
import itertools
import onnx
from onnx import TensorProto as T, helper

F, I64, I32, U8, I8, B = T.FLOAT, T.INT64, T.INT32, T.UINT8, T.INT8, T.BOOL


def dims_text(dims):
    return ",".join(str(d) for d in dims)


def attribute_text(value):
    if isinstance(value, (list, tuple)):
        return ",".join(str(v) for v in value)
    return str(value)


def fits(attributes, size):
    """Whether floor((padded - span) / stride + 1), or ceil of it, is at least 1 on the first spatial axis."""
    kernel = attributes.get("kernel_shape", [1])[0]
    if isinstance(size, str) or attributes.get("auto_pad", "").startswith("SAME"):
        return True
    pads = attributes.get("pads", [0, 0])
    stride, dilation = attributes.get("strides", [1])[0], attributes.get("dilations", [1])[0]
    room = size + pads[0] + pads[len(pads) // 2] - (dilation * (kernel - 1) + 1)
    return (-(-room // stride) if attributes.get("ceil_mode") else room // stride) + 1 >= 1


def infer(op, attributes, inputs, outputs):
    names, ports, constants = [], [], []
    for k, port in enumerate(inputs):
        if port is None:
            names.append("")
            continue
        name = f"i{k}"
        names.append(name)
        if len(port) == 3:
            constants.append(helper.make_tensor(name, port[0], port[1], port[2]))
        else:
            ports.append(helper.make_tensor_value_info(name, port[0], port[1]))
    while names and names[-1] == "":
        names.pop()
    results = [f"o{k}" for k in range(outputs)]
    attributes = {k: v for k, v in attributes.items()}
    if op == "ConstantOfShape" and "value" in attributes:
        attributes["value"] = helper.make_tensor("v", I64, [1], [attributes["value"]])
    node = helper.make_node(op, names, results, **attributes)
    graph = helper.make_graph([node], "g", ports, [helper.make_empty_tensor_value_info(r) for r in results], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)], ir_version=13)
    try:
        done = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except Exception:
        return "error"
    texts = []
    for value in done.graph.output:
        tensor = value.type.tensor_type
        if not tensor.HasField("shape"):
            texts.append(f"{tensor.elem_type}:*")
            continue
        dims = [d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in tensor.shape.dim]
        dims = ["?" if isinstance(d, str) and d.startswith("unk__") else d for d in dims]
        texts.append(f"{tensor.elem_type}:{dims_text(dims)}")
    # A window that does not fit: ONNX's inference divides a negative number, rounding toward 0. The formula gives less than 1, and npuc refuses it.
    if op in ("Conv", "MaxPool", "AveragePool") and not fits(attributes, inputs[0][1][2]):
        return "error"
    return " ; ".join(texts)


def case(op, attributes, inputs, outputs=1, expect=None):
    ports = []
    for port in inputs:
        if port is None:
            ports.append("-")
        elif len(port) == 3:
            ports.append(f"{port[0]}:{dims_text(port[1])}={dims_text(port[2])}")
        else:
            ports.append(f"{port[0]}:{dims_text(port[1])}")
    text = " ".join(f"{k}={attribute_text(v)}" for k, v in attributes.items())
    print(f"{op} | {text} | {' ; '.join(ports)} | {expect or infer(op, attributes, inputs, outputs)}")


def vector(values, kind=I64):
    return (kind, [len(values)], list(values))


def windows():
    for size, kernel, stride, dilation, ceil in itertools.product([1, 4, 5, 7, "H"], [1, 2, 3], [1, 2, 3], [1, 2], [0, 1]):
        span = dilation * (kernel - 1) + 1
        for pads in [(0, 0), (1, 1), (0, 1), (2, 1)]:
            if max(pads) >= span:
                continue
            shared = dict(kernel_shape=[kernel, 2], strides=[stride, 1], pads=[pads[0], 0, pads[1], 0], dilations=[dilation, 1])
            x = (F, ["N", 3, size, 6])
            op = "MaxPool" if (size, kernel) != (5, 3) else "AveragePool"
            case(op, dict(shared, ceil_mode=ceil), [x])
            if not ceil and dilation == 1:
                case("Conv", shared, [x, (F, [4, 3, kernel, 2])])
        for auto in ["SAME_UPPER", "SAME_LOWER", "VALID"]:
            shared = dict(kernel_shape=[kernel], strides=[stride], dilations=[dilation], auto_pad=auto)
            case("AveragePool", dict(shared, ceil_mode=ceil), [(F, [1, 2, size])])
            if not ceil:
                case("Conv", shared, [(F, [1, 2, size]), (F, [2, 2, kernel])])
    case("Conv", {}, [(F, [1, 4, 5, 5]), (F, [6, 4, 3, 3]), (F, [6])])
    case("Conv", dict(group=2), [(F, [1, 4, 5, 5]), (F, [6, 2, 3, 3])])
    case("Conv", dict(group=4), [(F, ["N", 4, "H", "W"]), (F, [4, 1, 1, 1])])
    case("Conv", {}, [(F, [1, 2, 5, 6, 7]), (F, [6, 2, 3, 3, 3])])
    case("Conv", {}, [(F, [1, 2, 2, 2]), (F, [6, 2, 3, 3])], expect="error")
    case("Conv", {}, [(F, [1, 3, 5, 5]), (F, [6, 2, 3, 3])], expect="error")
    case("Conv", dict(group=4), [(F, [1, 4, 5, 5]), (F, [6, 1, 3, 3])], expect="error")
    case("Conv", dict(kernel_shape=[3, 2]), [(F, [1, 4, 5, 5]), (F, [6, 4, 3, 3])], expect="error")
    case("Conv", dict(strides=[0, 1]), [(F, [1, 4, 5, 5]), (F, [6, 4, 3, 3])], expect="error")
    case("Conv", dict(auto_pad="SAME"), [(F, [1, 4, 5, 5]), (F, [6, 4, 3, 3])], expect="error")
    case("MaxPool", dict(kernel_shape=[2, 2]), [(F, [1, 4, 5, 5])], outputs=2)
    for op in ["GlobalAveragePool", "GlobalMaxPool"]:
        case(op, {}, [(F, ["N", 3, "H", 7])])
        case(op, {}, [(F, [1, 3, 5])])


def products():
    shapes = [[3], [2, 3], [3, 4], [3, 2], [5, 2, 3], [5, 3, 4], [1, 3, 4], [2, 1, 3, 4], ["N", 2, 3], ["N", 3, 4], ["M", 3, 4], [4, 5]]
    for a, b in itertools.product(shapes, shapes):
        case("MatMul", {}, [(F, a), (F, b)])
    for ta, tb in itertools.product([0, 1], [0, 1]):
        a = [3, 5] if ta else [5, 3]
        b = [4, 3] if tb else [3, 4]
        for c in [None, (F, [4]), (F, [1]), (F, []), (F, [5, 1]), (F, [5, 4])]:
            case("Gemm", dict(transA=ta, transB=tb), [(F, a), (F, b), c])
        case("Gemm", dict(transA=ta, transB=tb), [(F, ["N", "N"]), (F, ["N", "N"])])
    case("Gemm", {}, [(F, ["N", 3]), (F, [3, 4])])
    case("Gemm", {}, [(F, [2, 3]), (F, [4, 3])], expect="error")
    case("Gemm", {}, [(F, [2, 3, 1]), (F, [3, 4])], expect="error")
    case("Gemm", {}, [(F, [2, 3]), (F, [3, 4]), (F, [3])], expect="error")


def elementwise():
    shapes = [[], [1], [4], [3, 1], [3, 4], [2, 3, 4], ["N", 4], ["N", 1], [1, "M"], ["N", 3, 1], [0, 4], [5]]
    for a, b in itertools.product(shapes, shapes):
        case("Add", {}, [(F, a), (F, b)])
    for op in ["Sub", "Mul", "Div"]:
        case(op, {}, [(F, ["N", 3, 8, 8]), (F, [3, 1, 1])])
        case(op, {}, [(F, [2, 3]), (F, [3, 2])])
    for op in ["Max", "Min"]:
        case(op, {}, [(F, ["N", 3, 8, 8])])
        case(op, {}, [(F, [8, 1]), (F, [3, 1, 1]), (F, [4])])
    case("Add", {}, [(F, [2]), (I64, [2])], expect="error")
    for op in ["Relu", "Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "LeakyRelu", "Identity"]:
        case(op, {}, [(F, ["N", 3, 7])])
        case(op, {}, [(F, [])])
    for bounds in [[], [(F, [], [0.0])], [None, (F, [], [6.0])], [(F, [], [0.0]), (F, [], [6.0])]]:
        case("Clip", {}, [(F, ["N", 3])] + bounds)
    case("Clip", {}, [(F, [2, 3]), (F, [2], [0.0, 1.0])], expect="error")
    case("Dropout", {}, [(F, ["N", 3])], outputs=2)
    case("Dropout", {}, [(F, ["N", 3]), (F, [], [0.5]), (B, [], [0])], outputs=2)
    case("Dropout", {}, [(F, ["N", 3]), (F, [], [0.5]), (B, [], [1])], expect="error")
    for op in ["Softmax", "LogSoftmax"]:
        for axis in [-4, -3, -1, 0, 2, 3]:
            case(op, dict(axis=axis), [(F, [2, "N", 4])])
    case("BatchNormalization", {}, [(F, ["N", 3, 5, 5])] + [(F, [3])] * 4)
    case("BatchNormalization", {}, [(F, ["N", 3, 5, 5])] + [(F, [3])] * 3 + [(F, [4])], expect="error")
    case("BatchNormalization", {}, [(F, ["N", 3, 5, 5])] + [(F, [3, 1])] * 4, expect="error")
    case("BatchNormalization", dict(training_mode=1), [(F, ["N", 3, 5, 5])] + [(F, [3])] * 4, outputs=3, expect="error")
    case("QuantizeLinear", {}, [(F, ["N", 3, 4]), (F, [], [0.5]), (I8, [], [0])])
    case("QuantizeLinear", {}, [(F, ["N", 3, 4]), (F, [], [0.5])])
    case("QuantizeLinear", dict(axis=1), [(F, [2, 3, 4]), (F, [3]), (U8, [3])])
    case("QuantizeLinear", dict(axis=1), [(F, [2, 3, 4]), (F, [4]), (U8, [4])], expect="error")
    case("QuantizeLinear", dict(output_dtype=T.INT8), [(F, [2, 3]), (F, [], [0.5])])
    case("QuantizeLinear", dict(axis=1, block_size=2), [(F, [2, 6]), (F, [2, 3]), (U8, [2, 3])])
    case("DequantizeLinear", {}, [(I8, ["N", 3, 4]), (F, [], [0.5]), (I8, [], [0])])
    case("DequantizeLinear", dict(axis=0), [(I32, [3]), (F, [3])])
    case("DequantizeLinear", {}, [(I8, [3]), (F, [], [0.5]), (U8, [], [0])], expect="error")


def reductions():
    for op in ["ReduceMean", "ReduceSum"]:
        for axes, keep, noop in itertools.product([None, [], [0], [-1], [2, 3], [1, -1], [4], [-5], [0, 0]], [0, 1], [0, 1]):
            expect = "error" if axes == [0, 0] else None
            case(op, dict(keepdims=keep, noop_with_empty_axes=noop), [(F, ["N", 3, 5, 7]), None if axes is None else vector(axes)], expect=expect)
        case(op, {}, [(F, ["N", 3, 5, 7]), (I64, [2])])
        case(op, dict(keepdims=0), [(F, ["N", 3, 5, 7]), (I64, [2])])
    for axis, keep in itertools.product([-4, -3, -1, 0, 2, 3], [0, 1]):
        case("ArgMax", dict(axis=axis, keepdims=keep), [(F, [2, "N", 4])])


def moves():
    for axis in [-3, -2, -1, 0, 1, 2, 3]:
        case("Concat", dict(axis=axis), [(F, [2, 3, 4]), (F, [2, 3, 4])])
        case("Concat", dict(axis=axis), [(F, ["N", 3, 4]), (F, ["N", 3, 4])])
    case("Concat", dict(axis=1), [(F, ["N", 3]), (F, ["N", "M"]), (F, [2, 1])])
    case("Concat", dict(axis=1), [(F, [2, 3]), (F, [3, 3])], expect="error")
    case("Concat", dict(axis=0), [(F, [2, 3]), (F, [3])], expect="error")
    for size, n in itertools.product([6, 7, 9, "N"], [1, 2, 3, 4]):
        for axis in [1, -1]:
            case("Split", dict(axis=axis, num_outputs=n), [(F, [2, size])], outputs=n)
    case("Split", dict(axis=0, num_outputs=4), [(F, [2, 5])], outputs=4, expect="error")
    case("Split", dict(axis=0), [(F, [7, 2]), vector([2, 5])], outputs=2)
    case("Split", dict(axis=0), [(F, [7, 2]), vector([2, 0, 5])], outputs=3)
    case("Split", dict(axis=0), [(F, ["N", 2]), vector([2, 5])], outputs=2)
    case("Split", dict(axis=0), [(F, [7, 2]), (I64, [2])], outputs=2)
    case("Split", dict(axis=0), [(F, [7, 2]), vector([2, 4])], outputs=2, expect="error")
    case("Split", dict(axis=0), [(F, [7, 2]), vector([2, 5])], outputs=3, expect="error")
    big, low = 2**63 - 1, -(2**63)
    for start, end, step in itertools.product([0, 1, -1, -3, 9, low], [big, 4, 2, -1, -20, low], [1, 2, -1, -2]):
        case("Slice", {}, [(F, [5, "N"]), vector([start]), vector([end]), vector([0]), vector([step])])
    case("Slice", {}, [(F, [5, 6, 7]), vector([1, 2]), vector([3, big])])
    case("Slice", {}, [(F, [5, 6, 7]), vector([1, 2]), vector([3, big]), vector([-1, 0])])
    case("Slice", {}, [(F, ["N", 6]), vector([0]), vector([big])])
    case("Slice", {}, [(F, ["N", 6]), vector([0]), vector([2])])
    case("Slice", {}, [(F, [5, 6]), (I64, [1]), vector([2]), vector([1])])
    case("Slice", {}, [(F, [5, 6]), vector([0]), vector([2]), vector([2])], expect="error")
    case("Slice", {}, [(F, [5, 6]), vector([0]), vector([2]), vector([0]), vector([0])], expect="error")
    case("Slice", {}, [(F, [5, 6]), vector([0, 1]), vector([2])], expect="error")
    for mode in ["constant", "edge", "reflect", "wrap"]:
        case("Pad", dict(mode=mode), [(F, ["N", 3, 5]), vector([0, 1, 2, 0, 0, 3])])
    case("Pad", {}, [(F, [2, 3, 5]), vector([0, -1, -2, 0, 0, 1])])
    case("Pad", {}, [(F, [2, 3, 5]), vector([1, 2]), None, vector([-1])])
    case("Pad", {}, [(F, [2, 3, 5]), vector([1, 2, 3, 4]), (F, [], [1.0]), vector([0, 2])])
    case("Pad", {}, [(F, [2, 3, 5]), (I64, [6])])
    case("Pad", {}, [(F, [2, 3, 5]), vector([1, 2])], expect="error")
    case("Pad", {}, [(F, [2, 3]), vector([0, -2, 0, -2])], expect="error")
    case("Pad", dict(mode="mirror"), [(F, [2, 3]), vector([0, 1, 0, 1])], expect="error")
    for axis, indices in itertools.product([-3, -2, 0, 1], [[], [2], [2, 3], ["K"]]):
        case("Gather", dict(axis=axis), [(F, [4, "N"]), (I64, indices)])
    case("Gather", dict(axis=0), [(F, [4, 2]), vector([-1, 3])])
    case("Gather", dict(axis=0), [(F, [4, 2]), vector([4])], expect="error")
    for perm in [[0, 1, 2], [2, 0, 1], [1, 2, 0]]:
        case("Transpose", dict(perm=perm), [(F, ["N", 3, 5])])
    case("Transpose", {}, [(F, ["N", 3, 5])])
    case("Transpose", dict(perm=[0, 1]), [(F, ["N", 3, 5])], expect="error")
    case("Transpose", dict(perm=[0, 1, 1]), [(F, ["N", 3, 5])], expect="error")
    for target in [[2, 3], [1, 3], [4, 2, 3], [2, 1], [1]]:
        case("Expand", {}, [(F, [2, 3]), vector(target)])
    case("Expand", {}, [(F, ["N", 1]), vector([1, 4])])
    case("Expand", {}, [(F, [2, 3]), vector([3, 3])], expect="error")


def reshapes():
    for target in [[-1], [6, -1], [2, 3, 20], [0, -1], [0, 0, 0, 0], [2, 60], [-1, 4, 0], [120], [1, -1, 1]]:
        case("Reshape", {}, [(F, [2, 3, 4, 5]), vector(target)])
    case("Reshape", {}, [(F, ["N", 64, 1, 1]), vector([-1, 64])])
    case("Reshape", {}, [(F, ["N", 64, 1, 1]), vector([0, -1])])
    case("Reshape", {}, [(F, ["N", 64, 2, 2]), vector([0, 256])])
    case("Reshape", {}, [(F, ["N", 3, 8]), vector([1, -1])])
    case("Reshape", dict(allowzero=1), [(F, [0, 3]), vector([3, 0])])
    case("Reshape", {}, [(F, [0, 3]), vector([0, 3])])
    case("Reshape", {}, [(F, [2, 3]), (I64, [3])])
    case("Reshape", {}, [(F, [2, 3]), vector([4, -1])], expect="error")
    case("Reshape", {}, [(F, [2, 3]), vector([5])], expect="error")
    case("Reshape", {}, [(F, [2, 3]), vector([-1, -1])], expect="error")
    case("Reshape", {}, [(F, [2, 3]), vector([-2, 3])], expect="error")
    case("Reshape", {}, [(F, [2, 3]), vector([2, 3, 0])], expect="error")
    for axis in range(-4, 6):
        case("Flatten", dict(axis=axis), [(F, [2, 3, 4, 5])])
    case("Flatten", dict(axis=1), [(F, ["N", 3, 4])])
    case("Flatten", dict(axis=2), [(F, ["N", 1, 4])])
    for axes in [None, [0], [-1], [0, 2], [0, -2], [1], [5]]:
        case("Squeeze", {}, [(F, [1, 3, 1, 5]), None if axes is None else vector(axes)])
    case("Squeeze", {}, [(F, ["N", 3, 1, 1]), vector([2, 3])])
    for axes in [[0], [-1], [0, 3], [1, -2], [2, 1], [6], [0, 0]]:
        case("Unsqueeze", {}, [(F, [3, 5]), vector(axes)])


def shapes():
    for start, end in itertools.product([0, 1, -1, -9, 9], [None, 0, 2, -1, 9]):
        case("Shape", dict(start=start, **({} if end is None else {"end": end})), [(F, ["N", 3, 5])])
    case("ConstantOfShape", {}, [vector([2, 3])])
    case("ConstantOfShape", dict(value=7), [vector([2, 0])])
    case("ConstantOfShape", {}, [vector([])])
    case("ConstantOfShape", {}, [(I64, [2])])
    case("ConstantOfShape", {}, [vector([-1])], expect="error")
    for to in [T.FLOAT, T.INT64, T.BFLOAT16, T.BOOL]:
        case("Cast", dict(to=to), [(F, ["N", 3])])
    case("Cast", dict(to=99), [(F, ["N", 3])], expect="error")


def recurrences():
    for (op, gates), way, layout in itertools.product([("RNN", 1), ("GRU", 3), ("LSTM", 4)], ["forward", "reverse", "bidirectional"], [0, 1]):
        ways, outputs = 2 if way == "bidirectional" else 1, 3 if op == "LSTM" else 2
        w, r = (F, [ways, gates * 5, 3]), (F, [ways, gates * 5, 5])
        shared = dict(direction=way, hidden_size=5, layout=layout)
        case(op, shared, [(F, [7, 2, 3]), w, r], outputs)
        case(op, shared, [(F, ["T", "N", 3]), w, r, (F, [ways, gates * 10]), (I32, ["T" if layout else "N"])], outputs)
        case(op, shared, [(F, [7, 2]), w, r], expect="error")
        case(op, shared, [(F, [7, 2, 4]), w, r], expect="error")
        case(op, shared, [(F, [7, 2, 3]), w, (F, [ways, gates * 5, 4])], expect="error")
        case(op, shared, [(F, [7, 2, 3]), w, r, (F, [ways, gates * 5])], expect="error")
        case(op, shared, [(F, [7, 2, 3]), w, r, None, (I32, [4])], expect="error")
        case(op, dict(shared, hidden_size=6), [(F, [7, 2, 3]), w, r], expect="error")
        case(op, shared, [(F, [7, 2, 3]), w, (T.DOUBLE, r[1])], expect="error")
    w, r = (F, [1, 5, 3]), (F, [1, 5, 5])
    for wrong in [dict(direction="both"), dict(layout=2), dict(activations=["Tanh", "Tanh"]), dict(activations=["Gelu"]), dict(clip=-1.0)]:
        case("RNN", dict(wrong, hidden_size=5), [(F, [7, 2, 3]), w, r], expect="error")


def scalar(value, kind=I64):
    return (kind, [], [value])


def signals():
    for length, axis, one, inverse in itertools.product([None, 5, 16], [None, 0, 1, -2, -3], [0, 1], [0, 1]):
        if one and inverse:  # ONNX's own inference does not know the one-sided inverse
            continue
        case("DFT", dict(onesided=one, inverse=inverse), [(F, [6, 9, 1 if one else 2]), None if length is None else scalar(length), None if axis is None else scalar(axis)])
    case("DFT", dict(onesided=1, inverse=1), [(F, [6, 9, 2]), scalar(16)], expect="1:6,16,1")
    case("DFT", dict(onesided=1, inverse=1), [(F, [6, 9, 2])], expect="1:6,16,1")
    case("DFT", dict(onesided=1), [(F, [6, 9, 2])], expect="error")
    case("DFT", {}, [(F, [6, 9, 3])], expect="error")
    case("DFT", {}, [(F, [6, 9, 2]), None, scalar(2)], expect="error")
    case("DFT", {}, [(F, [6, 9, 2]), scalar(0)], expect="error")
    case("DFT", dict(inverse=2), [(F, [6, 9, 2])], expect="error")
    case("DFT", {}, [(I64, [6, 9, 2])], expect="error")
    for one in [0, 1]:
        case("STFT", dict(onesided=one), [(F, ["N", 40, 1]), scalar(7), (F, [12]), scalar(12)])
        case("STFT", dict(onesided=one), [(F, [2, 40, 1]), scalar(8), None, scalar(16)])
    case("STFT", {}, [(F, [2, 40, 1]), scalar(7), (F, [12]), scalar(11)], expect="error")
    case("STFT", {}, [(F, [2, 40, 1]), scalar(0), (F, [12])], expect="error")
    case("STFT", {}, [(F, [2, 10, 1]), scalar(1), (F, [12])], expect="error")
    case("STFT", {}, [(F, [2, 40, 2]), scalar(7), (F, [12])], expect="error")
    case("STFT", {}, [(F, [2, 40]), scalar(1), (F, [12])], expect="error")
    edges = [scalar(0, F), scalar(4000, F)]
    case("MelWeightMatrix", {}, [scalar(8), scalar(16), scalar(8192), *edges])
    case("MelWeightMatrix", {}, [scalar(-8), scalar(16), scalar(8192), *edges], expect="error")
    for kind in ["HannWindow", "HammingWindow", "BlackmanWindow"]:
        case(kind, {}, [scalar(9)])
        case(kind, {}, [scalar(-1)], expect="error")


def regions():
    for ceil, auto in itertools.product([0, 1], ["NOTSET", "VALID"]):
        case("LpPool", dict(kernel_shape=[3, 2], strides=[2, 1], ceil_mode=ceil, auto_pad=auto), [(F, ["N", 3, 8, 6])])
    case("LpPool", dict(kernel_shape=[3, 2], p=0), [(F, [1, 3, 8, 6])], expect="error")
    case("GlobalLpPool", {}, [(F, ["N", 3, 8, 6])])
    case("GlobalLpPool", dict(p=0), [(F, [1, 3, 8, 6])], expect="error")
    case("MaxUnpool", dict(kernel_shape=[2, 2], strides=[2, 2]), [(F, [1, 2, 3, 4]), (I64, [1, 2, 3, 4])])
    case("MaxUnpool", dict(kernel_shape=[2, 2], pads=[5, 0, 5, 0]), [(F, [1, 2, 3, 4]), (I64, [1, 2, 3, 4])], expect="error")
    case("MaxUnpool", dict(kernel_shape=[2]), [(F, [1, 2, 3, 4]), (I64, [1, 2, 3, 4])], expect="error")
    case("MaxUnpool", dict(kernel_shape=[2, 2]), [(F, [1, 2, 2, 2]), (I64, [1, 2, 2, 2]), vector([1, 2, 5, 5])])
    case("Col2Im", {}, [(F, ["N", 36, 40]), vector([6, 9]), vector([2, 2])])
    case("Col2Im", {}, [(F, [1, 36, 40]), vector([6, 9]), vector([5, 2])], expect="error")
    case("Col2Im", {}, [(F, [1, 36, 40]), vector([6, 9]), vector([0, 2])], expect="error")
    case("Col2Im", dict(strides=[0, 1]), [(F, [1, 36, 40]), vector([6, 9]), vector([2, 2])], expect="error")
    size = dict(output_height=3, output_width=2)
    case("RoiAlign", size, [(F, [2, 5, 8, 8]), (F, ["R", 4]), (I64, ["R"])])
    case("RoiAlign", size, [(F, [2, 5, 8, 8]), (F, [7, 5]), (I64, [7])], expect="error")
    case("RoiAlign", size, [(F, [2, 5, 8, 8]), (F, [7, 4]), (I64, [6])], expect="error")
    case("RoiAlign", dict(size, mode="mean"), [(F, [2, 5, 8, 8]), (F, [7, 4]), (I64, [7])], expect="error")
    case("RoiAlign", dict(size, coordinate_transformation_mode="pixel"), [(F, [2, 5, 8, 8]), (F, [7, 4]), (I64, [7])], expect="error")
    case("MaxRoiPool", dict(pooled_shape=[3, 2]), [(F, [2, 5, 8, 8]), (F, ["R", 5])])
    case("MaxRoiPool", dict(pooled_shape=[3]), [(F, [2, 5, 8, 8]), (F, [7, 5])], expect="error")
    case("MaxRoiPool", dict(pooled_shape=[3, 2]), [(F, [2, 5, 8, 8]), (F, [7, 4])], expect="error")
    case("AffineGrid", {}, [(F, ["N", 2, 3]), vector([4, 3, 5, 6])], expect="1:N,5,6,2")
    case("AffineGrid", {}, [(F, [4, 3, 4]), vector([4, 3, 5, 6, 7])])
    case("AffineGrid", {}, [(F, [4, 2, 3]), vector([4, 3, 5, 6, 7])], expect="error")
    case("AffineGrid", dict(align_corners=2), [(F, [4, 2, 3]), vector([4, 3, 5, 6])], expect="error")
    deform = [(F, ["N", 4, 7, 6]), (F, [6, 4, 3, 2])]
    case("DeformConv", dict(strides=[2, 1]), [*deform, (F, ["N", 12, 3, 5]), (F, [6]), (F, ["N", 6, 3, 5])])
    case("DeformConv", dict(strides=[2, 1]), [*deform, (F, ["N", 12, 3, 4])], expect="error")
    case("DeformConv", {}, [*deform, (F, ["N", 11, 5, 5])], expect="error")
    case("DeformConv", dict(group=3), [*deform, (F, ["N", 12, 5, 5])], expect="error")
    case("DeformConv", dict(offset_group=3), [*deform, (F, ["N", 36, 5, 5])], expect="error")


def integers():
    x, w, one = (U8, ["N", 4, 7, 6]), (I8, [6, 4, 3, 2]), (F, [])
    case("ConvInteger", dict(strides=[2, 1]), [x, w])
    case("ConvInteger", {}, [x, w, (U8, []), (I8, [6])])
    case("ConvInteger", {}, [x, w, (U8, []), (I8, [5])], expect="error")
    case("ConvInteger", {}, [(F, x[1]), w], expect="error")
    case("QLinearConv", dict(pads=[1, 0, 1, 0]), [x, one, (U8, []), w, (F, [6]), (I8, [6]), one, (U8, [])])
    case("QLinearConv", {}, [x, one, (U8, []), w, (F, [5]), (I8, [5]), one, (U8, [])], expect="error")
    case("QLinearConv", dict(group=2), [x, one, (U8, []), w, one, (I8, []), one, (U8, [])], expect="error")
    case("MatMulInteger", {}, [(U8, ["N", 3, 4]), (I8, [4, 5])])
    case("MatMulInteger", {}, [(U8, [3, 4]), (I8, [5, 5])], expect="error")
    case("QLinearMatMul", {}, [(U8, ["N", 4]), one, (U8, []), (U8, [4, 5]), one, (U8, []), one, (U8, [])])
    case("DynamicQuantizeLinear", {}, [(F, ["N", 4])], 3)


def vectorizers():
    good = dict(mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0, ngram_counts=[0, 2], ngram_indexes=[0, 1, 4], pool_int64s=[7, 8, 7, 8])
    case("TfIdfVectorizer", good, [(I64, ["N", 9])])
    case("TfIdfVectorizer", good, [(I32, [9])])
    for wrong in [dict(mode="FT"), dict(max_gram_length=3), dict(min_gram_length=0), dict(ngram_counts=[0, 5]), dict(ngram_counts=[0, 1]), dict(ngram_indexes=[0, 1])]:
        case("TfIdfVectorizer", dict(good, **wrong), [(I64, [9])], expect="error")
    case("TfIdfVectorizer", good, [(F, [9])], expect="error")
    case("TfIdfVectorizer", good, [(I64, [1, 2, 9])], expect="error")


def randoms():
    for kind in ["RandomNormal", "RandomUniform"]:
        case(kind, dict(shape=[2, 3], dtype=11), [])
        case(kind, dict(shape=[2, -3]), [], expect="error")
        case(kind, dict(shape=[2], dtype=7), [], expect="error")
        case(kind, dict(shape=[2], seed=-1.0), [], expect="error")
    for kind in ["RandomNormalLike", "RandomUniformLike", "Bernoulli"]:
        case(kind, {}, [(F, ["N", 3])])
        case(kind, dict(dtype=10), [(F, ["N", 3])])
        case(kind, dict(dtype=99), [(F, ["N", 3])], expect="error")
    case("Multinomial", dict(sample_size=7, dtype=7), [(F, ["N", 3])])
    case("Multinomial", dict(sample_size=7, dtype=1), [(F, ["N", 3])], expect="error")
    case("Multinomial", dict(sample_size=7), [(F, [3])], expect="error")


print("# SPDX-License-Identifier: Apache-2.0")
print(f"# Written by infer_cases.py from ONNX {onnx.__version__}; OP | attributes | inputs | outputs (see there).")
for part in [windows, products, elementwise, reductions, moves, reshapes, shapes, recurrences, signals, regions, integers, randoms, vectorizers]:
    part()
