#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each operator of src/import/pt2/aten.def as torch exports it, run by npuc, against torch.

A case is a function of tensors and the tensors that it is given. torch exports it (as it stands, and after run_decompositions()),
`npuc run` reads the archive, and every output is compared: floats to rtol 1e-4 and atol 1e-5, everything else exactly. A case that the reader
must refuse names the diagnostic. One line a case; exit status 1 if any differs, 2 if a control that must fail passes.

    aten_ops.py --npuc build/npuc --work DIR [--only WORD] [--family NAMES]
"""
import argparse
import os
import subprocess
import sys
import warnings

import numpy as np
import torch
import torch.nn.functional as F

warnings.filterwarnings("ignore")
CASES = []
aten = torch.ops.aten


class Module(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def case(name, function, *inputs, refused=None, dynamic=None, sizes=None, decomposed=False, other=None):
    """`refused`: the diagnostic that must come. `dynamic`: the first axis of the inputs is a symbol; `sizes` is its number in the run.
    `decomposed`: only after run_decompositions(). `other`: a control, another function whose values must be found to differ."""
    CASES.append((name, function, inputs, refused, dynamic, sizes, decomposed, other))


def real(*shape, seed=0, low=-2.0, high=2.0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed)) * (high - low) + low


def whole(*shape, seed=0, low=-9, high=9, dtype=torch.int64):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def truth(*shape, seed=0):
    return whole(*shape, seed=seed, low=0, high=2).bool()


def elementwise():
    for f in "relu sigmoid tanh exp sin cos tan atan sinh cosh asinh erf abs neg sign sgn floor ceil round trunc square exp2 expm1".split():
        case(f, getattr(torch, f), real(3, 5))
        case(f + " 0-dim", getattr(torch, f), real())
    for f in "log sqrt reciprocal rsqrt log2 log10 log1p".split():
        case(f, getattr(torch, f), real(3, 5, low=0.01, high=3))
    for f in "asin acos atanh".split():
        case(f, getattr(torch, f), real(3, 5, low=-0.99, high=0.99))
    case("acosh", torch.acosh, real(3, 5, low=1, high=4))
    case("log1p and expm1 near 0", lambda x: (torch.log1p(x), torch.expm1(x)), real(64, low=-1e-5, high=1e-5))
    for f in "sigmoid tanh exp sin sqrt reciprocal rsqrt log2 log1p erf expm1 exp2 isnan isinf isfinite".split():
        case(f + " int64", getattr(torch, f), whole(3, 5, low=1))
    for f in "relu abs neg sign sgn floor ceil round trunc square".split():
        for dtype in (torch.int64, torch.int32, torch.int8):
            case(f"{f} {dtype}", getattr(torch, f), whole(3, 5, dtype=dtype))
    case("isnan, isinf, isfinite", lambda x: (torch.isnan(x), torch.isinf(x), torch.isfinite(x)),
         torch.tensor([1.0, float("nan"), float("inf"), -float("inf")]))
    case("round, halves", torch.round, torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5]))
    case("sign of nan", torch.sign, torch.tensor([0.0, -0.0, float("inf")]))
    for dtype in (torch.float32, torch.int64, torch.bool):
        case(f"logical_not {dtype}", torch.logical_not, whole(3, 5, low=0, high=2).to(dtype))
    case("bitwise_not", lambda a, b, c: (~a, ~b, ~c), whole(3), truth(5), whole(4, dtype=torch.uint8, low=0, high=200))
    for f in (F.silu, F.gelu, F.relu6, F.hardtanh, F.hardswish, F.hardsigmoid, F.leaky_relu, F.elu, F.selu, F.softplus, F.mish, F.logsigmoid,
              F.celu, F.softsign, F.tanhshrink, F.hardshrink, F.softshrink):
        case(f.__name__, f, real(3, 8, low=-5, high=5))
    case("gelu tanh", lambda x: F.gelu(x, approximate="tanh"), real(3, 8))
    case("hardtanh values", lambda x: F.hardtanh(x, -0.5, 1.5), real(3, 8))
    case("leaky_relu 0.3", lambda x: F.leaky_relu(x, 0.3), real(3, 8))
    case("elu 0.5", lambda x: F.elu(x, 0.5), real(3, 8))
    case("softplus 2, 3", lambda x: F.softplus(x, 2, 3), real(3, 8, low=-4, high=4))
    case("threshold", lambda x: F.threshold(x, 0.1, 20), real(3, 8))
    case("prelu one", F.prelu, real(2, 3, 4), torch.tensor([0.2]))
    case("prelu channels", F.prelu, real(2, 3, 4, 4), torch.tensor([0.2, -0.3, 0.4]))
    case("prelu channels, rank 2", F.prelu, real(2, 3), torch.tensor([0.2, -0.3, 0.4]))
    for dim in (0, 1, -1):
        case(f"glu {dim}", lambda x, dim=dim: F.glu(x, dim), real(4, 6, 2))
    case("dropout in evaluation", lambda x: F.dropout(x, 0.5, training=False), real(3))
    case("logit", lambda x: torch.logit(x), real(5, low=0.1, high=0.9))
    case("second names", lambda a, b: (torch.multiply(a, b), torch.subtract(a, b, alpha=2), torch.divide(a, b, rounding_mode="floor"), torch.absolute(a), torch.negative(a),
                                       torch.greater(a, b), torch.less_equal(a, b), torch.arctan(a), torch.special.expit(a)), real(3, 5), real(3, 5, seed=1))
    case("nan_to_num", torch.nan_to_num, torch.tensor([1.0, float("nan"), float("inf"), -float("inf")]), refused="E0336")
    case("frac", torch.frac, real(5))
    case("deg2rad", torch.deg2rad, real(5), refused="E0336")
    case("sinc", torch.sinc, real(5), refused="E0336")
    case("erfc", torch.erfc, real(5, low=-1, high=1), refused="E0336")


def arithmetic():
    pairs = {
        "float": (real(2, 3), real(2, 3, seed=1)),
        "broadcast": (real(2, 1, 3), real(4, 1, seed=1)),
        "0-dim": (real(2, 3), real(seed=1)),
        "int64": (whole(2, 3), whole(2, 3, seed=1)),
        "int32 and int64": (whole(2, 3, dtype=torch.int32), whole(2, 3, seed=1)),
        "int64 and float": (whole(2, 3), real(2, 3, seed=1)),
        "float and int 0-dim": (real(2, 3), torch.tensor(3)),
        "int32 and int64 0-dim": (whole(2, 3, dtype=torch.int32), torch.tensor(3)),
        "int and float 0-dim": (whole(2, 3), torch.tensor(1.5)),
        "uint8 and int8": (whole(2, 3, dtype=torch.uint8, low=0, high=99), whole(2, 3, seed=1, dtype=torch.int8)),
        "bool and int": (truth(2, 3), whole(2, 3, seed=1)),
        "bool and float": (truth(2, 3), real(2, 3, seed=1)),
    }
    for label, (a, b) in pairs.items():
        for f in (torch.add, torch.mul, torch.maximum, torch.minimum):
            case(f"{f.__name__} {label}", f, a, b)
        for f in (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge, torch.logical_and, torch.logical_or, torch.logical_xor):
            case(f"{f.__name__} {label}", f, a, b)
        if a.dtype != torch.bool:
            case(f"sub {label}", torch.sub, a, b)
            case(f"sub alpha {label}", lambda x, y: torch.sub(x, y, alpha=2), a, b)
        safe = torch.where(b == 0, torch.ones_like(b), b)
        case(f"div {label}", torch.div, a, safe)
        if a.dtype != torch.bool:
            for f in (torch.floor_divide, torch.remainder, torch.fmod):
                case(f"{f.__name__} {label}", f, a, safe)
            case(f"div trunc {label}", lambda x, y: torch.div(x, y, rounding_mode="trunc"), a, safe)
            case(f"div floor {label}", lambda x, y: torch.div(x, y, rounding_mode="floor"), a, safe)
    for label, x in {"float": real(2, 3), "int64": whole(2, 3), "int32": whole(2, 3, dtype=torch.int32), "bool": truth(2, 3)}.items():
        case(f"numbers on the right, {label}", lambda x: (x + 2, x + 1.5, x * 2, x * 0.5, x / 2, x == 1, x > 0.5, x + True), x)
        if label != "bool":
            case(f"numbers on the left, {label}", lambda x: (2 - x, 1.5 - x, 3 * x, torch.rsub(x, 2, alpha=3)), x)
            case(f"division by numbers, {label}", lambda x: (x // 2, x % 3, x // 1.5, x % 1.5, torch.fmod(x, 3), x // -2, x % -3), x)
            case(f"pow numbers, {label}", lambda x: (x**2, x**3, x**1, x**0), x)
    case("pow", torch.pow, real(3, low=0.1), real(3, seed=1))
    case("pow halves", lambda x: (x**0.5, x**-1.0, x**-0.5, x**2.0), real(3, 2, low=0.1))
    case("pow base", lambda x: (2**x, 2.5**x), real(3))
    case("pow int", torch.pow, whole(3, low=0), whole(3, seed=1, low=0, high=5))
    case("add alpha", lambda a, b: torch.add(a, b, alpha=0.5), real(3), real(3, seed=1))
    case("bitwise int", lambda a, b: (a & b, a | b, a ^ b), whole(9), whole(9, seed=1))
    case("bitwise bool", lambda a, b: (a & b, a | b, a ^ b), truth(9), truth(9, seed=1))
    case("bitwise number", lambda a: (a & 3, a | 4, a ^ 5), whole(9))
    case("shift", lambda a: (a << 2, a >> 1), whole(9, low=0), refused="E0336")
    for label, x in {"float": real(4, 5), "int64": whole(4, 5)}.items():
        case(f"clamp {label}", lambda x: (x.clamp(-1, 1), x.clamp(min=0), x.clamp(max=0), torch.clamp_min(x, 1), torch.clamp_max(x, 1)), x)
    case("clamp int by float", lambda x: x.clamp(-1.5, 1.5), whole(5))
    case("clamp tensors", torch.clamp, real(4, 5), real(5, low=-1, high=0), real(5, low=0, high=1))
    case("where", torch.where, truth(4, 5), real(4, 5), real(5))
    case("where types", torch.where, truth(4, 5), whole(4, 5), real(5))
    case("where numbers", lambda c, x: (torch.where(c, x, 0.0), torch.where(c, 1.0, x), torch.where(c, 1, 2), torch.where(c, 1.0, 0.0)), truth(4, 5),
         real(4, 5))
    case("masked_fill", lambda x, m: (x.masked_fill(m, -1e9), x.masked_fill(m, float("-inf"))), real(4, 5), truth(5))
    case("masked_fill int", lambda x, m: x.masked_fill(m, 3), whole(4, 5), truth(4, 1))
    case("masked_fill tensor", lambda x, m, v: x.masked_fill(m, v), real(4, 5), truth(5), torch.tensor(2.5))
    case("addcmul", lambda a, b, c: torch.addcmul(a, b, c, value=0.5), real(3), real(2, 3, seed=1), real(3, seed=2))
    case("addcdiv", lambda a, b, c: torch.addcdiv(a, b, c, value=0.5), real(3), real(2, 3, seed=1), real(3, low=1))
    case("lerp number", lambda a, b: torch.lerp(a, b, 0.3), real(3), real(3, seed=1))
    case("lerp tensor", torch.lerp, real(3), real(3, seed=1), real(3, seed=2))
    case("atan2", torch.atan2, real(9), real(9, seed=1), refused="E0336")
    case("hypot", torch.hypot, real(9), real(9, seed=1), refused="E0336")


def reductions():
    for f in (torch.sum, torch.mean, torch.prod, torch.amax, torch.amin, torch.logsumexp, torch.any, torch.all):
        for dim in (0, -1, 1):
            for keep in (False, True):
                case(f"{f.__name__} {dim} {keep}", lambda x, f=f, dim=dim, keep=keep: f(x, dim=dim, keepdim=keep), real(3, 4, 2))
        if f is not torch.logsumexp:
            case(f"{f.__name__} whole", f, real(3, 4, 2))
            case(f"{f.__name__} 0-dim", f, real())
    for f in (torch.sum, torch.mean, torch.amax, torch.amin, torch.logsumexp):
        case(f"{f.__name__} several", lambda x, f=f: f(x, dim=(0, -1)), real(3, 4, 2))
    for dtype in (torch.int64, torch.int32, torch.int8, torch.bool):
        x = whole(3, 4, low=0, high=2).to(dtype)
        case(f"sum, prod {dtype}", lambda x: (x.sum(), x.sum(0), x.prod(1), x.sum(1, keepdim=True)), x)
        case(f"any, all {dtype}", lambda x: (x.any(), x.all(), x.any(0), x.all(1, keepdim=True)), x)
    case("sum dtype", lambda x: (x.sum(dtype=torch.float32), x.mean(1, dtype=torch.float32)), whole(3, 4))
    for f in (torch.max, torch.min):
        case(f"{f.__name__} whole", f, real(3, 4))
        case(f"{f.__name__} dim", lambda x, f=f: tuple(f(x, 1)), real(3, 4))
        case(f"{f.__name__} keepdim", lambda x, f=f: tuple(f(x, -2, keepdim=True)), real(3, 4))
        case(f"{f.__name__} int", lambda x, f=f: (f(x), *f(x, 0)), whole(3, 1))
        case(f"{f.__name__} two", f, real(3, 4), real(4, seed=1))
    for f in (torch.argmax, torch.argmin):
        case(f.__name__, lambda x, f=f: (f(x), f(x, 0), f(x, -1, keepdim=True)), real(3, 4))
        case(f.__name__ + " int", lambda x, f=f: (f(x, 0)), torch.tensor([[3, 1], [2, 7], [9, 0]]))
    for f in (torch.var, torch.std):
        case(f.__name__, lambda x, f=f: (f(x), f(x, 1), f(x, (0, 2), keepdim=True), f(x, 1, correction=0), f(x, -1, unbiased=False)), real(3, 4, 5))
    case("var_mean", lambda x: torch.var_mean(x, 1, correction=0, keepdim=True), real(3, 4))
    case("norm", lambda x: (torch.linalg.vector_norm(x), x.norm(dim=1), torch.linalg.vector_norm(x, 1, dim=0, keepdim=True)), real(3, 4))
    case("norm 3", lambda x: torch.linalg.vector_norm(x, 3, dim=1), real(3, 4), refused="E0335")
    case("normalize", lambda x: F.normalize(x, dim=1), real(3, 4))
    for f in (F.softmax, F.log_softmax):
        case(f.__name__, lambda x, f=f: (f(x, 0), f(x, 1), f(x, -1)), real(3, 4, 5))
        case(f.__name__ + " 0-dim", lambda x, f=f: f(x, 0), real())
        case(f.__name__ + " of int as float", lambda x, f=f: f(x, -1, dtype=torch.float32), whole(3, 4))
    for dtype in (torch.float32, torch.int64, torch.int32, torch.bool):
        case(f"cumsum {dtype}", lambda x: (x.cumsum(0), x.cumsum(-1)), whole(3, 4).to(dtype))
    case("cumprod", lambda x: x.cumprod(1), real(3, 4))
    case("topk", lambda x: tuple(torch.topk(x, 2)) + tuple(torch.topk(x, 2, dim=0, largest=False)), real(3, 7))
    case("sort", lambda x: tuple(torch.sort(x)) + tuple(torch.sort(x, dim=0, descending=True)), real(3, 7))
    case("argsort", lambda x: (torch.argsort(x), torch.argsort(x, dim=0, descending=True)), real(3, 7))
    case("sort int", lambda x: tuple(torch.sort(x, stable=True)), torch.tensor([3, 1, 2, 3, 1]))
    case("count_nonzero", lambda x: torch.count_nonzero(x, 1), whole(3, 4, low=0, high=2), refused="E0336")
    case("diff", lambda x: (torch.diff(x), torch.diff(x, n=2, dim=0), torch.diff(x, dim=1, prepend=x[:, :1], append=x[:, 2:])), real(3, 4))
    case("diff of bools", lambda x: torch.diff(x > 0, dim=1), real(3, 4))


def views():
    x = real(2, 3, 4)
    case("view", lambda x: (x.view(6, 4), x.view(-1), x.reshape(2, -1), x.view(2, 3, 2, 2)), x)
    case("flatten", lambda x: (x.flatten(), x.flatten(1), x.flatten(0, 1), x.flatten(-2)), x)
    case("flatten 0-dim", lambda x: x.flatten(), real())
    case("unflatten", lambda x: (x.unflatten(2, (2, 2)), x.unflatten(-1, (-1, 2))), x)
    case("squeeze", lambda x: (x.squeeze(), x.squeeze(0), x.squeeze(1), x.squeeze(-1), x.squeeze((0, 2))), real(1, 3, 1, 2, 1))
    case("unsqueeze", lambda x: (x.unsqueeze(0), x.unsqueeze(-1), x.unsqueeze(-2)), x)
    case("unsqueeze 0-dim", lambda x: (x.unsqueeze(0), x.unsqueeze(-1)), real())
    case("transpose", lambda x: (x.transpose(0, 1), x.transpose(-1, -2), x.permute(2, 0, 1), x.permute(-1, 0, -2), x.mT, x.movedim(0, -1),
                                 x.movedim((0, 1), (1, 2)), x.swapaxes(0, 2)), x)
    case("t", lambda x: (x.t(), x.T), real(2, 3))
    case("t of a vector", lambda x: x.t(), real(3))
    case("expand", lambda x: (x.expand(4, 2, 3), x.expand(-1, 3), x.broadcast_to(2, 3)), real(2, 1))
    case("expand_as", lambda x, y: x.expand_as(y), real(1, 4), x)
    case("slices", lambda x: (x[1:], x[:, 1:2], x[:, :, ::2], x[..., -2:], x[:, -1], x[0], x[:, :-1], x[5:], x[:, 1:100], x[None, ..., 0]), x)
    case("narrow", lambda x: (x.narrow(1, 1, 2), x.select(-1, -1)), x)
    case("split", lambda x: x.split(2, -1) + x.split([1, 2], 1) + x.split(3, 2), x)
    case("chunk", lambda x: x.chunk(2, 1) + x.chunk(3, 2) + x.chunk(5, 1), x)
    case("tensor_split", lambda x: torch.tensor_split(x, 2, 2), x)
    case("unbind", lambda x: x.unbind(0) + x.unbind(-1), x)
    for dtype in (torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool, torch.float16, torch.bfloat16):
        case(f"to {dtype}", lambda a, b, c, dtype=dtype: (a.to(dtype).float(), b.to(dtype).float(), c.to(dtype).float()), real(5, low=0), whole(5, low=0),
             truth(5))
    case("type_as", lambda a, b: a.type_as(b), real(3), whole(3))
    case("clone, contiguous, detach", lambda x: (x.clone() + 1, x.transpose(0, 1).contiguous(), x.detach() * 2), x)
    case("diagonal", lambda x: torch.diagonal(x), real(3, 3), refused="E0336")
    case("unfold of a tensor", lambda x: x.unfold(0, 2, 1), real(5), refused="E0336")
    case("im2col", lambda x: F.unfold(x, 2), real(1, 2, 4, 4))


def copies():
    x = real(2, 3, 4)
    case("cat", lambda a, b: (torch.cat((a, b), 1), torch.cat((a, b, a), -2), torch.concat((b,), 0)), real(2, 3), real(2, 3, seed=1))
    case("cat types", lambda a, b: torch.cat((a, b)), real(2, 3), whole(1, 3))
    case("cat with an empty one", lambda a: torch.cat((a, a.new_zeros(0, 3))), real(2, 3))
    case("stack", lambda a, b: (torch.stack((a, b)), torch.stack((a, b), -1), torch.stack((a, b), 1)), real(2, 3), real(2, 3, seed=1))
    case("repeat", lambda x: (x.repeat(2, 1, 1), x.repeat(2, 1, 2, 3), torch.tile(x, (2,))), x)
    case("repeat_interleave", lambda x: (x.repeat_interleave(2, 1), torch.repeat_interleave(x, 3, dim=-1), x.repeat_interleave(2)), x)
    case("flip", lambda x: (x.flip(0), x.flip(1, -1)), x)
    case("roll", lambda x: (x.roll(1, 0), x.roll((1, -2), (1, 2)), x.roll(2)), x)
    case("pad", lambda x: (F.pad(x, (1, 2)), F.pad(x, (1, 0, 2, 1), value=3.0), F.pad(x, (-1, 1)), F.pad(x, (0, 0, 1, 1))), x)
    for mode in ("reflect", "replicate", "circular"):
        case(f"pad {mode} 1d", lambda x, mode=mode: F.pad(x, (2, 1), mode=mode), x)
        case(f"pad {mode} 2d", lambda x, mode=mode: F.pad(x, (2, 1, 1, 2), mode=mode), real(1, 2, 4, 5))
    case("pad int, bool", lambda a, b: (F.pad(a, (1, 1), value=2), F.pad(b, (1, 1), value=True)), whole(3), truth(3))
    case("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), real(1, 8, 2, 3))
    case("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), real(1, 2, 4, 6))
    case("channel_shuffle", lambda x: F.channel_shuffle(x, 2), real(1, 4, 2, 2))
    for k in (0, 1, -1):
        case(f"tril, triu {k}", lambda x, k=k: (x.tril(k), x.triu(k)), real(2, 3, 4))
    case("tril int, bool", lambda a, b: (a.tril(), b.triu()), whole(3, 3), truth(3, 3))
    case("meshgrid", lambda a, b: torch.meshgrid(a, b, indexing="ij") + torch.meshgrid(a, b, indexing="xy"), real(3), real(2))
    case("slice_scatter", lambda x, y: torch.slice_scatter(x, y, 1, 1, 3), x, real(2, 2, 4, seed=1))
    case("select_scatter", lambda x, y: torch.select_scatter(x, y, -1, 2), x, real(2, 3, seed=1))
    case("outer, kron", lambda a, b: torch.outer(a, b), real(3), real(4))
    case("arange", lambda x: (torch.arange(5) + x, torch.arange(1, 7, 2) + x, torch.arange(0, 1, 0.25) + x, torch.arange(3.0) + x), whole(1))
    case("full", lambda x: (torch.full((2, 3), 1.5) + x, torch.full((2,), 2) + x, torch.zeros(3) + x, torch.ones(2, dtype=torch.int64) + x), whole(1))
    case("like", lambda x: (torch.full_like(x, 2), torch.zeros_like(x), torch.ones_like(x, dtype=torch.int64), x.new_zeros(2), x.new_full((2,), 3),
                            x.new_ones(1, 2)), x)
    case("eye", lambda x: (torch.eye(3) + x, torch.eye(2, 4, dtype=torch.int64) + x), whole(1))
    case("linspace", lambda x: torch.linspace(0, 1, 5) + x, real(1), refused="E0336")
    case("scalar_tensor", lambda x: torch.where(x > 0, x, torch.tensor(0.5)), real(4))


def indexing():
    x = real(5, 4, 3)
    case("embedding", F.embedding, whole(2, 3, low=0, high=7), real(7, 4))
    case("embedding padding", lambda i, w: F.embedding(i, w, padding_idx=0), whole(2, 3, low=0, high=7, dtype=torch.int32), real(7, 4))
    case("index_select", lambda x, i: (x.index_select(0, i), x.index_select(-2, i)), x, torch.tensor([2, 0, 3]))
    case("gather", lambda x, i: (x.gather(1, i), x.gather(-1, i % 3)), x, whole(5, 2, 3, low=0, high=4))
    case("index 1", lambda x, i: (x[i], x[:, i], x[:, :, i % 3], x[..., i % 3]), x, torch.tensor([[2, 0], [-1, -3]]))
    case("index 2", lambda x, i, j: (x[i, j], x[:, i, j], x[i, :, j]), x, torch.tensor([2, 0]), torch.tensor([[1], [2]]))
    case("index 0-dim", lambda x, i: (x[i], x[:, i]), x, torch.tensor(2))
    case("index bool", lambda x, m: x[m], x, truth(5), refused="E0336")
    case("index_put", lambda x, i, v: x.index_put((i,), v), x, torch.tensor([2, 0]), real(2, 4, 3, seed=1))
    case("index_put broadcast", lambda x, i, v: x.index_put((i,), v), x, torch.tensor([2, 0]), real(3, seed=1))
    case("index_put two", lambda x, i, j, v: x.index_put((i, j), v), x, torch.tensor([2, 0]), torch.tensor([1, 3]), real(2, 3, seed=1))
    case("index_put accumulate", lambda x, i, v: x.index_put((i,), v, accumulate=True), x, torch.tensor([2, 2]), real(2, 4, 3, seed=1))
    case("index_put None", lambda x, i, v: torch.ops.aten.index_put(x, [None, i], v), x, torch.tensor([2, 0]), real(5, 2, 3, seed=1))
    case("index_put mask", lambda x, m: x.index_put((m,), torch.tensor(0.5)), x, truth(5, 4, 3))
    case("setitem", lambda x, i, v: write(x, i, v), x, torch.tensor([2, 0]), real(5, 2, 3, seed=1))
    case("index_copy", lambda x, i, v: (x.index_copy(0, i, v), ), x, torch.tensor([2, 0]), real(2, 4, 3, seed=1))
    case("index_copy -2", lambda x, i, v: x.index_copy(-2, i, v), x, torch.tensor([2, 0]), real(5, 2, 3, seed=1))
    case("index_add", lambda x, i, v: x.index_add(0, i, v), x, torch.tensor([2, 2]), real(2, 4, 3, seed=1))
    case("index_fill", lambda x, i: x.index_fill(1, i, 9.0), x, torch.tensor([2, 0]))
    case("scatter", lambda x, i, v: x.scatter(1, i, v), x, torch.tensor([[[2, 0, 1]]]), real(1, 1, 3, seed=1))
    case("scatter number", lambda x, i: x.scatter(-1, i, 2.5), x, torch.tensor([[[2]]]))
    case("scatter_add", lambda x, i, v: x.scatter_add(0, i, v), real(4), torch.tensor([1, 1, 3]), real(3, seed=1))
    case("scatter_reduce", lambda x, i, v: x.scatter_reduce(0, i, v, "amax"), real(4), torch.tensor([1, 1, 3]), real(3, seed=1))
    case("one_hot", lambda i: F.one_hot(i, 5), whole(2, 3, low=0, high=5))
    case("take_along_dim", lambda x, i: torch.take_along_dim(x, i, 1), real(2, 3), whole(2, 2, low=0, high=3))
    case("bucketize", lambda x, b: torch.bucketize(x, b), real(9), torch.tensor([-1.0, 0.0, 1.0]))
    case("masked_select", lambda x, m: x.masked_select(m), real(9), truth(9), refused="E0336")
    case("masked_scatter", lambda x, m, v: x.masked_scatter(m, v), real(9), truth(9), real(9, seed=1), refused="E0336")
    case("nonzero", lambda x: x.nonzero(), whole(9), refused="E0336")


def write(x, i, v):
    y = x.clone()
    y[:, i] = v
    return y


def in_place():
    def copied(x):
        a = x + 0.0
        a.t().reshape(-1).add_(1.0)
        return a * 2

    case("a reshape that copies, written", copied, real(2, 3), refused="E0336")
    def views_of(x):
        y = x.clone()
        y[:, 1] += 1
        y[0].mul_(2)
        y[:, :, ::2] = 7.0
        y.transpose(0, 1)[2].zero_()
        y.view(-1)[3:5].fill_(9.0)
        return y, y.sum()

    def seen_through(x):
        y = x + 0
        row = y[1]
        column = y[:, 0]
        row.add_(10)
        return column, row, y

    def many(x):
        y = x.clone()
        y.relu_().add_(1).mul_(2).sub_(0.5).div_(3).clamp_(0, 2)
        return y

    def copy(x, v):
        y = x.clone()
        y[:, 1:3].copy_(v)
        y.masked_fill_(y > 1, 0.25)
        return y

    def of_types(x, v):
        y = x.clone()
        y.add_(v)
        y[0] = v[0]
        return y

    def put(x, i, v):
        y = torch.zeros(4, 3)
        y[i] = v
        y.index_add_(0, i, v)
        y.scatter_(0, i.unsqueeze(1), x)
        return y

    case("writes through views", views_of, real(2, 3, 4))
    case("a write is seen through other views", seen_through, real(3, 3))
    def contiguous(x):
        y, z = x.clone(), x.clone()
        y.t().contiguous().add_(1)  # a copy: y stays
        z.contiguous().add_(1)  # z itself
        return y, z

    case("writes behind contiguous()", contiguous, real(3, 4))
    case("a chain in place", many, real(3, 4))
    case("copy_ and masked_fill_", copy, real(2, 4), real(2, 2, seed=1))
    case("in place keeps the type", of_types, real(2, 3), whole(2, 3))
    case("index writes", put, real(2, 1), torch.tensor([2, 0]), real(2, 3, seed=1))
    case("expanded, then written to a copy", lambda x: x.expand(3, 4).clone().fill_(2.0) + x, real(1, 4))
    case("an unsqueezed view written", lambda x: unsqueezed(x), real(3))
    case("squeeze, permute, narrow written", lambda x: permuted(x), real(2, 3, 1))


def unsqueezed(x):
    y = x.clone()
    y.unsqueeze(0)[0, 1] = 5.0
    return y


def permuted(x):
    y = x.clone()
    y.squeeze(-1).permute(1, 0).narrow(0, 1, 2).mul_(3)
    return y


def layers():
    for dim in (0, 1, 2, -1):
        case(f"weight_norm {dim}", lambda v, g, dim=dim: torch._weight_norm(v, g, dim), real(3, 4, 5), real(*(n if i == dim % 3 else 1 for i, n in enumerate((3, 4, 5))), seed=1))
    for mode in ("bilinear", "nearest", "bicubic"):
        for padding in ("zeros", "border", "reflection"):
            for align in (False, True):
                case(f"grid_sample {mode} {padding} {align}", lambda x, g, m=mode, p=padding, a=align: F.grid_sample(x, g, m, p, a), real(2, 3, 5, 6), real(2, 4, 7, 2, seed=1, low=-1.3, high=1.3),
                     refused="E0336" if (mode, padding) == ("bicubic", "border") else None)
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
    case("max_pool2d indices", lambda x: F.max_pool2d(x, 2, return_indices=True), real(1, 2, 4, 4), refused="E0336")
    case("layer_norm", lambda x, w, b: (F.layer_norm(x, (6,), w, b), F.layer_norm(x, (6,)), F.layer_norm(x, (6,), w), F.layer_norm(x, (4, 6))), real(2, 4, 6),
         real(6, seed=1), real(6, seed=2))
    case("rms_norm", lambda x, w: (F.rms_norm(x, (6,), w), F.rms_norm(x, (6,)), F.rms_norm(x, (6,), w, eps=1e-3)), real(2, 4, 6), real(6, seed=1))
    case("local_response_norm", lambda x: F.local_response_norm(x, 3), real(1, 4, 3, 3))
    case("linear", lambda x, w, b: (F.linear(x, w, b), F.linear(x, w)), real(3, 4), real(5, 4, seed=1), real(5, seed=2))
    case("linear of rank 1, 3, 4", lambda x, w, b: (F.linear(x, w, b), F.linear(x[0], w), F.linear(x[0, 0], w, b), F.linear(x[None], w, b)), real(2, 3, 4),
         real(5, 4, seed=1), real(5, seed=2))
    case("bilinear", lambda x, y, w: F.bilinear(x, y, w), real(3, 4), real(3, 2, seed=1), real(5, 4, 2, seed=2), refused="E0336")
    case("addmm", lambda c, a, b: (torch.addmm(c, a, b), torch.addmm(c, a, b, beta=0.5, alpha=2)), real(5), real(3, 4), real(4, 5, seed=1))
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
    case("interpolate recompute", lambda x: F.interpolate(x, scale_factor=1.3, mode="bilinear", recompute_scale_factor=True), real(1, 2, 7, 9))
    q, k, v = real(2, 2, 3, 4), real(2, 2, 5, 4, seed=1), real(2, 2, 5, 4, seed=2)
    case("attention", F.scaled_dot_product_attention, q, k, v)
    case("attention mask", F.scaled_dot_product_attention, q, k, v, real(3, 5, seed=3))
    case("attention bool mask", F.scaled_dot_product_attention, q, k, v, torch.tensor([[True, False, True, True, False]] * 3))
    case("attention causal, scale", lambda q, k, v: (F.scaled_dot_product_attention(q, k, v, is_causal=True),
                                                     F.scaled_dot_product_attention(q, k, v, scale=0.3)), k, k * 2, v)
    case("attention groups", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), real(2, 4, 3, 4), k, v)
    case("cross entropy", lambda x, t: F.cross_entropy(x, t), real(3, 4), whole(3, low=0, high=4), refused="E0336")
    case("cosine_similarity", lambda a, b: F.cosine_similarity(a, b, dim=1), real(3, 4), real(3, 4, seed=1), refused="E0336")
    case("cdist", lambda a, b: torch.cdist(a, b), real(3, 4), real(2, 4, seed=1), refused="E0336")


def experts():
    offsets = torch.tensor([2, 2, 5], dtype=torch.int32)
    for name, x in ("int32", whole(20, low=0, high=4).int()), ("float", real(30, low=-0.5, high=3.5)), ("its ends", torch.tensor([0.0, 3.0, 3.0, -1.0, 4.0])):
        case(f"histc {name}", lambda x: torch.histc(x.float(), 4, 0, 3), x)
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


FAMILIES = (experts, quantized, elementwise, arithmetic, reductions, views, copies, indexing, in_place, layers, dynamic, control)


def run_npuc(npuc, archive, names, inputs, out, extra):
    command = [npuc, "run", archive, "-q", "-o", out, *extra]
    for name, x in zip(names, inputs):
        path = os.path.join(out, f"in_{name}.npy")
        np.save(path, x.numpy())
        command += ["-i", f"{name}={path}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def compare(got, want):
    want = want.detach().numpy()
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    if want.dtype.kind != "f":
        return None if np.array_equal(got, want) else f"{np.count_nonzero(got != want)} of {want.size} values differ"
    close = np.isclose(got, want, rtol=1e-4, atol=1e-5, equal_nan=True)
    return None if close.all() else f"values differ by up to {np.nanmax(np.abs(got.astype('f8') - want.astype('f8')))}"


def check(npuc, work, c, decompose):
    """The outcome of a case, None when it is right."""
    _, function, inputs, refused, is_dynamic, size, _, other = c
    model = function if isinstance(function, torch.nn.Module) else Module(function)
    model.eval()
    dims = None
    if is_dynamic:
        batch = torch.export.Dim("batch", min=2, max=64)
        dims = tuple({0: batch} for _ in inputs)
        dims = (dims,) if isinstance(model, Module) else dims
    program = torch.export.export(model, tuple(inputs), dynamic_shapes=dims, strict=False)
    if decompose:
        program = program.run_decompositions()
    archive = os.path.join(work, "case.pt2")
    torch.export.save(program, archive)
    extra = []
    if is_dynamic:
        symbols = {str(s) for n in program.graph.nodes if n.op == "placeholder" for s in n.meta["val"].shape if not isinstance(s, int)}
        extra = [a for s in symbols for a in ("--dim", f"{s}={size}")]
        inputs = tuple(torch.cat([x] * size)[:size] for x in inputs)
    for old in os.listdir(work):
        if old.endswith(".npy"):
            os.remove(os.path.join(work, old))
    r = run_npuc(npuc, archive, program.graph_signature.user_inputs, inputs, work, extra)
    if refused and not decompose:
        if r.returncode == 3 and refused in r.stderr:
            return None
        return f"must be refused with {refused}: status {r.returncode}: {r.stderr.strip()[:300]}"
    if r.returncode:
        return f"status {r.returncode}: {r.stderr.strip()[:400]}"
    with torch.no_grad():
        want = (other or model)(*(x.clone() for x in inputs))
    want = torch.utils._pytree.tree_flatten(want)[0]
    wrong = []
    for output, w in zip(program.graph_signature.user_outputs, want):
        # an input that is returned as it is: the output has a name of its own
        path = os.path.join(work, f"{output}{'_1' if output in program.graph_signature.user_inputs else ''}.npy")
        if not os.path.exists(path):
            wrong.append(f"{output}: not written")
            continue
        difference = compare(np.load(path), w)
        if difference:
            wrong.append(f"{output}: {difference}")
    if other:
        return None if wrong else "the control passes: another function's values are taken for these"
    return "; ".join(wrong) or None


def self_test():
    """Each kind of difference is found."""
    one = torch.tensor([1.0, 2.0])
    assert compare(np.array([1.0, 2.0], np.float32), one) is None
    assert compare(np.array([1.0, 2.001], np.float32), one)
    assert compare(np.array([1.0, np.nan], np.float32), one)
    assert compare(np.array([1, 2], np.int64), one)
    assert compare(np.array([[1.0, 2.0]], np.float32), one)
    assert compare(np.array([1, 3], np.int64), torch.tensor([1, 2]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--npuc", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--family", default="", help="families of cases, joined by commas: " + ", ".join(f.__name__ for f in FAMILIES))
    parser.add_argument("--plain", action="store_true", help="not after run_decompositions()")
    args = parser.parse_args()
    os.makedirs(args.work, exist_ok=True)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    self_test()
    for family in FAMILIES:
        if not args.family or family.__name__ in args.family.split(","):
            family()
    counts = {"ok": 0, "FAIL": 0}
    for i, c in enumerate(CASES):
        if args.only not in c[0]:
            continue
        for decompose in (True,) if c[6] else (False,) if args.plain or c[3] or i % 3 else (False, True):
            try:
                wrong = check(args.npuc, args.work, c, decompose)
            except Exception as e:  # torch could not export it: the case is at fault
                wrong = f"{type(e).__name__}: {str(e)[:200]}"
            outcome = "FAIL" if wrong else "ok"
            counts[outcome] += 1
            print(f"{outcome:5}{c[0]}{' (decomposed)' if decompose else ''}{': ' + wrong if wrong else ''}", flush=True)
    print(f"{counts['ok']} right, {counts['FAIL']} wrong")
    # the control: the same comparison, told to expect another function's values
    if not args.only and not args.family:
        model = Module(lambda x: torch.sin(x))
        program = torch.export.export(model, (real(3, 5),), strict=False)
        archive = os.path.join(args.work, "case.pt2")
        torch.export.save(program, archive)
        run_npuc(args.npuc, archive, program.graph_signature.user_inputs, (real(3, 5),), args.work, [])
        output = program.graph_signature.user_outputs[0]
        if compare(np.load(os.path.join(args.work, output + ".npy")), torch.cos(real(3, 5))) is None:
            print("the control passes: sin is taken for cos")
            return 2
    return 1 if counts["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
