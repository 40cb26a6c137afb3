# SPDX-License-Identifier: Apache-2.0
"""Families whose elements do not mix, or mix along one axis: functions of one element, arithmetic with broadcasting, types, softmax, reductions,
normalization, losses, quantization."""

import numpy as np


from .core import Unfit, dtype_number, family, is_float, is_integer, onnx_range


@family("Abs", "Neg", "Sign", "Ceil", "Floor", "Round", "Sqrt", "Reciprocal", "Exp", "Log", "Erf", "Sin", "Cos", "Tan", "Asin", "Acos", "Atan", "Sinh",
        "Cosh", "Asinh", "Acosh", "Atanh", "IsNaN", "Not", "BitwiseNot", "Relu", "Softplus", "Softsign", "Mish", "HardSwish", "Sigmoid", "Tanh",
        "Identity", "IsInf", "LeakyRelu", "Elu", "Celu", "Selu", "ThresholdedRelu", "Swish", "Gelu", "HardSigmoid", "Shrink")
def one_element(g):
    low, high = {"Asin": (-1, 1), "Acos": (-1, 1), "Atanh": (-1, 1), "Acosh": (1, 9), "Log": (0, 9), "Sqrt": (0, 9), "Exp": (-20, 20)}.get(g.op, (-4, 4))
    x = g.tensor(g.type(0), g.shape(), low, high, edges=g.chance("edges"))
    if g.op == "Sign" and not is_integer(x.dtype):
        x = np.where(np.isnan(x.astype(np.float64)), np.ones_like(x), x)  # which of the three cases it is is not specified
    if g.op == "Shrink" and is_integer(x.dtype):
        x = np.clip(x, 0 if x.dtype.kind == "u" else -100, 100).astype(x.dtype)  # ONNX Runtime's way leads through float32
    slopes = [None, 0.0, 0.5, -0.25, 2.0] if g.op != "Celu" else [None, 0.5, 2.0]
    more = {"gamma": [None, 2.0]} if g.op == "Selu" else {}
    if g.op == "HardSigmoid":
        more = {"beta": [None, 0.25, -0.5]}
    return g.case([x], constants=(0,), **g.maybe(alpha=slopes, detect_negative=[None, 0, 1], detect_positive=[None, 0, 1], approximate=[None, "none", "tanh"],
                                 bias=[None, 0.5, 1.0], lambd=[None, 0.0, 1.5], **more))


@family("Add", "Sub", "Mul", "Div", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr", "BitwiseXor",
        "PRelu")
def two_elements(g):
    kind = g.type(0)
    sa, sb = g.shapes_that_broadcast(2, one_way=g.op == "PRelu")
    edges = g.chance("edges", 3)
    a, b = g.tensor(kind, sa, edges=edges), g.tensor(kind, sb, edges=edges)
    if g.op == "Div" and is_integer(kind):
        lo = onnx_range(kind)[0]
        b = np.where((b == 0) | ((b.astype(np.float64) == -1) & (lo < 0)), np.array(3, kind), b).astype(kind)  # undefined
    return g.case([a, b], constants=(1,))


@family("Pow")
def power(g):
    kind = g.type(0)
    exponent = g.type(1) if len(g.schema.inputs) > 1 and g.schema.inputs[1].type_str != g.schema.inputs[0].type_str else kind
    sa, sb = g.shapes_that_broadcast(2)
    integer = is_integer(kind)
    a = g.tensor(kind, sa, 0, 3, edges=not integer and g.chance("edges", 3))
    b = g.tensor(exponent, sb, 0, 3)
    if integer or is_integer(exponent):
        b = np.abs(np.trunc(b.astype(np.float64))).astype(exponent)
    return g.case([a, b], constants=(1,))


@family("Mod")
def modulus(g):
    kind = g.type(0)
    sa, sb = g.shapes_that_broadcast(2)
    a, b = g.tensor(kind, sa, -20, 20), g.tensor(kind, sb, -7, 7)
    b = np.where(b == 0, np.array(3, kind), b).astype(kind)
    fmod = 1 if is_float(kind) else g.pick("fmod", [None, 0, 1])
    return g.case([a, b], constants=(1,), fmod=fmod)


@family("BitShift")
def shift(g):
    kind = g.type(0)
    sa, sb = g.shapes_that_broadcast(2)
    a = g.tensor(kind, sa, edges=True)
    b = g.tensor(kind, sb, 0, np.dtype(kind).itemsize * 8 - 1)
    return g.case([a, b], constants=(1,), direction=g.pick("direction", ["LEFT", "RIGHT"]))


@family("Sum", "Mean", "Max", "Min")
def many_elements(g):
    kind, count = g.type(0), g.pick("count", [1, 2, 3, 4])
    edges = g.op in ("Max", "Min") and g.chance("edges", 3)
    return g.case([g.tensor(kind, s, edges=edges) for s in g.shapes_that_broadcast(count)], constants=(1,))


@family("Where")
def where(g):
    kind = g.type(1)
    shapes = g.shapes_that_broadcast(3)
    return g.case([g.tensor(np.bool_, shapes[2]), g.tensor(kind, shapes[0], edges=True), g.tensor(kind, shapes[1], edges=True)], constants=(2,))


@family("Clip")
def clip(g):
    kind = g.type(0)
    x = g.tensor(kind, g.shape(), edges=g.chance("edges", 3))
    if g.version < 11:
        return g.case([x], **g.maybe(min=[None, -1.5, 0.0], max=[None, 1.5, 3.0]))
    bounds = [np.array(v, kind) if v is not None else None for v in (g.pick("min", [None, 1, 0]), g.pick("max", [None, 2, 3, 0]))]
    return g.case([x, *bounds], constants=(1, 2))


def fits(x, low, high):
    """Values that a type cannot hold have no specified result."""
    with np.errstate(all="ignore"):
        wide = x.astype(np.float64)
        return np.where(np.isfinite(wide) & (np.trunc(wide) >= low) & (np.trunc(wide) <= high), x, np.zeros_like(x)).astype(x.dtype)


def cast_operands(g):
    source, target = g.type(0), g.type(0 if g.op == "Cast" else 1, outputs=g.op == "Cast")
    x = g.tensor(source, g.shape(), -4, 4 if not is_integer(target) else 6, edges=g.chance("edges"))
    if is_integer(target) and not is_integer(source):
        x = fits(x, *onnx_range(target))
    if np.dtype(target).name == "float8_e8m0fnu" or np.dtype(target).name == "float4_e2m1fn":  # what else they make of it is unspecified
        x = np.where(np.isfinite(x.astype(np.float64)) & (x.astype(np.float64) > 0), x, np.ones_like(x)).astype(x.dtype)
    return x, target


@family("Cast")
def cast(g):
    x, target = cast_operands(g)
    small = np.dtype(target).name.startswith("float8")
    return g.case([x], out_types=[target], constants=(0,), to=dtype_number(target), saturate=g.pick("saturate", [None, 0, 1]) if small and g.version >= 19 else None)


@family("CastLike")
def cast_like(g):
    x, target = cast_operands(g)
    small = np.dtype(target).name.startswith("float8")
    return g.case([x, g.tensor(target, g.shape(site="like"))], out_types=[target],
                  saturate=g.pick("saturate", [None, 0, 1]) if small and g.version >= 19 else None)


@family("BitCast")
def bit_cast(g):
    def bits(kind):
        name = np.dtype(kind).name
        return 8 if name == "bool" else int("".join(c for c in name.replace("bfloat", "").replace("float", "").split("_")[0].split("e")[0] if c.isdigit()) or 8)
    source, target = g.type(0), g.type(0, outputs=True)
    if bits(source) != bits(target) or np.bool_ in (source, target):
        raise Unfit
    return g.case([g.tensor(source, g.shape(), edges=True)], out_types=[target], to=dtype_number(target))


@family("Softmax", "LogSoftmax", "Hardmax")
def along_axis(g):
    x = g.tensor(g.type(0), g.shape(least=1), edges=False)
    axis = g.pick("given", [None, True]) and g.axis(x.ndim)
    if g.version < 11 and axis is not None:
        axis = axis % x.ndim
    if g.version < 13 and axis is None and x.ndim < 2:
        axis = 0
    if g.op == "Hardmax" and x.size == 0:
        raise Unfit
    return g.case([x], axis=axis)


REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare")


@family(*REDUCTIONS)
def reduction(g):  # not roots and logarithms of integers: no rounding is specified
    kind = g.type(0, (lambda t: not is_integer(t)) if g.op in ("ReduceLogSum", "ReduceLogSumExp", "ReduceL2") else None)
    positive = g.op in ("ReduceLogSum",)
    x = g.tensor(kind, g.shape(), 0.1 if positive else -3, 3)
    if positive:
        x = np.maximum(x, np.array(1, kind)) if x.size else x
    axes = sorted(g.rng.choice(x.ndim, int(g.rng.integers(1, x.ndim + 1)), replace=False).tolist()) if x.ndim and g.chance("axes") else None
    if axes and g.version >= 11 and g.chance("negative"):
        axes = [a - x.ndim for a in axes]
    mean_of_none = x.size == 0
    if mean_of_none and g.op in ("ReduceMean", "ReduceMax", "ReduceMin"):
        raise Unfit  # of no element
    keep = g.pick("keepdims", [None, 0, 1])
    if g.version >= (13 if g.op == "ReduceSum" else 18):
        noop = g.pick("noop", [None, 0, 1])
        given = None if axes is None else np.array(axes, np.int64)
        if axes is None and g.chance("empty axes"):
            given = np.zeros(0, np.int64)
        return g.case([x, given], constants=(1,), keepdims=keep, noop_with_empty_axes=noop)
    return g.case([x], axes=axes, keepdims=keep)


@family("ArgMax", "ArgMin")
def arg(g):
    x = g.tensor(g.type(0), [d or 1 for d in g.shape(least=1)], -2, 2)
    axis = g.axis(x.ndim)
    if g.version < 11:
        axis %= x.ndim
    return g.case([x], axis=g.pick("given", [axis, axis, axis, None]), **g.maybe(keepdims=[None, 0, 1], select_last_index=[None, 0, 1]))


@family("CumSum", "CumProd")
def cumulative(g):
    x = g.tensor(g.type(0), g.shape(least=1))
    axis = np.array(g.axis(x.ndim), g.type(1))
    return g.case([x, axis.reshape(g.pick("axis shape", [(), (1,)]) if g.op == "CumSum" and False else ())], constants=(1,),
                  **g.maybe(exclusive=[None, 0, 1], reverse=[None, 0, 1]))


@family("LayerNormalization", "RMSNormalization")
def layer_norm(g):
    x = g.tensor(g.type(0), [d or 2 for d in g.shape(least=1)])
    axis = g.axis(x.ndim)
    tail = x.shape[axis:]
    if g.chance("tail broadcast", 5):
        tail = tail[1:]
    scale = g.tensor(x.dtype, tail)
    stash = {"stash_type": g.pick("stash", [None, 1])}
    epsilon = g.pick("epsilon", [None, 1e-5, 1e-2])
    if g.op == "RMSNormalization":
        return g.case([x, scale], axis=axis, epsilon=epsilon, **stash)
    bias = g.tensor(x.dtype, tail) if g.chance("bias") else None
    outputs = 3 if g.chance("statistics", 3) else 1
    return g.case([x, scale, bias], outputs=outputs, out_types=[None, np.float32, np.float32], constants=(1, 2), axis=axis, epsilon=epsilon, **stash)


@family("GroupNormalization")
def group_norm(g):
    groups, per = g.pick("groups", [1, 2, 3]), g.pick("per", [1, 2, 4])
    x = g.tensor(g.type(0), [2, groups * per, *[3, 4, 2][:g.pick("spatial", [1, 2, 3])]])
    n = groups * per if g.version >= 21 else groups
    return g.case([x, g.tensor(x.dtype, [n]), g.tensor(x.dtype, [n])], constants=(1, 2), num_groups=groups, **g.maybe(epsilon=[None, 1e-2]))


@family("InstanceNormalization")
def instance_norm(g):
    x = g.tensor(g.type(0), [2, 3, *[3, 4, 2][:g.pick("spatial", [1, 2, 3])]])
    return g.case([x, g.tensor(x.dtype, [3]), g.tensor(x.dtype, [3])], constants=(1, 2), **g.maybe(epsilon=[None, 1e-2]))


@family("BatchNormalization")
def batch_norm(g):
    x = g.tensor(g.type(0), [2, 3, *[3, 4, 2][:g.pick("spatial", [0, 1, 2, 3])]])
    scale_type, mean_type = (x.dtype, x.dtype) if g.version < 14 else (g.type(1) if g.version >= 15 else x.dtype, g.type(3))
    more = [g.tensor(scale_type, [3]), g.tensor(scale_type, [3]), g.tensor(mean_type, [3]), g.tensor(mean_type, [3], 0.5, 3)]
    more[3] = np.maximum(np.abs(more[3]), np.array(0.5, mean_type))
    return g.case([x, *more], constants=(1, 2, 3, 4), **g.maybe(epsilon=[None, 1e-2], momentum=[None, 0.5], training_mode=[None, 0]))


@family("LpNormalization")
def lp_norm(g):
    x = g.tensor(g.type(0), [d or 2 for d in g.shape(least=1)])
    return g.case([x], axis=g.pick("given", [None, True]) and g.axis(x.ndim), **g.maybe(p=[None, 1, 2]))


@family("MeanVarianceNormalization")
def mvn(g):
    x = g.tensor(g.type(0), [2, 3, 4, 3])
    return g.case([x], **g.maybe(axes=[None, [0, 2, 3], [0, 1, 2, 3], [-1], [1, 3]]))


@family("LRN")
def lrn(g):
    x = g.tensor(g.type(0), [2, g.pick("channels", [1, 3, 6]), 3, 3])
    return g.case([x], size=g.pick("size", [1, 3, 5]), **g.maybe(alpha=[None, 0.5], beta=[None, 0.5, 1.0], bias=[None, 2.0]))


@family("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(g):
    kind, classes = g.type(0), 4
    tail = [3, 2][:g.pick("spatial", [0, 1, 2])]
    scores = g.tensor(kind, [3, classes, *tail])
    target_type = g.type(1)
    target = g.rng.integers(0, classes, [3, *tail]).astype(target_type)
    weight = g.tensor(kind, [classes], 0.5, 2) if g.chance("weight") else None
    if weight is not None:
        weight = np.maximum(np.abs(weight), np.array(0.5, kind))
    ignore = g.pick("ignore", [None, 1, -1])
    if ignore == -1 and g.op != "x":
        target.flat[0] = -1
    reduction_kind = g.pick("reduction", [None, "none", "sum", "mean"])
    second = g.op == "SoftmaxCrossEntropyLoss" and g.chance("log_prob")
    return g.case([scores, target, weight], outputs=2 if second else 1, reduction=reduction_kind, ignore_index=ignore)


@family("Dropout")
def dropout(g):
    x = g.tensor(g.type(0), g.shape(), edges=True)
    mask = g.chance("mask", 3)
    if g.version < 12:
        return g.case([x], outputs=2 if mask else 1, out_types=[None, np.bool_ if g.version >= 10 else x.dtype], **g.maybe(ratio=[None, 0.25]))
    ratio = np.array(g.pick("ratio value", [0.5, 0.0]), g.type(1)) if g.chance("ratio") else None
    training = np.array(False) if g.chance("training") else None
    return g.case([x, ratio, training], outputs=2 if mask else 1, out_types=[None, np.bool_], constants=(1, 2), **g.maybe(seed=[None, 3]))


# -- quantization --

def zero_point(g, kind, shape, given=True):
    if not given:
        return None
    if is_integer(kind):
        lo, hi = onnx_range(kind)
        return g.tensor(kind, shape, max(lo, -3), min(hi, 5)) if np.dtype(kind).itemsize < 4 else np.zeros(shape, kind)
    return np.zeros(shape, kind)


def quantization_layout(g):
    """x's shape, the scale's shape, axis and block size."""
    shape = [2, 4, 3]
    form = g.pick("layout", ["tensor", "axis", "blocks"])
    if form == "tensor" or g.version < 13:
        return shape, [], {}
    axis = g.axis(3)
    if form == "axis" or g.version < 21:
        return shape, [shape[axis]], {"axis": axis}
    axis = g.pick("block axis", [1, -2])
    block = g.pick("block", [1, 2, 3, 4])
    per = list(shape)
    per[axis] = -(-shape[axis] // block)
    return shape, per, {"axis": axis, "block_size": block}


def positive_scale(g, kind, shape):
    return (2.0 ** g.rng.integers(-3, 2, shape) * g.pick("scale factor", [1.0, 1.5])).astype(kind)


@family("QuantizeLinear")
def quantize(g):
    kind = g.type(0)
    shape, per, layout = quantization_layout(g)
    scale_type = g.type(1) if g.version >= 23 else kind if g.version >= 19 else np.dtype(np.float32)
    if np.dtype(scale_type).name not in ("float32", "float16", "bfloat16") or (np.dtype(kind).name != "int32" and scale_type != kind):
        raise Unfit
    x = g.tensor(kind, shape, -40, 40, edges=False)
    given = g.chance("zero point", 2)
    to = g.type(2, outputs=False) if len(g.schema.inputs) > 2 else np.dtype(np.uint8)
    if not given:
        to = np.dtype(np.uint8)
    more = {}
    if g.version >= 21 and not given and g.chance("output type"):
        to = g.type(2)
        more["output_dtype"] = dtype_number(to)
    if np.dtype(to).name.startswith("float8") and g.version >= 19:
        more["saturate"] = g.pick("saturate", [None, 0, 1]) if kind == np.float32 else None
    if g.version >= 19 and np.dtype(to).name == "float8_e8m0fnu":
        raise Unfit
    return g.case([x, positive_scale(g, scale_type, per), zero_point(g, to, per, given)], out_types=[to], constants=(1, 2), **layout, **more)


@family("DequantizeLinear")
def dequantize(g):
    kind = g.type(0)
    shape, per, layout = quantization_layout(g)
    scale_type = g.type(1)
    x = g.tensor(kind, shape, -100, 100, edges=is_integer(kind) and g.chance("edges"))
    given = g.chance("zero point") and np.dtype(kind).name not in ("int32",)
    out = scale_type
    more = {}
    if g.version >= 23 and g.chance("output type", 3):
        out = g.type(0, outputs=True)
        more["output_dtype"] = dtype_number(out)
    if np.dtype(out).name == "float8_e8m0fnu":
        raise Unfit  # no rounding is specified
    return g.case([x, positive_scale(g, scale_type, per), zero_point(g, kind, per, given)], out_types=[out], constants=(1, 2), **layout, **more)


@family("DynamicQuantizeLinear")
def dynamic_quantize(g):
    low, high = g.pick("range", [(-4, 4), (1, 5), (-9, -2), (0, 0)])
    shape = [d or 1 for d in g.shape(least=1)]
    return g.case([(g.rng.random(shape) * (high - low) + low).astype(np.float32)], outputs=3)


@family("Shape")
def shape_of(g):
    x = g.tensor(g.type(0), g.shape())
    return g.case([x], **g.maybe(start=[None, 0, 1, -1, -9, 9], end=[None, 2, -1, 9, -9]))


@family("Size")
def size_of(g):
    return g.case([g.tensor(g.type(0), g.shape())])


@family("NonZero")
def non_zero(g):
    return g.case([g.tensor(g.type(0), g.shape(), -1, 1)])


@family("Constant")
def constant(g):
    import onnx
    options = ["value"] if g.version < 12 else ["value", "value_float", "value_floats", "value_int", "value_ints"]
    form = g.pick("form", options)
    kind = g.type(0, outputs=True)
    made = {"value": g.tensor(kind, g.shape(), edges=True), "value_float": np.float32(0.5), "value_floats": np.array([1.5, -0.0, 3], np.float32),
            "value_int": np.int64(-7), "value_ints": np.array([3, -1], np.int64)}[form]
    value = onnx.numpy_helper.from_array(made) if form == "value" else made.tolist()
    return g.case([], out_types=[np.asarray(made).dtype], **{form: value})


@family("ConstantOfShape")
def constant_of_shape(g):
    import onnx
    kind = g.type(0, outputs=True)
    value = g.tensor(kind, [1], edges=True)
    given = g.chance("value", 4) is False
    return g.case([np.array(g.shape(), np.int64)], out_types=[kind if given else np.dtype(np.float32)], constants=(0,),
                  value=onnx.numpy_helper.from_array(value) if given else None)


@family("EyeLike")
def eye_like(g):
    x = g.tensor(g.type(0), [d or 2 for d in g.shape(least=2, most=2)])
    target = g.type(0, outputs=True) if g.chance("dtype") else None
    return g.case([x], out_types=[x.dtype if target is None else target], dtype=None if target is None else dtype_number(target), **g.maybe(k=[None, 0, 1, -2, 9]))


@family("Range")
def range_of(g):
    kind = g.type(0)
    start, limit, delta = g.pick("range", [(0, 5, 1), (5, 0, -2), (1, 1, 1), (3, 1, 1), (-2, 7, 3), (0.5, 3.25, 0.5)])
    if is_integer(kind):
        start, limit = int(start), int(limit)
        delta = int(delta) or 1
    return g.case([np.array(v, kind) for v in (start, limit, delta)], constants=(0, 1, 2))


