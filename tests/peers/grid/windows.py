# SPDX-License-Identifier: Apache-2.0
"""Families of windows and images: convolutions, pools, sampling."""

import numpy as np

from .core import Unfit, family, is_integer


def geometry(g, least=1, dilates=True, ceil=False):
    """Spatial sizes, kernel and the attributes of a window; pads smaller than the kernel."""
    rank = g.pick("spatial", [1, 2, 2, 3])
    kernel = [int(g.pick("kernel", [1, 2, 3])) for _ in range(rank)]
    strides = [int(g.pick("stride", [1, 2, 3])) for _ in range(rank)] if g.chance("strides") else None
    dilations = [int(g.pick("dilation", [1, 2])) for _ in range(rank)] if dilates and g.chance("dilations", 3) else None
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations or [1] * rank)]
    sizes = [r + int(g.rng.integers(0, 4)) for r in reach]
    auto = g.pick("auto_pad", [None, None, "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        if any((-(-s // t) - 1) * t + r < s for s, t, r in zip(sizes, strides or [1] * rank, reach)):
            raise Unfit  # less than no padding: the specification has no meaning for it
    pads = [int(g.rng.integers(0, k)) for k in kernel * 2] if auto in (None, "NOTSET") and g.chance("pads") else None
    return rank, sizes, kernel, {"strides": strides, "dilations": dilations, "auto_pad": auto, "pads": pads}


@family("Conv")
def conv(g):
    rank, sizes, kernel, more = geometry(g)
    if more["auto_pad"] in ("SAME_UPPER", "SAME_LOWER") and more["dilations"]:
        more["dilations"] = None
    group, per = g.pick("group", [1, 1, 2, 3]), g.pick("per", [1, 2])
    kind = g.type(0)
    x = g.tensor(kind, [g.pick("batch", [1, 2]), group * per, *sizes])
    w = g.tensor(kind, [group * g.pick("out", [1, 2]), per, *kernel])
    bias = g.tensor(kind, [w.shape[0]]) if g.chance("bias") else None
    return g.case([x, w, bias], constants=(1, 2), kernel_shape=kernel if g.chance("kernel given") else None,
                  group=group if group > 1 else g.pick("group given", [None, 1]), **more)


@family("ConvTranspose")
def conv_transpose(g):
    rank, sizes, kernel, more = geometry(g)
    group, per = g.pick("group", [1, 1, 2]), g.pick("per", [1, 2])
    kind = g.type(0)
    x = g.tensor(kind, [g.pick("batch", [1, 2]), group * per, *sizes])
    w = g.tensor(kind, [group * per, g.pick("out", [1, 2]), *kernel])
    bias = g.tensor(kind, [w.shape[1] * group]) if g.chance("bias") else None
    strides = more["strides"] or [1] * rank
    if g.chance("output_padding", 3) and more["auto_pad"] in (None, "NOTSET"):
        more["output_padding"] = [int(g.rng.integers(0, s)) for s in strides]
    if more["auto_pad"] in ("SAME_UPPER", "SAME_LOWER"):
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, more["dilations"] or [1] * rank)]
        if any(r < s for r, s in zip(reach, strides)):
            raise Unfit
    return g.case([x, w, bias], constants=(1, 2), kernel_shape=kernel if g.chance("kernel given") else None, group=group, **more)


@family("ConvInteger")
def conv_integer(g):
    rank, sizes, kernel, more = geometry(g)
    if rank == 3:
        raise Unfit
    if more["auto_pad"] in ("SAME_UPPER", "SAME_LOWER"):
        more["dilations"] = None
    x = g.tensor(g.type(0), [1, 2, *sizes], -128, 255)
    w = g.tensor(g.type(1), [3, 2, *kernel], -128, 255)
    x_zero = g.tensor(x.dtype, [], -5, 9) if g.chance("x zero") else None
    w_zero = None
    if x_zero is not None and g.chance("w zero"):
        w_zero = g.tensor(w.dtype, g.pick("zero shape", [[], [1]]), -5, 9)
    return g.case([x, w, x_zero, w_zero], constants=(1, 3), **more)


@family("QLinearConv")
def qlinear_conv(g):
    rank, sizes, kernel, more = geometry(g)
    if rank == 3:
        raise Unfit
    if more["auto_pad"] in ("SAME_UPPER", "SAME_LOWER"):
        more["dilations"] = None
    if rank == 1:
        raise Unfit  # the reference evaluator adds an axis, and ONNX Runtime knows few of the types
    x, w = g.tensor(g.type(0), [1, 2, *sizes], -128, 255), g.tensor(g.type(3), [3, 2, *kernel], -128, 255)
    per = [3] if g.chance("per channel") else []
    def scale(shape):
        return (2.0 ** g.rng.integers(-7, -3, shape) * 1.25).astype(np.float32)
    y_zero = g.tensor(g.type(7), [], -3, 9)
    if y_zero.dtype != x.dtype:
        raise Unfit  # ONNX Runtime has one type for both
    w_zero = np.zeros(per, w.dtype) if w.dtype == np.int8 else np.full(per, g.pick("wz", [0, 128]), w.dtype)
    bias = g.rng.integers(-300, 300, [3]).astype(np.int32) if g.chance("bias") else None
    return g.case([x, scale([]), g.tensor(x.dtype, [], -5, 9), w, scale(per), w_zero, (scale([]) * 64).astype(np.float32), y_zero, bias],
                  constants=("always", 1, 2, 3, 4, 5, 6, 7, 8), **more)


@family("MaxPool", "AveragePool", "LpPool")
def pool(g):
    kind = g.type(0)
    rank, sizes, kernel, more = geometry(g, dilates="dilations" in g.schema.attributes)
    if "ceil_mode" in g.schema.attributes:
        more["ceil_mode"] = g.pick("ceil", [None, 0, 1])
        if g.op == "LpPool" and kind == np.float64:
            more["ceil_mode"] = None  # nobody to ask: ONNX Runtime has float32 alone, and the reference evaluator divides by the cells outside
    if "count_include_pad" in g.schema.attributes:
        more["count_include_pad"] = g.pick("include", [None, 0, 1])
    if g.op == "LpPool":
        more["p"] = g.pick("p", [None, 1, 2, 3])
    if more["auto_pad"] in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        more["dilations"] = None if more["auto_pad"] != "VALID" else more["dilations"]
    x = g.tensor(kind, [g.pick("batch", [1, 2]), g.pick("channels", [1, 3]), *sizes])
    more = {k: v for k, v in more.items() if k in g.schema.attributes}
    if g.op == "MaxPool" and g.version >= 8 and g.chance("indices"):
        return g.case([x], outputs=2, out_types=[None, np.int64], kernel_shape=kernel, storage_order=g.pick("order", [None, 0, 1]), **more)
    return g.case([x], kernel_shape=kernel, **more)


@family("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(g):
    return g.case([g.tensor(g.type(0), [2, 3, *[4, 3, 2][:g.pick("spatial", [1, 2, 3])]])], **g.maybe(p=[None, 1, 2, 3]))


@family("MaxUnpool")
def max_unpool(g):
    x = g.tensor(g.type(0), [1, 2, 2, 3])
    shape = [1, 2, 4, 6]
    which = np.stack([g.rng.choice(24, 6, replace=False) + 24 * c for c in range(2)]).reshape(1, 2, 2, 3).astype(np.int64)
    given = np.array(shape, np.int64) if g.chance("shape") else None
    return g.case([x, which, given], constants=(2,), kernel_shape=[2, 2], strides=[2, 2], pads=g.pick("pads", [None, [0, 0, 0, 0]]))


@family("Col2Im")
def col2im(g):
    image, block = g.pick("image", [[5, 5], [4, 6], [6]]), None
    block = [2, 3][:len(image)]
    dilations = g.pick("dilations", [None, [1, 2]])
    strides, pads = g.pick("strides", [None, [2, 1]]), g.pick("pads", [None, [1, 0, 0, 1]])
    n = len(image)
    dilations, strides = dilations and dilations[:n], strides and strides[:n]
    pads = pads and ([pads[0], pads[2]] if n == 1 else pads)
    counts = [(s + (pads or [0] * 2 * n)[i] + (pads or [0] * 2 * n)[i + n] - (dilations or [1] * n)[i] * (block[i] - 1) - 1) // (strides or [1] * n)[i] + 1
              for i, s in enumerate(image)]
    x = g.tensor(g.type(0), [2, 3 * int(np.prod(block)), int(np.prod(counts))])
    return g.case([x, np.array(image, np.int64), np.array(block, np.int64)], constants=(1, 2), dilations=dilations, strides=strides, pads=pads)


@family("DeformConv")
def deform_conv(g):
    kind, kernel, group, offsets = g.type(0), [2, g.pick("kernel", [1, 2])], g.pick("group", [1, 2]), g.pick("offset_group", [1, 2])
    stride, pads = g.pick("strides", [None, [2, 1]]), g.pick("pads", [None, [1, 0, 1, 1]])
    size = [4, 5]
    out = [(s + sum((pads or [0] * 4)[i::2]) - k) // (stride or [1, 1])[i] + 1 for i, (s, k) in enumerate(zip(size, kernel))]
    x = g.tensor(kind, [2, 4, *size])
    w = g.tensor(kind, [2, 4 // group, *kernel])
    taps = kernel[0] * kernel[1]
    offset = g.tensor(kind, [2, offsets * taps * 2, *out], -1.5, 1.5)
    bias = g.tensor(kind, [2]) if g.chance("bias") else None
    mask = g.tensor(kind, [2, offsets * taps, *out], 0, 1) if g.chance("mask") else None
    return g.case([x, w, offset, bias, mask], constants=(1, 3), kernel_shape=g.pick("kernel given", [None, kernel]), group=group, offset_group=offsets,
                  strides=stride, pads=pads)


def boxes_in(g, kind, count, size):
    low = g.rng.random([count, 2]) * size * 0.5
    return np.concatenate([low, low + g.rng.random([count, 2]) * size * 0.5 + 0.5], 1).astype(kind)


@family("RoiAlign")
def roi_align(g):
    kind = g.type(0)
    return g.case([g.tensor(kind, [2, 2, 6, 7]), boxes_in(g, kind, 3, 8), g.rng.integers(0, 2, [3]).astype(np.int64)],
                  **g.maybe(mode=[None, "avg", "max"], output_height=[None, 2, 3], output_width=[None, 2], sampling_ratio=[None, 0, 2], spatial_scale=[None, 0.5],
                            coordinate_transformation_mode=[None, "half_pixel", "output_half_pixel"]))


@family("MaxRoiPool")
def max_roi_pool(g):
    kind = g.type(0)
    rois = np.concatenate([g.rng.integers(0, 2, [3, 1]), np.round(boxes_in(g, np.float64, 3, 5))], 1).astype(kind)
    return g.case([g.tensor(kind, [2, 2, 6, 7]), rois], pooled_shape=g.pick("pooled", [[2, 2], [1, 3]]), **g.maybe(spatial_scale=[None, 1.0, 0.5]))


@family("AffineGrid")
def affine_grid(g):
    rank = g.pick("rank", [2, 3])
    size = [2, 3, *[3, 4, 2][:rank]]
    return g.case([g.tensor(g.type(0), [2, rank, rank + 1]), np.array(size, np.int64)], constants=(1,), align_corners=g.pick("align", [None, 0, 1]))


@family("GridSample")
def grid_sample(g):
    kind, rank = g.type(0), 2 if g.version < 20 else g.pick("rank", [2, 3])
    modes = ["bilinear", "nearest", "bicubic"] if g.version < 20 else ["linear", "nearest", "cubic"]
    mode = g.pick("mode", [None, *(modes if rank == 2 else modes[:2])])
    if is_integer(kind) or kind == np.bool_:
        mode = "nearest"  # interpolation of integers has no rounding in the specification
    x = g.tensor(kind, [2, 2, *[4, 3, 2][:rank]])
    grid = g.tensor(g.type(1) if g.schema.inputs[1].type_str != g.schema.inputs[0].type_str else kind, [2, *[3, 2, 2][:rank], rank], -1.3, 1.3)
    return g.case([x, grid], mode=mode, padding_mode=g.pick("padding", [None, "zeros", "border", "reflection"]), align_corners=g.pick("align", [None, 0, 1]))


@family("Upsample")
def upsample(g):
    x, mode = g.tensor(g.type(0), [1, 2, 3, 4]), g.pick("mode", [None, "nearest", "linear"])
    if mode == "linear" and (is_integer(x.dtype) or x.dtype == np.bool_):
        raise Unfit
    scales = g.pick("scales", [[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 1.0, 3.0], [1.0, 1.0, 1.5, 2.0]])
    if g.version < 9:
        return g.case([x], scales=scales, mode=mode)
    return g.case([x, np.array(scales, np.float32)], constants=("always", 1), mode=mode)


@family("Resize")
def resize(g):
    kind = g.type(0)
    mode = g.pick("mode", [None, "nearest", "linear"] + (["cubic"] if g.version >= 11 else []))
    x = g.tensor(kind, [1, 2, *g.pick("image", [(5, 4), (10, 4)])])
    if (is_integer(kind) or kind == np.bool_) and mode in ("linear", "cubic"):
        raise Unfit  # rounding of integers is not specified
    scales = np.array([1, 1, *g.pick("scales", [(2, 2), (0.5, 0.75), (1.5, 3), (0.75, 2), (0.7, 1)])], np.float32)
    if np.float32(0.7) in scales and (kind != np.float32 or mode != "linear"):
        raise Unfit  # 10 * 0.7 is 7 in float32, and places that lie on a border in one precision do not in another
    sizes = np.array([1, 2, *g.pick("sizes", [(3, 7), (10, 8), (5, 4), (2, 2)])], np.int64)
    if g.version < 11:
        if np.any(scales > 1) and np.any(scales < 1) and mode in (None, "nearest"):
            g.tags.add("mixed")
        return g.case([x, scales], constants=("always", 1), mode=mode)
    more = {"mode": mode}
    transforms = ["half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners", "tf_crop_and_resize"]
    transforms += ["tf_half_pixel_for_nn"] if g.version < 13 else []
    transforms += ["half_pixel_symmetric"] if g.version >= 19 else []
    transform = more["coordinate_transformation_mode"] = g.pick("transform", [None, *transforms])
    if mode in (None, "nearest"):
        more["nearest_mode"] = g.pick("nearest", [None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        more["cubic_coeff_a"] = g.pick("cubic", [None, -0.5])
        more["exclude_outside"] = g.pick("exclude", [None, 0, 1])
    roi = None
    if transform == "tf_crop_and_resize":
        roi = np.array([0, 0, 0.125, 0.25, 1, 1, 0.75, 0.875], np.float32)
        more["extrapolation_value"] = g.pick("extrapolation", [None, 2.5])
    by_size = g.chance("by size")
    if g.version >= 18:
        if g.chance("axes", 3):
            more["axes"] = g.pick("which axes", [[2, 3], [-2, -1]])
            scales, sizes = scales[2:], sizes[2:]
            roi = None if roi is None else roi[[2, 3, 6, 7]]
        if mode in ("linear", "cubic"):
            more["antialias"] = g.pick("antialias", [None, 0, 1])
        if by_size and transform != "tf_crop_and_resize":
            more["keep_aspect_ratio_policy"] = g.pick("policy", [None, "stretch", "not_larger", "not_smaller"])
            if more["keep_aspect_ratio_policy"] in ("not_larger", "not_smaller"):
                more["axes"], sizes = [2, 3], sizes[-2:]
    if g.version < 13 and roi is None:
        roi = np.zeros(0, np.float32)
    if g.version < 13 and by_size:
        return g.case([x, roi, np.zeros(0, np.float32), sizes], constants=("always", 1, 2, 3), **more)
    return g.case([x, roi, None, sizes] if by_size else [x, roi, scales], constants=("always", 1, 2, 3), **more)


@family("NonMaxSuppression")
def non_max_suppression(g):
    center = g.pick("center", [None, 0, 1])
    count, batches, classes = 6, g.pick("batches", [1, 2]), g.pick("classes", [1, 2])
    boxes = np.stack([boxes_in(g, np.float32, count, 4) for _ in range(batches)])
    if center:
        boxes = np.concatenate([boxes[..., :2] + 1, boxes[..., 2:] - boxes[..., :2]], -1).astype(np.float32)
    scores = np.stack([g.rng.permutation(count * classes).reshape(classes, count) / 12 for _ in range(batches)]).astype(np.float32)
    def number(site, options, kind):
        value = g.pick(site, options)
        return None if value is None else np.array([value], kind)
    given = [number("most", [2, 5, 0, None], np.int64), number("iou", [None, 0.3, 0.6], np.float32), number("score", [None, 0.2], np.float32)]
    return g.case([boxes, scores, *given], constants=(2, 3, 4), center_point_box=center)
