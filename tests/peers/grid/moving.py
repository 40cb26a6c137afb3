# SPDX-License-Identifier: Apache-2.0
"""Families that move elements: the results are the operands' elements at other places, or numbers of places."""

import numpy as np

from .core import Unfit, dtype_number, family, is_float, is_integer


def full(shape):
    """Without empty axes."""
    return [d or 2 for d in shape]


def ints(values):
    return np.array(values, np.int64)


@family("Concat")
def concat(g):
    kind, shape = g.type(0), g.shape(least=1)
    axis = g.axis(len(shape))
    if g.version < 11:
        axis %= len(shape)
    parts = []
    for _ in range(g.pick("count", [1, 2, 3])):
        part = list(shape)
        part[axis] = int(g.rng.integers(0, 4))
        parts.append(g.tensor(kind, part, edges=True))
    return g.case(parts, constants=(1,), axis=axis)


@family("Split")
def split(g):
    x = g.tensor(g.type(0), full(g.shape(least=1)), edges=True)
    axis = g.axis(x.ndim)
    if g.version < 11:
        axis %= x.ndim
    length, count = x.shape[axis], g.pick("count", [1, 2, 3])
    if g.chance("sizes"):
        cuts = sorted(g.rng.integers(0, length + 1, count - 1).tolist())
        sizes = np.diff([0, *cuts, length]).tolist()
    elif g.version >= 18 and g.chance("num_outputs", 1):
        chunk = -(-length // count)
        if chunk * (count - 1) > length:
            raise Unfit
        if chunk * (count - 1) == length:
            raise Unfit  # an empty last part: the specification wants a smaller one
        return g.case([x], outputs=count, axis=axis, num_outputs=count)
    else:
        if length % count:
            raise Unfit
        sizes = None
    if g.version >= 18 and sizes is None:
        raise Unfit
    if g.version < 13:
        return g.case([x], outputs=count, axis=axis, split=sizes)
    return g.case([x, None if sizes is None else ints(sizes)], outputs=count, constants=(1,), axis=axis)


@family("Slice")
def slice_of(g):
    x = g.tensor(g.type(0), g.shape(least=1), edges=True)
    count = int(g.rng.integers(1, x.ndim + 1))
    axes = g.rng.choice(x.ndim, count, replace=False).tolist()
    ends = [0, 1, 2, 3, -1, -2, 99, -99, 2**31 - 1, 2**63 - 1, -(2**63)]
    start = [int(g.pick("start", [0, 0, 1, -1, -2, 7, -7])) for _ in axes]
    end = [int(g.pick("end", ends)) for _ in axes]
    step = [int(g.pick("step", [1, 1, 2, -1, -2, 3])) for _ in axes] if g.version >= 10 and g.chance("steps") else None
    if g.chance("default axes", 3):
        axes = None
        start, end = start[:count], end[:count]
    elif g.version >= 10 and g.chance("negative"):
        axes = [a - x.ndim for a in axes]
    if g.version < 10:
        return g.case([x], axes=axes, starts=start, ends=end)
    kind = g.type(1)
    if np.dtype(kind) == np.int32:
        end = [int(np.clip(e, -(2**31), 2**31 - 1)) for e in end]
    given = [np.array(start, kind), np.array(end, kind), None if axes is None else np.array(axes, kind), None if step is None else np.array(step, kind)]
    return g.case([x, *given], constants=(1, 2, 3, 4))


@family("Pad")
def pad(g):
    x = g.tensor(g.type(0), full(g.shape(least=1, most=4)), edges=True)
    mode = g.pick("mode", [None, "constant", "reflect", "edge"] + (["wrap"] if g.version >= 19 else []))
    n = x.ndim
    axes = None
    if g.version >= 18 and g.chance("axes", 3):
        n = int(g.rng.integers(1, x.ndim + 1))
        axes = g.rng.choice(x.ndim, n, replace=False)
    along = x.shape if axes is None else [x.shape[a] for a in axes]
    most = [min(3, d - 1) if mode == "reflect" else min(3, d) for d in along]
    pads = [int(g.rng.integers(0, m + 1)) for m in most * 2]
    if mode in (None, "constant") and g.chance("negative pads", 3):
        pads = [-1 if d > 2 and g.rng.random() < 0.4 else p for d, p in zip(list(along) * 2, pads)]
    if g.version < 11:
        return g.case([x], mode=mode, pads=pads, **g.maybe(value=[None, 1.5]))
    if x.dtype.name == "float8_e8m0fnu":
        raise Unfit  # it has no 0 to pad with
    value = np.array(1, x.dtype) if mode in (None, "constant") and g.chance("value") else None
    kind = np.int64 if g.version < 18 else g.type(3)
    if axes is not None and g.chance("negative axes"):
        axes = axes - x.ndim
    return g.case([x, ints(pads), value, None if axes is None else np.asarray(axes).astype(kind)], constants=(1, 2, 3), mode=mode)


def indices(g, kind, shape, length, site="negative indices", negative=True):
    made = g.rng.integers(0, length, shape)
    if negative and g.chance(site):
        made = np.where(g.rng.random(shape) < 0.5, made - length, made)
    return np.asarray(made).astype(kind)


@family("Gather")
def gather(g):
    x = g.tensor(g.type(0), full(g.shape(least=1)), edges=True)
    axis = g.axis(x.ndim)
    which = indices(g, g.type(1), g.shape(most=2, site="index shape"), x.shape[axis], negative=g.version >= 11)
    if g.version < 11:
        axis %= x.ndim
    return g.case([x, which], constants=(1,), axis=g.pick("given", [axis, axis, axis, None]) if axis in (0,) else axis)


@family("GatherElements")
def gather_elements(g):
    x = g.tensor(g.type(0), full(g.shape(least=1)), edges=True)
    axis = g.axis(x.ndim)
    shape = [int(g.rng.integers(0 if g.rng.random() < 0.05 else 1, d + 1)) for d in x.shape]
    shape[axis] = int(g.rng.integers(1, 6))
    return g.case([x, indices(g, g.type(1), shape, x.shape[axis])], constants=(1,), axis=axis)


def index_tuples(g, shape, depth, lead, unique=False):
    """[lead..., depth]: places in the first `depth` axes."""
    count = int(np.prod(lead))
    room = int(np.prod(shape[:depth])) if depth else 1
    if unique and count > room:
        raise Unfit
    flat = g.rng.choice(room, count, replace=False) if unique else g.rng.integers(0, room, count)
    made = np.stack(np.unravel_index(flat, shape[:depth]), -1) if depth else np.zeros((count, 0))
    made = made.reshape([*lead, depth]).astype(np.int64)
    if g.chance("negative tuples"):
        made = np.where(g.rng.random(made.shape) < 0.5, made - np.array(shape[:depth], np.int64), made)
    return made.astype(np.int64)


@family("GatherND")
def gather_nd(g):
    x = g.tensor(g.type(0), full(g.shape(least=1, most=4)), edges=True)
    batch = g.pick("batch", [0, 0, 1]) if g.version >= 12 and x.ndim > 1 else 0
    depth = int(g.rng.integers(1, x.ndim - batch + 1))
    lead = list(x.shape[:batch]) + [2, 3][:g.pick("lead", [0, 1, 2])]
    made = index_tuples(g, x.shape[batch:], depth, lead)
    return g.case([x, made], constants=(1,), batch_dims=batch or g.pick("batch given", [None, 0]) if g.version >= 12 else None)


@family("Scatter", "ScatterElements")
def scatter_elements(g):
    x = g.tensor(g.type(0), full(g.shape(least=1, most=4)))
    axis = g.axis(x.ndim)
    how = g.pick("reduction", [None, "none", "add", "mul", "max", "min"][:{11: 1, 13: 1, 16: 4, 18: 6}.get(g.version, 1)]) if g.op == "ScatterElements" else None
    if x.dtype == np.bool_ and how in ("add", "mul", "max", "min"):
        raise Unfit
    shape = [int(g.rng.integers(1, d + 1)) for d in x.shape]
    if how in (None, "none"):  # equal indices would leave the result open
        along = np.stack([g.rng.permutation(x.shape[axis])[:shape[axis]] for _ in range(int(np.prod(shape)) // shape[axis])])
        moved = np.delete(np.array(shape), axis)
        made = np.moveaxis(along.reshape([*moved, shape[axis]]), -1, axis)
    else:
        made = g.rng.integers(0, x.shape[axis], shape)
    if g.version >= 11 and g.chance("negative"):
        made = made - x.shape[axis]
    if g.version < 11 and g.op == "Scatter":
        axis %= x.ndim
    return g.case([x, np.ascontiguousarray(made).astype(g.type(1)), g.tensor(x.dtype, shape)], constants=(1,), axis=axis, reduction=how)


@family("ScatterND")
def scatter_nd(g):
    x = g.tensor(g.type(0), full(g.shape(least=1, most=4)))
    how = g.pick("reduction", [None, "none", "add", "mul", "max", "min"][:{11: 1, 13: 1, 16: 4, 18: 6}[g.version]])
    if x.dtype == np.bool_ and how in ("add", "mul", "max", "min"):
        raise Unfit
    depth = int(g.rng.integers(1, x.ndim + 1))
    lead = [2, 2][:g.pick("lead", [1, 2])] if int(np.prod(x.shape[:depth])) >= 4 else [1]
    made = index_tuples(g, x.shape, depth, lead, unique=how in (None, "none"))
    return g.case([x, made, g.tensor(x.dtype, [*lead, *x.shape[depth:]])], constants=(1,), reduction=how)


@family("TensorScatter")
def tensor_scatter(g):
    rank = g.pick("rank", [3, 4])
    shape = [2, 3, 5, 4][-rank:] if rank == 4 else [2, 5, 4]
    axis = g.pick(f"axis{rank}", [None, *range(1, rank), *range(-rank + 1, 0)])
    at = axis if axis is not None else -2
    mode = g.pick("mode", [None, "linear", "circular"])
    x = g.tensor(g.type(0), shape)
    part = list(shape)
    part[at] = int(g.rng.integers(1, shape[at]))
    room = shape[at] - part[at] if mode != "circular" else shape[at] - 1
    where = g.rng.integers(0, room + 1, shape[0]).astype(np.int64) if g.chance("indices", 1) and g.pick("with", [1, 1, 0]) else None
    return g.case([x, g.tensor(x.dtype, part), where], constants=(2,), axis=axis, mode=mode)


@family("Reshape")
def reshape(g):
    x = g.tensor(g.type(0), g.shape(), edges=True)
    target = [int(d) for d in g.rng.permutation([d for d in x.shape for d in ([d] if d < 4 or d % 2 else [2, d // 2])])]
    if x.size == 0:
        target = list(x.shape)
    zero = g.version >= 14 and g.chance("allowzero", 3)
    if not zero and 0 in target and target != list(x.shape):
        raise Unfit
    if x.size and g.chance("minus one"):
        if target:
            target[int(g.rng.integers(len(target)))] = -1
        else:
            target = [-1]
    elif x.size and not zero and g.chance("copied") and target and x.ndim and target[0] == x.shape[0]:
        target[0] = 0
    if zero and 0 in target and -1 in target:
        raise Unfit
    return g.case([x, ints(target)], constants=(1,), allowzero=1 if zero else g.pick("zero given", [None, 0]) if g.version >= 14 else None)


@family("Flatten")
def flatten(g):
    x = g.tensor(g.type(0), g.shape(), edges=True)
    axis = int(g.pick(f"axis{x.ndim}", range(-x.ndim if g.version >= 11 else 0, x.ndim + 1)))
    return g.case([x], axis=g.pick("given", [axis, axis, axis, None]) if x.ndim else axis)


@family("Squeeze", "Unsqueeze")
def squeeze(g):
    kind, shape = g.type(0), g.shape(most=3)
    wide = list(shape)
    for _ in range(g.pick("count", [1, 2])):
        wide.insert(int(g.rng.integers(0, len(wide) + 1)), 1)
    ones = [i for i, d in enumerate(wide) if d == 1]
    if g.op == "Unsqueeze":
        axes = g.rng.choice(ones, len(wide) - len(shape), replace=False)
        shape = [d for i, d in enumerate(wide) if i not in axes]
    else:
        axes, shape = g.rng.choice(ones, int(g.rng.integers(1, len(ones) + 1)), replace=False), wide
    axes = [int(a) for a in axes]
    if g.version >= 11 and g.chance("negative"):
        axes = [a - len(wide) for a in axes]
    if g.op == "Squeeze" and g.chance("all", 3):
        axes = None
    x = g.tensor(kind, shape, edges=True)
    if g.version < 13:
        return g.case([x], axes=axes)
    return g.case([x, None if axes is None else ints(axes)], constants=(1,))


@family("Transpose")
def transpose(g):
    x = g.tensor(g.type(0), g.shape(), edges=True)
    return g.case([x], perm=g.rng.permutation(x.ndim).tolist() if x.ndim and g.chance("perm", 1) and g.pick("with", [1, 1, 0]) else None)


@family("Expand")
def expand(g):
    kind = g.type(0)
    a, b = g.shapes_that_broadcast(2)
    small, big = (b, a) if g.chance("way") else (a, b)
    return g.case([g.tensor(kind, small, edges=True), ints(big)], constants=(1,))


@family("Tile")
def tile(g):
    x = g.tensor(g.type(0), g.shape(most=4), edges=True)
    return g.case([x, g.rng.integers(0 if g.chance("none", 6) else 1, 4, x.ndim).astype(np.int64)], constants=(1,))


@family("DepthToSpace")
def depth_to_space(g):
    block = g.pick("block", [1, 2, 3])
    x = g.tensor(g.type(0), [2, block * block * g.pick("channels", [1, 2]), 2, 3])
    return g.case([x], blocksize=block, **g.maybe(mode=[None, "DCR", "CRD"]))


@family("SpaceToDepth")
def space_to_depth(g):
    block = g.pick("block", [1, 2, 3])
    return g.case([g.tensor(g.type(0), [2, g.pick("channels", [1, 3]), 2 * block, block])], blocksize=block, **g.maybe(mode=[None, "DCR", "CRD"]))


@family("ReverseSequence")
def reverse_sequence(g):
    batch = g.pick("batch", [None, 0, 1])
    time = None if batch is None else 1 - batch
    x = g.tensor(g.type(0), [3, 4, 2][:g.pick("rank", [2, 3])])
    b, t = (1, 0) if batch is None else (batch, time)
    lengths = g.rng.integers(1, x.shape[t] + 1, x.shape[b]).astype(np.int64)
    return g.case([x, lengths], constants=(1,), batch_axis=batch, time_axis=time)


@family("Trilu")
def trilu(g):
    x = g.tensor(g.type(0), g.shape(least=2), edges=True)
    k = np.array(g.pick("k", [0, 1, -1, 5, -5]), np.int64) if g.chance("k given") else None
    return g.case([x, k], constants=(1,), upper=g.pick("upper", [None, 0, 1]))


@family("CenterCropPad")
def center_crop_pad(g):
    x = g.tensor(g.type(0), full(g.shape(least=1, most=4)))
    axes = sorted(g.rng.choice(x.ndim, int(g.rng.integers(1, x.ndim + 1)), replace=False).tolist()) if g.chance("axes") else None
    n = x.ndim if axes is None else len(axes)
    if axes and g.chance("negative"):
        axes = [a - x.ndim for a in axes]
    return g.case([x, g.rng.integers(1, 7, n).astype(g.type(1))], constants=(1,), axes=axes)


@family("OneHot")
def one_hot(g):
    depth = g.pick("depth", [1, 3, 5])
    index_type, depth_type, value_type = g.type(0), g.type(1), g.type(2)
    shape = g.shape(most=3)
    low = 0 if np.dtype(index_type).kind == "u" else -depth
    which = g.rng.integers(low, depth, shape)
    if g.chance("outside", 3):
        which = np.where(g.rng.random(shape) < 0.3, depth + 2, which)
    axis = g.pick("given", [None, True]) and g.axis(len(shape) + 1)
    return g.case([np.asarray(which).astype(index_type), np.array(depth, depth_type).reshape(g.pick("depth shape", [(), (1,)])), g.tensor(value_type, [2])],
                  constants=(1, 2), axis=axis)


@family("Compress")
def compress(g):
    x = g.tensor(g.type(0), full(g.shape(least=1)))
    axis = g.pick("given", [None, True, True]) and g.axis(x.ndim)
    if axis is not None and g.version < 11:
        axis %= x.ndim
    length = x.size if axis is None else x.shape[axis]
    return g.case([x, g.tensor(np.bool_, [int(g.rng.integers(1, length + 1))])], constants=(1,), axis=axis)


@family("Unique")
def unique(g):
    x = g.tensor(g.type(0), full(g.shape(least=1, most=3)), -2, 2)
    axis = g.pick("given", [None, True]) and g.axis(x.ndim)
    if not is_integer(x.dtype) and x.dtype != np.bool_:
        x = np.round(x.astype(np.float64)).astype(x.dtype) + np.array(0, x.dtype)
    outputs = g.pick("outputs", [[True], [True] * 4, [True, False, True], [True, True]])
    return g.case([x], outputs=outputs, out_types=[None, np.int64, np.int64, np.int64], axis=axis, sorted=g.pick("sorted", [None, 0, 1]))


@family("TopK")
def top_k(g):
    x = g.tensor(g.type(0), full(g.shape(least=1, most=4)), -3, 3)
    axis = g.axis(x.ndim)
    if g.version < 11:
        axis %= x.ndim
    k = int(g.rng.integers(0 if g.chance("none", 8) and g.version >= 10 else 1, x.shape[axis] + 1))
    if g.version < 10:
        return g.case([x], outputs=2, out_types=[None, np.int64], axis=axis, k=k)
    return g.case([x, ints([k])], outputs=2, out_types=[None, np.int64], constants=(1,), axis=axis, **g.maybe(largest=[None, 0, 1], sorted=[None, 1]))


@family("TfIdfVectorizer")
def tf_idf(g):
    pools = [2, 3, 5, 4, 5, 6, 7, 8, 6, 7]
    x = g.rng.integers(2, 9, [[6], [2, 5]][g.pick("rank", [0, 1])]).astype(g.type(0))
    mode = g.pick("mode", ["TF", "IDF", "TFIDF"])
    return g.case([x], out_types=[np.float32], mode=mode, min_gram_length=g.pick("least", [1, 2]), max_gram_length=2, max_skip_count=g.pick("skip", [0, 1, 3]),
                  ngram_counts=[0, 4], ngram_indexes=list(range(7)), pool_int64s=pools, weights=[0.5, 1.0, 2.0, 1.5, 3.0, 1.0, 0.25] if g.chance("weights") else None)


@family("Det")
def det(g):
    n = g.pick("size", [1, 2, 3, 4])
    return g.case([g.tensor(g.type(0), [*[2, 3][:g.pick("lead", [0, 1, 2])], n, n])])


@family("HannWindow", "HammingWindow", "BlackmanWindow")
def window(g):
    size = np.array(g.pick("size", [1, 2, 5, 8, 17]), g.type(0))
    target = g.type(0, is_float, outputs=True) if g.chance("type") else None  # integers: no rounding is specified
    return g.case([size], out_types=[target or np.dtype(np.float32)], constants=(0,), periodic=g.pick("periodic", [None, 0, 1]),
                  output_datatype=None if target is None else dtype_number(target))


@family("MelWeightMatrix")
def mel(g):
    numbers = [np.array(v, g.type(k)) for k, v in enumerate((g.pick("bins", [3, 8]), g.pick("dft", [16, 33]), g.pick("rate", [8000, 120])))]
    edges = [np.array(v, g.type(3)) for v in g.pick("edges", [(0, 60), (10, 50)])]
    edges[1] = np.array(edges[1], edges[0].dtype)
    target = g.type(0, is_float, outputs=True) if g.chance("type") else None
    return g.case([*numbers, *edges], out_types=[target or np.dtype(np.float32)], constants=("always", 0, 1, 2, 3, 4),
                  output_datatype=None if target is None else dtype_number(target))


@family("DFT")
def dft(g):
    n = g.pick("points", [1, 4, 5, 8, 12])
    onesided, inverse = g.pick("onesided", [None, 0, 1]), g.pick("inverse", [None, 0, 1])
    parts = 1 if onesided and not inverse else g.pick("parts", [1, 2])
    if onesided and inverse:
        raise Unfit
    shape = [2, n, 3, parts][-g.pick("rank", [3, 4]) :] if False else [2, n, 3, parts]
    axis = g.pick("axis", [None, 1, 2, -2, -3] if g.version >= 20 else [None, 1, 2])
    x = g.tensor(g.type(0), shape)
    at = axis if axis is not None else (1 if g.version < 20 else -2)
    length = np.array(int(g.rng.integers(1, x.shape[at] + 3)), g.type(1)) if g.chance("length", 3) else None
    if g.version < 20:
        return g.case([x, length], constants=(1,), axis=axis, inverse=inverse, onesided=onesided)
    return g.case([x, length, None if axis is None else np.array(axis, np.int64)], constants=(1, 2), inverse=inverse, onesided=onesided)


@family("STFT")
def stft(g):
    kind, length, frame = g.type(0), g.pick("signal", [16, 21]), g.pick("frame", [4, 8])
    onesided = g.pick("onesided", [None, 0, 1])
    parts = 1 if onesided != 0 else g.pick("parts", [1, 2])
    step, index = np.array(g.pick("step", [2, 3, 8]), g.type(1)), g.type(1)
    window_given = g.chance("window")
    return g.case([g.tensor(kind, [2, length, parts]), step, g.tensor(kind, [frame]) if window_given else None,
                   None if window_given and g.chance("no length") else np.array(frame, index).astype(step.dtype)], constants=("always", 1, 3), onesided=onesided)
