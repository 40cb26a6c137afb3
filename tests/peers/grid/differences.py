# SPDX-License-Identifier: Apache-2.0
"""Where ONNX Runtime or onnx's reference evaluator parts from the specification, or is less accurate than what it is to judge. Each line has the operators,
which of their cases it is about, the reason (the specification's sentence where there is one), and who is asked instead: the other of the
two, PyTorch, ONNX Runtime in another form, or a formula in double or long double."""

import dataclasses
import math

import numpy as np
import onnx

from .judges import NoAnswer, by_onnxruntime, by_reference, widened


@dataclasses.dataclass
class Difference:
    name: str
    operators: tuple
    applies: object  # case -> bool
    reason: str
    judge: object = by_reference


DIFFERENCES = []


def difference(name, operators, reason, applies=lambda case: True):
    """The decorated function is the judge."""
    def register(judge):
        DIFFERENCES.append(Difference(name, operators, applies, reason, judge))
        return judge
    return register


def kind(case):
    return next((a.dtype.name for a in case.arguments if a is not None), "")


def version(case):
    return onnx.defs.get_schema(case.op, case.model.opset_import[0].version).since_version


# -- Attention of one query behind a past --

@difference("causal Attention of one query behind a past", ("Attention",), "The function body offsets the causal mask by the past's length alone, so that with several new keys the first query does not see the later ones; "
            "ONNX Runtime lets a single query see every key.",
            lambda case: case.attributes.get("is_causal") == 1 and len(case.arguments) > 4 and case.arguments[4] is not None and case.arguments[0].shape[-2] == 1)
def causal_past(case):
    return by_reference(case)


# -- functions of one element --

def wide(x):
    return x.astype(np.longdouble)


def erf(x):
    return np.vectorize(lambda v: math.erf(float(v)), otypes=[np.longdouble])(x)


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


FORMULAS = {
    "Exp": np.exp, "Log": np.log, "Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Asin": np.arcsin, "Acos": np.arccos, "Atan": np.arctan, "Sinh": np.sinh,
    "Cosh": np.cosh, "Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh, "Tanh": np.tanh, "Sigmoid": sigmoid, "Erf": erf, "Sqrt": np.sqrt,
    "Gelu": lambda x, approximate=b"none": x / 2 * (1 + (np.tanh(np.sqrt(np.longdouble(2) / np.pi) * (x + np.longdouble("0.044715") * x**3)) if approximate in ("tanh", b"tanh") else erf(x / np.sqrt(np.longdouble(2))))),
    "Swish": lambda x, alpha=1.0: x * sigmoid(np.longdouble(alpha) * x),
}


@difference("a function's own formula", tuple(FORMULAS), "The specification names a function of real numbers; ONNX Runtime's approximations are up to 19 units in the last place from it, and tiny results become 0.",
            lambda case: kind(case).startswith(("float", "bfloat")))
def by_formula(case):
    x = case.arguments[0]
    with np.errstate(all="ignore"):
        attributes = {k: v for k, v in case.attributes.items() if k in ("alpha", "approximate")}
        return [np.asarray(np.asarray(FORMULAS[case.op](wide(x), **attributes)).astype(np.float64).astype(x.dtype))]


# -- windows --

@difference("a window's own formula", ("HannWindow", "HammingWindow", "BlackmanWindow"),
            "The specification gives the formula; ONNX Runtime evaluates it in float32, float64 outputs included.")
def by_window(case):
    n = int(case.arguments[0])
    k, span = np.arange(n), np.float64(n if case.attributes.get("periodic", 1) else n - 1)
    with np.errstate(all="ignore"):
        angle = 2 * np.pi * k / span
        if case.op == "HannWindow":
            made = 0.5 - 0.5 * np.cos(angle)
        elif case.op == "HammingWindow":
            made = 25 / 46 - (1 - 25 / 46) * np.cos(angle)
        else:
            made = 0.42 - 0.5 * np.cos(angle) + 0.08 * np.cos(2 * angle)
    to = onnx.helper.tensor_dtype_to_np_dtype(case.attributes.get("output_datatype", 1))
    return [made.astype(to)]


# -- shapes --

@difference("Shape's clamped ends", ("Shape",), "\"If axes are omitted [...]; end: [...] out-of-range values are clamped to [0, r]\": the reference evaluator slices a Python tuple with numbers that it does not clamp first.",
            lambda case: "start" in case.attributes or "end" in case.attributes)
def by_shape(case):
    shape = case.arguments[0].shape
    rank = len(shape)
    start, end = (min(max(v + rank if v < 0 else v, 0), rank) for v in (case.attributes.get("start", 0), case.attributes.get("end", rank)))
    return [np.array(shape[start:end], np.int64)]


@difference("NonZero of a scalar", ("NonZero",), "\"for scalar input, NonZero produces output shape (0, N) instead of (1, N), which is different from Numpy's behavior\"; ONNX Runtime follows NumPy.",
            lambda case: case.arguments[0].ndim == 0)
def non_zero_scalar(case):
    return [np.zeros((0, int(bool(case.arguments[0] != 0))), np.int64)]


@difference("Slice backwards from INT_MAX", ("Slice",),
            "\"INT_MAX if slicing to the end of a dimension with unknown size [...] when slicing forward and 'INT_MIN' when slicing backward\": a backward end of INT_MAX is clamped to dims - 1 and "
            "nothing is left; ONNX Runtime takes it for the beginning.",
            lambda case: version(case) >= 10 and len(case.arguments) > 4 and bool(np.any((case.arguments[2] >= 2**31 - 1) & (case.arguments[4] < 0))))
def slice_backwards(case):
    return by_reference(case)


@difference("Where and the sign of zero", ("Where",), "The output has X's or Y's element; ONNX Runtime adds the two halves for numbers, which loses the sign of -0.",
            lambda case: kind(dataclasses.replace(case, arguments=case.arguments[1:])).startswith("float"))
def where_zero(case):
    return by_reference(case)


# -- pools --

@difference("GlobalMaxPool of one or three spatial axes", ("GlobalMaxPool",), "\"Output [...] has the same rank as the input, dims N, C, 1, ...\": the reference evaluator reduces axes 2 and 3 only.")
def global_max(case):
    x = case.arguments[0]
    return [x.max(axis=tuple(range(2, x.ndim)), keepdims=True)]


@difference("GlobalLpPool", ("GlobalLpPool",), "The reference evaluator has none, and ONNX Runtime takes float32 alone: the p-norm over the spatial axes in long double.",
            lambda case: kind(case) != "float32")
def global_lp(case):
    x, p = case.arguments[0], case.attributes.get("p", 2)
    return [((np.abs(wide(x)) ** p).sum(axis=tuple(range(2, x.ndim)), keepdims=True) ** (np.longdouble(1) / p)).astype(np.float64).astype(x.dtype)]


# -- normalization --

@difference("LpNormalization of type bfloat16", ("LpNormalization",), "\"p-norm\": for p = 1 the reference evaluator adds the elements, not their magnitudes.", lambda case: kind(case) == "bfloat16")
def lp_norm(case):
    x, p, axis = case.arguments[0], case.attributes.get("p", 2), case.attributes.get("axis", -1)
    norm = (np.abs(wide(x)) ** p).sum(axis=axis, keepdims=True) ** (np.longdouble(1) / p)
    with np.errstate(all="ignore"):
        return [np.where(norm == 0, 0, wide(x) / np.where(norm == 0, 1, norm)).astype(np.float64).astype(x.dtype)]


@difference("LRN beyond float32", ("LRN",), "\"region: max(0, c - floor((size - 1) / 2)) <= i <= min(C - 1, c + ceil((size - 1) / 2))\": the reference evaluator's last channel is one short.",
            lambda case: kind(case) != "float32")
def lrn(case):
    x, size = case.arguments[0], case.attributes["size"]
    alpha, beta, bias = (np.longdouble(np.float32(case.attributes.get(k, d))) for k, d in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0)))
    squares, total = wide(x) ** 2, np.zeros(x.shape, np.longdouble)
    for c in range(x.shape[1]):
        total[:, c] = squares[:, max(0, c - (size - 1) // 2):c + math.ceil((size - 1) / 2) + 1].sum(axis=1)
    return [(wide(x) / (bias + alpha / size * total) ** beta).astype(np.float64).astype(x.dtype)]


@difference("MeanVarianceNormalization beyond float32", ("MeanVarianceNormalization",), "Its function body mixes types (exponent and epsilon are float32), so that neither runs it in another type: the body's formula in long double.",
            lambda case: kind(case) != "float32")
def mvn(case):
    x, axes = case.arguments[0], tuple(case.attributes.get("axes", [0, 2, 3]))
    mean = wide(x).mean(axis=axes, keepdims=True)
    spread = np.sqrt((wide(x) ** 2).mean(axis=axes, keepdims=True) - mean**2)
    return [((wide(x) - mean) / (spread + np.longdouble(1e-9))).astype(np.float64).astype(x.dtype)]


@difference("Hardmax of old versions beyond float32", ("Hardmax",), "\"The input [...] will be coerced into a 2-dimensional tensor\": the reference evaluator has version 13's meaning alone.",
            lambda case: version(case) < 13 and kind(case) != "float32")
def hardmax(case):
    x, axis = case.arguments[0], case.attributes.get("axis", 1) % max(1, case.arguments[0].ndim)
    flat = x.reshape(int(np.prod(x.shape[:axis])), -1)
    out = np.zeros_like(flat)
    out[np.arange(len(flat)), flat.argmax(axis=1)] = 1
    return [out.reshape(x.shape)]


@difference("Softmax of old versions beyond float32", ("Softmax", "LogSoftmax"), "\"The input [...] will be coerced into a 2-dimensional tensor\": the reference evaluator has version 13's meaning alone.",
            lambda case: version(case) < 13 and kind(case) in ("float16", "bfloat16"))
def softmax(case):
    x, axis = case.arguments[0], case.attributes.get("axis", 1) % max(1, case.arguments[0].ndim)
    if x.size == 0:
        return [x]
    flat = wide(x.reshape(int(np.prod(x.shape[:axis])), -1))
    shifted = flat - flat.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return [(logs if case.op == "LogSoftmax" else np.exp(logs)).astype(np.float64).astype(x.dtype).reshape(x.shape)]


# -- sampling --

@difference("GridSample", ("GridSample",), "PyTorch's grid_sample, which the operator follows: the reference evaluator's bicubic and ONNX Runtime's border and reflection of version 22 part from it.")
def grid_sample(case):
    import torch
    x, grid = (torch.from_numpy(a.astype(np.float64)) for a in case.arguments)
    mode = {"linear": "bilinear", "cubic": "bicubic", None: "bilinear"}.get(case.attributes.get("mode"), case.attributes.get("mode"))
    made = torch.nn.functional.grid_sample(x, grid, mode, case.attributes.get("padding_mode", "zeros"), bool(case.attributes.get("align_corners", 0)))
    return [made.numpy().astype(case.arguments[0].dtype)]


def fractional_length(case):
    if case.op != "Resize" or case.attributes.get("coordinate_transformation_mode") not in ("align_corners", "tf_crop_and_resize"):
        return False
    given = case.arguments
    if len(given) > 3 and given[3] is not None and given[3].size:
        spatial = list(zip(given[3][-2:], given[0].shape[-2:]))
        if case.attributes["coordinate_transformation_mode"] == "tf_crop_and_resize" and any(a == b for a, b in spatial):
            return True  # ONNX Runtime leaves such an axis as it is, and the region is another one
        return case.attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch"
    scales = given[2] if version(case) >= 11 else given[1]
    shape = np.array(given[0].shape)[-len(scales):]
    return bool(np.any(np.abs(shape * scales - np.round(shape * scales)) > 1e-6))


@difference("Resize to a length that the scale does not divide", ("Resize",),
            "\"x_original = x_resized * (length_original - 1) / (length_resized - 1)\": length_resized is scale * length_original, of which the output's dim is the floor; ONNX Runtime takes the dim.", fractional_length)
def resize_fractional(case):
    return by_reference(case)


# -- quantization, losses, recurrent networks --

@difference("a layout of batches first", ("RNN", "GRU", "LSTM"), "\"layout: 1\": ONNX Runtime refuses it, and the reference evaluator ignores sequence_lens, direction or activations: ONNX Runtime with transposed operands.",
            lambda case: case.attributes.get("layout") == 1 and not (case.op == "LSTM" and "clip" in case.attributes))
def recurrent(case):
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    node, states = model.graph.node[0], {0, 5, 6}
    for k in range(len(node.attribute) - 1, -1, -1):
        if node.attribute[k].name == "layout":
            del node.attribute[k]
    swapped = {node.input[k] for k in states if k < len(node.input) and node.input[k]}
    names = [v.name for v in model.graph.input]
    inputs = [np.ascontiguousarray(a.swapaxes(0, 1)) if n in swapped else a for n, a in zip(names, case.inputs)]
    for value in model.graph.input:
        if value.name in swapped:
            dims = value.type.tensor_type.shape.dim
            first, second = onnx.TensorShapeProto.Dimension(), onnx.TensorShapeProto.Dimension()
            first.CopyFrom(dims[0])
            second.CopyFrom(dims[1])
            dims[0].CopyFrom(second)
            dims[1].CopyFrom(first)
    other = dataclasses.replace(case, model=model, inputs=inputs)
    try:
        outputs = by_onnxruntime(other)
    except NoAnswer:
        outputs = widened(other)
    whole = [name for name in node.output if name]
    return [np.ascontiguousarray(o.transpose(2, 0, 1, 3) if name == "o0" else o.swapaxes(0, 1)) for name, o in zip(whole, outputs)]


@difference("Attention's masked products", ("Attention",), "\"attn_mask: a boolean mask where the value True indicates that the element should take part in attention\", else -infinity is added: ONNX Runtime adds the type's lowest number; "
            "in float64 it keeps constants of float32.", lambda case: kind(case) == "float64" or case.attributes.get("qk_matmul_output_mode") in (1, 2))
def attention(case):
    return by_reference(case)


@difference("DFT", ("DFT",), "\"inverse: 1/N; onesided: half\": NumPy's transform; ONNX Runtime's factorization loses more than 8 units.", lambda case: True)
def dft(case):
    x, length = case.arguments[0], case.arguments[1] if len(case.arguments) > 1 else None
    axis = int(case.arguments[2]) if len(case.arguments) > 2 and case.arguments[2] is not None else case.attributes.get("axis", 1 if version(case) < 20 else -2)
    axis = axis % x.ndim
    values = x.astype(np.float64)
    values = values[..., 0] + (1j * values[..., 1] if x.shape[-1] == 2 else 0)
    n = int(length) if length is not None else values.shape[axis]
    made = (np.fft.ifft if case.attributes.get("inverse") else np.fft.fft)(values, n, axis=axis)
    if case.attributes.get("onesided"):
        made = np.take(made, range(n // 2 + 1), axis=axis)
    return [np.stack([made.real, made.imag], -1).astype(x.dtype)]


@difference("a mean of no weights", ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"),
            "\"mean: the sum of the output will be divided by the sum of applied weights\", ignored elements without: the reference evaluator divides by all; PyTorch's loss.", lambda case: kind(case) != "float32")
def loss(case):
    import torch
    scores, target = torch.from_numpy(case.arguments[0].astype(np.float64)), torch.from_numpy(case.arguments[1].astype(np.int64))
    weight = torch.from_numpy(case.arguments[2].astype(np.float64)) if len(case.arguments) > 2 and case.arguments[2] is not None else None
    logs = torch.log_softmax(scores, 1) if case.op == "SoftmaxCrossEntropyLoss" else scores
    ignore = case.attributes.get("ignore_index", -(2**31))
    made = torch.nn.functional.nll_loss(logs, target, weight, ignore_index=ignore, reduction=case.attributes.get("reduction", "mean"))
    outputs = [made.numpy(), logs.numpy()][:len(case.model.graph.output)]
    return [np.asarray(o.astype(case.arguments[0].dtype)) for o in outputs]


@difference("LayerNormalization's statistics", ("LayerNormalization", "GroupNormalization", "RMSNormalization"), "\"stash_type: type of Mean and InvStdDev\" (float32): the reference evaluator rounds them to the input's type.", lambda case: kind(case) == "bfloat16")
def layer_norm(case):
    if case.op == "GroupNormalization":
        raise NoAnswer("see the float32 cases")
    x = wide(case.arguments[0])
    axes = tuple(range(case.attributes.get("axis", -1) % x.ndim, x.ndim))
    epsilon = np.longdouble(np.float32(case.attributes.get("epsilon", 1e-5)))
    mean = x.mean(axis=axes, keepdims=True) if case.op == "LayerNormalization" else 0
    inverse = 1 / np.sqrt(((x - mean) ** 2).mean(axis=axes, keepdims=True) + epsilon)
    made = ((x - mean) * inverse).astype(np.float32).astype(case.arguments[0].dtype)  # the end of stage one
    made = wide(made) * wide(case.arguments[1]) + (wide(case.arguments[2]) if len(case.arguments) > 2 and case.arguments[2] is not None else 0)
    outputs = [made.astype(np.float64).astype(case.arguments[0].dtype), np.asarray(mean, np.float32), inverse.astype(np.float32)]
    return outputs[:len(case.model.graph.output)]


@difference("OneHot of 16-bit floats", ("OneHot",), "\"off_value, on_value\" are handed on: the reference evaluator rounds them through another type.", lambda case: case.arguments[2].dtype.name in ("float16", "bfloat16"))
def one_hot(case):
    which, depth, values = case.arguments
    n = int(depth.reshape(-1)[0])
    axis = case.attributes.get("axis", -1)
    at = np.expand_dims(which.astype(np.int64), axis if axis >= 0 else axis + which.ndim + 1)
    places = np.arange(n).reshape([n if k == (axis % (which.ndim + 1)) else 1 for k in range(which.ndim + 1)])
    return [np.where((np.where(at < 0, at + n, at) == places), values[1], values[0]).astype(values.dtype)]


@difference("Unique in the order of first sight", ("Unique",), "\"sorted: 0: [...] in the same order as they occur in the input\": the reference evaluator sorts; ONNX Runtime with int64.",
            lambda case: case.attributes.get("sorted") == 0 and kind(case) not in ("float32", "float64", "int64", "int8"))
def unique(case):
    from .core import value_info
    x = case.inputs[0]
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    model.opset_import[0].version = 11
    kind_of = np.float64 if x.dtype.kind == "f" or "float" in x.dtype.name else np.int64
    model.graph.input[0].CopyFrom(value_info("i0", x.astype(kind_of)))
    model.graph.output[0].type.tensor_type.elem_type = 11 if kind_of is np.float64 else 7
    outputs = by_onnxruntime(dataclasses.replace(case, model=model, inputs=[x.astype(kind_of)]))
    return [outputs[0].astype(x.dtype), *outputs[1:]]


@difference("QLinearMatMul with 16-bit scales", ("QLinearMatMul",), "The formula's quotient of scales in double: the reference evaluator multiplies in 16 bits.", lambda case: case.arguments[1].dtype != np.float32)
def qlinear_matmul(case):
    a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero = (t.astype(np.float64) for t in case.arguments)
    lo, hi = (0, 255) if case.arguments[7].dtype == np.uint8 else (-128, 127)
    return [np.clip(np.rint((a - a_zero) @ (b - b_zero) * (a_scale * b_scale / y_scale)) + y_zero, lo, hi).astype(case.arguments[7].dtype)]


@difference("QuantizeLinear of bfloat16", ("QuantizeLinear",), "npuc divides in float32, as ONNX Runtime does for float16; the reference evaluator in bfloat16 (\"precision: [...] if not provided, the same as the type of y_scale\", since version 23).",
            lambda case: kind(case) == "bfloat16" or case.arguments[1].dtype.name == "bfloat16")
def quantize_bfloat16(case):
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    return by_reference(widen_quantize(case, model))


def widen_quantize(case, model):
    """The same numbers as float32: the quotient is not rounded on the way."""
    bfloat16, names = onnx.TensorProto.BFLOAT16, [v.name for v in model.graph.input]
    inputs = [a.astype(np.float32) if a.dtype.name == "bfloat16" else a for a in case.inputs]
    for value in model.graph.input:
        if value.type.tensor_type.elem_type == bfloat16:
            value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    for tensor in model.graph.initializer:
        if tensor.data_type == bfloat16:
            tensor.CopyFrom(onnx.numpy_helper.from_array(np.asarray(onnx.numpy_helper.to_array(tensor).astype(np.float32)), tensor.name))
    return dataclasses.replace(case, model=model, inputs=inputs) if names else case


@difference("the mask of Dropout 10", ("Dropout",), "Version 10 does not say what the mask is where nothing is dropped; since version 12 it is \"all ones\". ONNX Runtime gives zeros.",
            lambda case: version(case) == 10 and len(case.model.graph.output) == 2)
def dropout_mask(case):
    x = case.arguments[0]
    return [x, np.ones(x.shape, np.bool_)]


GATES = {"Sigmoid": sigmoid, "Tanh": np.tanh, "Relu": lambda v: np.maximum(v, 0), "Softsign": lambda v: v / (1 + np.abs(v))}


def lstm_way(x, w, r, bias, lengths, h, c, peephole, clip, functions, backwards):
    """One direction over x [length, batch, size]: Y [length, batch, hidden], last H and C."""
    hidden, out = r.shape[1], np.zeros((x.shape[0], x.shape[1], r.shape[1]))
    h, c = h.copy(), c.copy()
    def bound(v):
        return v if clip is None else np.clip(v, -clip, clip)
    for b in range(x.shape[1]):
        steps = range(lengths[b])
        for t in reversed(steps) if backwards else steps:
            i, o, f, n = np.split(x[t, b] @ w.T + h[b] @ r.T + bias, 4)
            p_i, p_o, p_f = np.split(peephole, 3)
            i, f = functions[0](bound(i + p_i * c[b])), functions[0](bound(f + p_f * c[b]))
            c[b] = f * c[b] + i * functions[1](bound(n))
            h[b] = functions[0](bound(o + p_o * c[b])) * functions[2](bound(c[b]))
            out[t, b] = h[b]
    assert hidden == out.shape[2]
    return out, h, c


@difference("LSTM's clipped cell", ("LSTM",), "\"clip: [...] is applied to the input of activations\", the cell's among them: ONNX Runtime does not bound the cell. The formula in double.",
            lambda case: "clip" in case.attributes)
def lstm(case):
    given = [None if a is None else a.astype(np.float64) for a in case.arguments] + [None] * 8
    x, w, r, bias, lengths, h, c, peephole = given[:8]
    first = case.attributes.get("layout") == 1
    if first:
        x, h, c = (None if a is None else a.swapaxes(0, 1) for a in (x, h, c))
    ways, hidden = w.shape[0], r.shape[2]
    zeros = np.zeros((ways, x.shape[1], hidden))
    h, c = zeros if h is None else h, zeros if c is None else c
    bias = np.zeros((ways, 8 * hidden)) if bias is None else bias
    peephole = np.zeros((ways, 3 * hidden)) if peephole is None else peephole
    lengths = [x.shape[0]] * x.shape[1] if lengths is None else lengths.astype(int)
    names = case.attributes.get("activations", ["Sigmoid", "Tanh", "Tanh"] * ways)
    made = [lstm_way(x, w[k], r[k], bias[k, :4 * hidden] + bias[k, 4 * hidden:], lengths, h[k], c[k], peephole[k], case.attributes["clip"],
                     [GATES[name] for name in names[3 * k:3 * k + 3]], case.attributes.get("direction") == "reverse" or k == 1) for k in range(ways)]
    y, last_h, last_c = (np.stack([m[i] for m in made], 1 if i == 0 else 0) for i in range(3))
    outputs = dict(zip(("o0", "o1", "o2"), (y.transpose(2, 0, 1, 3), last_h.swapaxes(0, 1), last_c.swapaxes(0, 1)) if first else (y, last_h, last_c)))
    return [np.ascontiguousarray(outputs[v.name]).astype(case.arguments[0].dtype) for v in case.model.graph.output]


def unbounded(case):
    given = case.arguments[1:3]
    return "float" in kind(case) and (version(case) < 11 or len(given) < 2 or any(a is None for a in given))


@difference("Clip of infinities without a bound", ("Clip",), "A departure of npuc: \"min and max default to numeric_limits::lowest() and numeric_limits::max()\", so that an infinity becomes the largest number; "
            "npuc reads an omitted bound as none, as PyTorch does (so Clip(x, 0) is Relu exactly). Finite numbers are the same.", unbounded)
def clip(case):
    x = case.arguments[0]
    if version(case) < 11:
        least, most = case.attributes.get("min", -np.inf), case.attributes.get("max", np.inf)
    else:
        least, most = ((case.arguments[k] if k < len(case.arguments) and case.arguments[k] is not None else d) for k, d in ((1, -np.inf), (2, np.inf)))
    return [np.minimum(np.maximum(x, np.array(least, x.dtype)), np.array(most, x.dtype))]


# -- what npuc refuses, by name: valid models, and the day that one is run the test says so --

@dataclasses.dataclass
class Refusal:
    operators: tuple
    applies: object
    reason: str


FLOAT64 = ("AveragePool", "BatchNormalization", "Conv", "GRU", "Gemm", "LSTM", "MaxPool", "RNN")
SMALL = {"int4", "uint4", "int2", "uint2", "float4_e2m1fn"}

REFUSALS = [
    Refusal(FLOAT64, lambda case: kind(case) == "float64", "float64 (NPUC-E0602)"),
    Refusal(("Gemm",), lambda case: kind(case) in ("int32", "int64", "uint32", "uint64"), "integers (NPUC-E0602)"),
    Refusal(("Col2Im",), lambda case: "float" not in kind(case), "integers and booleans (NPUC-E0602)"),
    Refusal(("GridSample", "Upsample", "Unique"), lambda case: kind(case) == "bool", "booleans (NPUC-E0602)"),
    Refusal(("Pad", "Transpose", "TensorScatter"), lambda case: kind(case) in SMALL, "types below 8 bits (NPUC-E0602)"),
    Refusal(("ConstantOfShape",), lambda case: any((case.arguments[0].size or a.t.data_type not in (21, 22)) and a.name == "value" and a.t.data_type in (21, 22, 23, 25, 26) for a in case.model.graph.node[0].attribute),
            "types below 8 bits (NPUC-E0602)"),
    Refusal(("Erf",), lambda case: "float" not in kind(case), "integers, of which the specification does not say how the result is rounded (NPUC-E0442)"),
    Refusal(("Scan",), lambda case: version(case) == 8 and len(case.arguments) and case.model.graph.node[0].input[0] != "", "version 8 with sequence_lens (NPUC-E0311)"),
    Refusal(("Dropout",), lambda case: version(case) == 7 and len(case.model.graph.output) == 2, "version 7's mask (NPUC-E0311)"),
    Refusal(("Resize",), lambda case: "mixed" in case.tags, "version 10, nearest, with one axis that grows and one that shrinks (NPUC-E0311)"),
]


def refused(case):
    return next((r.reason for r in REFUSALS if case.op in r.operators and r.applies(case)), None)
