# SPDX-License-Identifier: Apache-2.0
"""Cases of the operator suite: layers, experts, symbolic sizes, graphs inside the graph, quantized values."""
import numpy as np
import torch
import torch.nn.functional as F

from aten_case import case, real, truth, whole


def layers():
    for dim in (0, 1, 2, -1):
        case(f"weight_norm {dim}", lambda v, g, dim=dim: torch._weight_norm(v, g, dim), real(3, 4, 5), real(*(n if i == dim % 3 else 1 for i, n in enumerate((3, 4, 5))), seed=1))
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (False, True):
                case(f"grid_sample {mode} {padding} {align}", lambda x, g, m=mode, p=padding, a=align: F.grid_sample(x, g, m, p, a), real(2, 3, 5, 6), real(2, 4, 7, 2, seed=1, low=-1.3, high=1.3))
    case("grid_sample cubic border, far outside", lambda x, g: F.grid_sample(x, g, "bicubic", "border", False), real(1, 2, 4, 5), real(1, 9, 9, 2, seed=1, low=-9, high=9))
    case("unfold", lambda x: F.unfold(x, (3, 2)), real(2, 3, 6, 5))
    case("unfold, all options", lambda x: F.unfold(x, (3, 2), (2, 1), (1, 2), (2, 3)), real(2, 3, 8, 7))
    case("grid_sample, volume", lambda x, g: F.grid_sample(x, g, align_corners=False), real(1, 2, 4, 5, 6), real(1, 3, 4, 2, 3, seed=1, low=-1, high=1))
    for d, shape in ((1, (2, 4, 9)), (2, (2, 4, 9, 8)), (3, (1, 4, 5, 6, 5))):
        conv, transposed = getattr(F, f"conv{d}d"), getattr(F, f"conv_transpose{d}d")
        x, w = real(*shape), real(6, 4, *(3,) * d, seed=1)
        case(f"conv{d}d", conv, x, w, real(6, seed=2))
        case(f"conv{d}d stride, padding, dilation", lambda x, w, f=conv: f(x, w, stride=2, padding=2, dilation=2), x, w)
        case(f"conv{d}d groups", lambda x, w, f=conv: f(x, w, groups=2), x, real(6, 2, *(3,) * d, seed=1))
        case(f"conv{d}d same, valid", lambda x, w, f=conv: (f(x, w, padding="same"), f(x, w, padding="valid"), f(x, w, padding="same", dilation=2)), x, w)
        case(f"conv{d}d same, even kernel", lambda x, w, f=conv: f(x, w, padding="same"), x, real(6, 4, *(2,) * d, seed=1))
        case(f"conv_transpose{d}d", transposed, x, real(4, 6, *(3,) * d, seed=1), real(6, seed=2))
        case(f"conv_transpose{d}d arguments", lambda x, w, f=transposed: f(x, w, stride=2, padding=1, output_padding=1, groups=2), x,
             real(4, 3, *(3,) * d, seed=1))
        case(f"conv{d}d without batch", conv, x[0], w)
        case(f"batch_norm {d}d", lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b), x, real(4), real(4, low=0.5), real(4, seed=1), real(4, seed=2))
        case(f"instance_norm {d}d", lambda x, w, b: F.instance_norm(x, weight=w, bias=b), x, real(4, seed=1), real(4, seed=2))
        case(f"group_norm {d}d", lambda x, w, b: (F.group_norm(x, 2, w, b), F.group_norm(x, 4)), x, real(4, seed=1), real(4, seed=2))
        pool, average = getattr(F, f"max_pool{d}d"), getattr(F, f"avg_pool{d}d")
        case(f"max_pool{d}d", lambda x, f=pool: (f(x, 2), f(x, 3, 2, 1), f(x, 2, ceil_mode=True), f(x, 2, 1, dilation=2)), x)
        case(f"avg_pool{d}d", lambda x, f=average: (f(x, 2), f(x, 3, 2, 1), f(x, 3, 2, 1, count_include_pad=False)), x)
        case(f"avg_pool{d}d ceil", lambda x, f=average: (f(x, 2, 2, ceil_mode=True), f(x, 3, 2, 1, ceil_mode=True, count_include_pad=False)), x)
        case(f"adaptive_avg_pool{d}d 1", lambda x, f=getattr(F, f"adaptive_avg_pool{d}d"): f(x, 1), x)
        case(f"adaptive_max_pool{d}d 1", lambda x, f=getattr(F, f"adaptive_max_pool{d}d"): f(x, 1), x)
    case("adaptive pools, dividing", lambda x: (F.adaptive_avg_pool2d(x, (3, 4)), F.adaptive_max_pool2d(x, (3, 4)), F.adaptive_avg_pool2d(x, (None, 2))),
         real(2, 4, 9, 8))
    case("adaptive pool, not dividing", lambda x: F.adaptive_avg_pool2d(x, (4, 4)), real(2, 4, 9, 8), refused="E0336")
    case("batch_norm without affine", lambda x, m, v: F.batch_norm(x, m, v), real(2, 4), real(4), real(4, low=0.5))
    case("avg_pool2d divisor", lambda x: F.avg_pool2d(x, 2, divisor_override=3), real(1, 2, 4, 4))
    case("max_pool2d without batch", lambda x: F.max_pool2d(x, 2), real(3, 4, 4))
    case("max_pool2d indices", lambda x: F.max_pool2d(x, 2, return_indices=True), real(2, 3, 4, 6))
    case("max_pool indices, 1 and 3 axes", lambda x, y: F.max_pool1d(x, 2, return_indices=True) + F.max_pool3d(y, 2, return_indices=True), real(2, 3, 6), real(2, 2, 4, 4, 4))
    case("max_pool2d indices, without batch", lambda x: F.max_pool2d(x, 2, return_indices=True), real(3, 4, 6))
    case("max_unpool", lambda x, y: (F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), F.max_unpool3d(*F.max_pool3d(y, 2, return_indices=True), 2)),
         real(2, 3, 4, 6), real(1, 2, 4, 4, 4))
    case("batch_norm of the batch's own statistics", lambda x, w, b: (F.batch_norm(x, None, None, w, b, training=True), F.batch_norm(x, None, None, training=True)), real(2, 3, 4, 5), real(3, seed=1), real(3, seed=2))
    case("batch_norm in training", lambda x, m, v: F.batch_norm(x, m.clone(), v.clone(), training=True), real(2, 3, 4), real(3), real(3, low=0.5), refused="E0336")
    case("fold", lambda x: (F.fold(x, (6, 5), (3, 2)), F.fold(x[0], (6, 5), (3, 2))), real(1, 12, 16))
    case("fold, all options", lambda x: F.fold(x, (8, 7), (3, 2), (2, 1), (1, 2), (2, 3)), real(2, 18, 12))
    case("layer_norm", lambda x, w, b: (F.layer_norm(x, (6,), w, b), F.layer_norm(x, (6,)), F.layer_norm(x, (6,), w), F.layer_norm(x, (4, 6))), real(2, 4, 6),
         real(6, seed=1), real(6, seed=2))
    case("rms_norm", lambda x, w: (F.rms_norm(x, (6,), w), F.rms_norm(x, (6,)), F.rms_norm(x, (6,), w, eps=1e-3)), real(2, 4, 6), real(6, seed=1))
    case("local_response_norm", lambda x: F.local_response_norm(x, 3), real(1, 4, 3, 3))
    case("linear", lambda x, w, b: (F.linear(x, w, b), F.linear(x, w)), real(3, 4), real(5, 4, seed=1), real(5, seed=2))
    case("linear of rank 1, 3, 4", lambda x, w, b: (F.linear(x, w, b), F.linear(x[0], w), F.linear(x[0, 0], w, b), F.linear(x[None], w, b)), real(2, 3, 4),
         real(5, 4, seed=1), real(5, seed=2))
    case("bilinear", lambda x, y, w: F.bilinear(x, y, w), real(3, 4), real(3, 2, seed=1), real(5, 4, 2, seed=2))
    case("bilinear bias", lambda x, y, w, b: F.bilinear(x, y, w, b), real(2, 3, 4), real(2, 3, 2, seed=1), real(5, 4, 2, seed=2), real(5, seed=3))
    case("addmm", lambda c, a, b: (torch.addmm(c, a, b), torch.addmm(c, a, b, beta=0.5, alpha=2)), real(5), real(3, 4), real(4, 5, seed=1))
    case("addmv", lambda c, a, b: (torch.addmv(c, a, b), torch.addmv(c, a, b, beta=0.5, alpha=2)), real(3), real(3, 4), real(4, seed=1))
    case("baddbmm", lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=2), real(2, 3, 5), real(2, 3, 4), real(2, 4, 5, seed=1))
    for a, b in (((3, 4), (4, 5)), ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 3, 4), (4,))):
        case(f"matmul {a} {b}", torch.matmul, real(*a), real(*b, seed=1))
    case("matmul int", torch.matmul, whole(3, 4), whole(4, 5))
    case("bmm, mv, dot", lambda a, b, c: (torch.bmm(a, b), torch.mv(a[0], c), torch.dot(c, c)), real(2, 3, 4), real(2, 4, 5), real(4))
    for equation, shapes in (("ij,jk->ik", ((2, 3), (3, 4))), ("bhqd,bhkd->bhqk", ((2, 2, 3, 4), (2, 2, 5, 4))), ("i,j->ij", ((3,), (4,))),
                             ("bij,bj->bi", ((2, 3, 4), (2, 4))), ("...ij,jk->...ik", ((2, 3, 4), (4, 5))), ("ij->ji", ((2, 3),))):
        case(f"einsum {equation}", lambda *x, equation=equation: torch.einsum(equation, *x), *(real(*s) for s in shapes), decomposed=True)
    for mode in ("nearest", "bilinear", "bicubic"):
        for align in ((None,) if mode == "nearest" else (False, True)):
            f = lambda x, mode=mode, align=align, **a: F.interpolate(x, mode=mode, align_corners=align, **a)
            case(f"interpolate {mode} {align}", lambda x, f=f: (f(x, scale_factor=2), f(x, size=(5, 11)), f(x, size=(2, 3)), f(x, scale_factor=(1.5, 0.5))),
                 real(1, 2, 4, 6))
    case("interpolate antialias", lambda x: (F.interpolate(x, size=(3, 4), mode="bilinear", antialias=True),
                                             F.interpolate(x, size=(3, 4), mode="bicubic", antialias=True)), real(1, 2, 7, 9))
    case("interpolate 1d, 3d", lambda x: (F.interpolate(x, scale_factor=2), F.interpolate(x, size=5, mode="linear"), F.interpolate(x[:, :, None, None], scale_factor=2)),
         real(1, 2, 4))
    for mode, shape in (("nearest-exact", (1, 2, 7)), ("nearest-exact", (1, 2, 4, 6)), ("nearest-exact", (1, 2, 3, 4, 3)), ("trilinear", (1, 2, 3, 4, 3))):
        case(f"interpolate {mode} {len(shape) - 2}d", lambda x, m=mode: (F.interpolate(x, scale_factor=2, mode=m), F.interpolate(x, size=(5,) * (x.dim() - 2), mode=m), F.interpolate(x, size=(2,) * (x.dim() - 2), mode=m)),
             real(*shape))
    case("trilinear, corners", lambda x: F.interpolate(x, size=(5, 3, 7), mode="trilinear", align_corners=True), real(1, 2, 3, 4, 3))
    case("interpolate recompute", lambda x: F.interpolate(x, scale_factor=1.3, mode="bilinear", recompute_scale_factor=True), real(1, 2, 7, 9))
    q, k, v = real(2, 2, 3, 4), real(2, 2, 5, 4, seed=1), real(2, 2, 5, 4, seed=2)
    case("attention", F.scaled_dot_product_attention, q, k, v)
    case("attention mask", F.scaled_dot_product_attention, q, k, v, real(3, 5, seed=3))
    case("attention bool mask", F.scaled_dot_product_attention, q, k, v, torch.tensor([[True, False, True, True, False]] * 3))
    case("attention causal, scale", lambda q, k, v: (F.scaled_dot_product_attention(q, k, v, is_causal=True),
                                                     F.scaled_dot_product_attention(q, k, v, scale=0.3)), k, k * 2, v)
    case("attention groups", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), real(2, 4, 3, 4), k, v)
    case("cross entropy", lambda x, t: F.cross_entropy(x, t), real(3, 4), whole(3, low=0, high=4), refused="E0336")
    case("cosine_similarity", lambda a, b: (F.cosine_similarity(a, b, dim=1), F.cosine_similarity(a[:, None], b[None], dim=-1)), real(3, 4), real(3, 4, seed=1))
    case("cdist", lambda a, b: (torch.cdist(a, b), torch.cdist(a, b, 1.0), torch.cdist(a, b, float("inf"))), real(2, 3, 4), real(2, 5, 4, seed=1))
    case("cdist 3", lambda a, b: torch.cdist(a, b, 3.0), real(3, 4), real(5, 4, seed=1), refused="E0335")
    case("pairwise_distance", lambda a, b: (F.pairwise_distance(a, b), F.pairwise_distance(a, b, 1.0, keepdim=True)), real(3, 4), real(3, 4, seed=1))


def experts():
    offsets = torch.tensor([2, 2, 5], dtype=torch.int32)
    for name, x in ("int32", whole(20, low=0, high=4).int()), ("float", real(30, low=-0.5, high=3.5)), ("its ends", torch.tensor([0.0, 3.0, 3.0, -1.0, 4.0])):
        case(f"histc {name}", lambda x: torch.histc(x.float(), 4, 0, 3), x)
    case("_grouped_mm", lambda x, w, o: torch.ops.aten._grouped_mm(x.bfloat16(), w.bfloat16(), o).float(), whole(8, 16).float(), whole(3, 16, 8, seed=1).float(),
         torch.tensor([2, 4, 8], dtype=torch.int32))
    case("histc of the data's bounds", lambda x: torch.histc(x, 4), real(9), refused="E0336")
    try:
        grouped = torch.ops.transformers.grouped_mm_fallback
    except AttributeError:
        try:
            import transformers.integrations.moe  # noqa: F401  registers the operator
            grouped = torch.ops.transformers.grouped_mm_fallback
        except (ImportError, AttributeError):
            print("left out: grouped_mm_fallback, which transformers registers")
            return
    case("grouped_mm", lambda x, w, o: grouped(x, w, o), real(5, 4), real(3, 4, 6, seed=1), offsets)


def dynamic():
    conv, head = torch.nn.Conv2d(3, 4, 3), torch.nn.Linear(4, 5)
    case("dynamic: convolution, pool, head", lambda x: head(F.adaptive_avg_pool2d(F.relu(conv(x)), 1).flatten(1)), real(2, 3, 6, 6), dynamic=True, sizes=4)
    case("dynamic: sizes in shapes", lambda x: (x.view(x.size(0) * 2, 3), x.reshape(x.shape[0], -1), x + torch.arange(x.size(0)).unsqueeze(1)), real(2, 6),
         dynamic=True, sizes=3)
    case("dynamic: rows", lambda x: (x.sum(0), torch.cat((x, x)), x.flip(0), x.new_zeros(x.shape[0], 2)), real(3, 4),
         dynamic=True, sizes=5)


def control():
    """Graphs inside the graph; every branch is taken and loops turn from 0 times on."""
    from torch._higher_order_ops.map import map as torch_map
    from torch._higher_order_ops.scan import scan
    from torch._higher_order_ops.while_loop import while_loop
    w, x = real(4, 4, seed=3), real(3, 4)
    for label, sign in (("true", 1), ("false", -1)):
        case(f"cond {label}", lambda x: torch.cond(x.sum() > 0, lambda x: (x @ w, x + 1), lambda x: (x.sin(), x * 2), (x,)), x.abs() * sign)
        case(f"cond in a cond {label}", lambda x: torch.cond(x.sum() > -99, lambda x: torch.cond(x[0, 0] > 0, lambda x: x + 1, lambda x: x - 1, (x,)), lambda x: x.cos(), (x,)),
             x.abs() * sign)
    case("cond, the other branch", lambda x: torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,)), x.abs(),
         other=lambda x: torch.cond(x.sum() < 0, lambda x: x + 1, lambda x: x - 1, (x,)))
    for turns in (0, 1, 4):
        case(f"while_loop {turns}", lambda n, x: while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y @ w), (torch.zeros((), dtype=torch.int64), x)), torch.tensor(turns), x)
    case("map", lambda x, y: torch_map(lambda row, y: row @ w + y, x, y), x, real(4, seed=1))
    case("map of several", lambda x, y: torch_map(lambda rows, k: (rows[0] + rows[1], rows[0] * k), (x, y), torch.tensor(2.0)), x, real(3, 4, seed=1))
    case("scan", lambda x: scan(lambda c, row: (c + row, c * row), x[0] * 0, x), x)
    case("scan backward", lambda x: scan(lambda c, row: (c + row, c * row), x[0] * 0, x, reverse=True), x)
    for rows in (3, 6):
        case(f"dynamic: cond on a size, {rows}", lambda x: torch.cond(x.shape[0] > 4, lambda x: x + x.shape[0], lambda x: x.cos(), (x,)), x, dynamic=True, sizes=rows)
        case(f"dynamic: cond with a size, {rows}", lambda x, n=None: sized(x), x, dynamic=True, sizes=rows)
        case(f"dynamic: conditions, {rows}", lambda x: torch.cond(torch.sym_not(x.shape[0] != 6), lambda x: x + 1, lambda x: x - 1, (x,)), x, dynamic=True, sizes=rows)
        case(f"dynamic: map, {rows}", lambda x: torch_map(lambda row, y: row @ w + y, x, torch.ones(4)), x, dynamic=True, sizes=rows)


def sized(x):
    n = x.shape[0]
    return torch.cond(x.sum() > 4, lambda x: x + n, lambda x: x.cos() * n, (x,))


class Affine(torch.nn.Module):
    """Quantizes and dequantizes with scales and zero points that are buffers, as convert_pt2e leaves them."""

    def __init__(self, scales, zeros, quantize, dequantize):
        super().__init__()
        self.quantize, self.dequantize = quantize, dequantize
        self.register_buffer("scales", scales)
        self.register_buffer("zeros", zeros)

    def forward(self, x):
        q = self.quantize(x, self.scales, self.zeros)
        return q, self.dequantize(q, self.scales, self.zeros)


def quantized_type(ops, x, dtype, low, high, zero):
    end = (low, high, dtype)

    def number(scale, zero):
        return lambda x: per_tensor(ops.quantize_per_tensor(x, scale, zero, *end))

    def per_tensor(q):
        return q, ops.dequantize_per_tensor(q, 0.031, zero, *end)

    def tensor(scale, zero):
        return Affine(scale, torch.tensor(zero), lambda x, s, z: ops.quantize_per_tensor.tensor(x, s, z, *end),
                      lambda q, s, z: ops.dequantize_per_tensor.tensor(q, s, z, *end))

    def channel(axis, turn=0):
        n = x.shape[axis]
        return Affine(torch.linspace(0.01, 0.07, n).roll(turn), torch.arange(n) + zero, lambda x, s, z: ops.quantize_per_channel(x, s, z, axis, *end),
                      lambda q, s, z: ops.dequantize_per_channel(q, s, z, axis, *end))

    case(f"quantize_per_tensor {dtype}", number(0.031, zero), x)
    case(f"quantize_per_tensor {dtype}, another zero point", number(0.031, zero), x, other=number(0.031, zero + 1))
    case(f"quantize_per_tensor {dtype}, another scale", number(0.031, zero), x, other=number(0.0315, zero))
    case(f"quantize_per_tensor.tensor {dtype}", tensor(torch.tensor(0.031), zero), x)
    case(f"quantize_per_tensor.tensor {dtype}, [1], float64", tensor(torch.tensor([0.031], dtype=torch.float64), [zero]), x)
    for axis in range(3 if dtype != torch.uint16 else 0):  # which torch cannot dequantize by channels
        case(f"quantize_per_channel {dtype}, axis {axis}", channel(axis), x)
        case(f"quantize_per_channel {dtype}, axis {axis}, turned scales", channel(axis), x, other=channel(axis, turn=1))


def quantized():
    import torch.ao.quantization.fx._decomposed  # noqa: F401  registers the operators
    ops = torch.ops.quantized_decomposed
    x = real(3, 4, 50, low=-6, high=6)
    for dtype, (low, high, zero) in {torch.int8: (-128, 127, -3), torch.uint8: (0, 255, 131), torch.int16: (-32768, 32767, 100), torch.uint16: (0, 65535, 30000)}.items():
        quantized_type(ops, x, dtype, low, high, zero)
    per_tensor = ops.quantize_per_tensor
    halves = torch.tensor([0.25, 0.75, 1.25, -0.25, -0.75, 100.0, -100.0])
    case("quantize: halves to even, past both ends", lambda x: (per_tensor(x, 0.5, 0, -128, 127, torch.int8), per_tensor(x, 0.5, 7, 0, 255, torch.uint8)), halves)
    case("quantize to -127..127 and 4 bits in int8", lambda x: (per_tensor(x, 0.03, 0, -127, 127, torch.int8), per_tensor(x, 0.5, 1, -8, 7, torch.int8)), x)
    case("quantize to -127..127, not -128", lambda x: per_tensor(x, 0.03, 0, -127, 127, torch.int8), x,
         other=lambda x: per_tensor(x, 0.03, 0, -128, 127, torch.int8))
    case("quantize_per_tensor.tensor2", Affine(torch.tensor(0.1), torch.tensor(2), lambda x, s, z: per_tensor.tensor2(x, s, z, torch.tensor(-100), torch.tensor(100), torch.int8),
                                               lambda q, s, z: ops.dequantize_per_tensor.tensor2(q, s, z, torch.tensor(-100), torch.tensor(100), torch.int8)), x)
    case("quantize of float16", lambda x: per_tensor(x.half(), 0.125, 0, -128, 127, torch.int8), x)
    case("dequantize of an int32 bias", lambda q: ops.dequantize_per_tensor(q, 0.001, 0, -2**31, 2**31 - 1, torch.int32), whole(5, low=-9999, high=9999, dtype=torch.int32))
    case("dequantize_per_channel without zero points", lambda q, s=torch.tensor([0.5, 0.25]): ops.dequantize_per_channel(q, s, None, 1, -128, 127, torch.int8),
         whole(3, 2, dtype=torch.int8))
    case("dequantize_per_channel on the axis -1", lambda q, s=torch.tensor([0.5, 0.25]): ops.dequantize_per_channel(q, s, None, -1, -128, 127, torch.int8),
         whole(3, 2, dtype=torch.int8))
    case("dequantize to float16", lambda q: ops.dequantize_per_tensor(q, 0.5, 0, -128, 127, torch.int8, out_dtype=torch.float16).float(), whole(5, dtype=torch.int8),
         refused="E0336")
    case("quantize to int32", lambda x: per_tensor(x, 0.5, 0, -2**31, 2**31 - 1, torch.int32), x, refused="E0336")
    case("a zero point that is no int8", lambda x: per_tensor(x, 0.5, 200, -128, 127, torch.int8), x, refused="E0336")
    case("dynamic quantization", lambda x: per_tensor.tensor(x, x.max(), torch.tensor(0), -128, 127, torch.int8), x, refused="E0336")
    case("dynamic: quantized", lambda x: ops.dequantize_per_tensor(per_tensor(x, 0.03, 4, -128, 127, torch.int8), 0.03, 4, -128, 127, torch.int8), real(2, 5),
         dynamic=True, sizes=3)
    torchao_affine(x)


def torchao_affine(x):
    try:
        import torchao.quantization.quant_primitives  # noqa: F401  registers the operators
    except ImportError:
        print("left out: torchao's operators, which torchao registers")
        return
    ops = torch.ops.torchao

    def affine(block, shape, zero=3, bounds=(), dtype=torch.int8, turn=0):
        count = int(np.prod(shape))
        scales = torch.linspace(0.02, 0.07, count).roll(turn).reshape(shape)
        return Affine(scales, torch.full(shape, zero, dtype=torch.int32), lambda x, s, z: ops.quantize_affine(x, block, s, z, dtype, *bounds),
                      lambda q, s, z: ops.dequantize_affine(q, block, s, z, dtype, *bounds))
    forms = {"per tensor": ([3, 4, 50], ()), "per channel": ([3, 1, 50], (4,)), "per channel, rank kept": ([1, 4, 50], (3, 1, 1)),
             "per group": ([1, 1, 10], (3, 4, 5)), "per group, flat": ([1, 1, 25], (24,)), "per token": ([1, 1, 50], (3, 4))}
    for name, (block, shape) in forms.items():
        case(f"quantize_affine {name}", affine(block, shape), x)
        case(f"quantize_affine {name}, uint8", affine(block, shape, 128, dtype=torch.uint8), x)
        case(f"quantize_affine {name}, 4 bits", affine(block, shape, 0, (-8, 7)), x)
        if len(shape):
            case(f"quantize_affine {name}, turned scales", affine(block, shape), x, other=affine(block, shape, turn=1))
    case("quantize_affine, blocks over two axes", affine([1, 2, 10], (3, 2, 5)), x, refused="E0336")
    case("dequantize_affine without zero points", lambda q, s=torch.tensor([0.5, 0.25]): ops.dequantize_affine(q, [1, 3], s, None, torch.int8, -127, 127), whole(2, 3, dtype=torch.int8))
