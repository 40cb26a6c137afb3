# SPDX-License-Identifier: Apache-2.0
"""Cases of the operator suite: elements, reductions, views, copies, indices, writes in place."""
import torch
import torch.nn.functional as F

from aten_case import case, real, truth, whole


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
    case("special names", lambda x: (torch.special.exp2(x), torch.special.expm1(x), torch.special.log1p(x), torch.special.logit(x), torch.special.round(x), torch.special.sinc(x),
                                     torch.special.softmax(x, 0), torch.special.log_softmax(x, -1), torch.special.logsumexp(x, 1), torch.special.erf(x), torch.positive(x)), real(3, 4, low=0.1, high=0.9))
    case("more second names", lambda a, b: (torch.arccos(a), torch.arcsin(a), torch.arctanh(a), torch.arcsinh(b), torch.arccosh(b + 3), torch.greater_equal(a, b), torch.less(a, b), torch.true_divide(a, b)),
         real(3, 5, low=-0.9, high=0.9), real(3, 5, seed=1, low=0.5))
    case("second names", lambda a, b: (torch.multiply(a, b), torch.subtract(a, b, alpha=2), torch.divide(a, b, rounding_mode="floor"), torch.absolute(a), torch.negative(a),
                                       torch.greater(a, b), torch.less_equal(a, b), torch.arctan(a), torch.special.expit(a)), real(3, 5), real(3, 5, seed=1))
    odd = torch.tensor([1.0, float("nan"), float("inf"), -float("inf")])
    case("nan_to_num", lambda x: (torch.nan_to_num(x), torch.nan_to_num(x, 1.5, 2.5, -3.5)), odd)
    case("nan_to_num int", torch.nan_to_num, whole(5))
    case("frac", torch.frac, real(5))
    case("deg2rad, rad2deg", lambda x: (torch.deg2rad(x), torch.rad2deg(x)), real(5))
    case("deg2rad int", torch.deg2rad, whole(5))
    case("sinc", torch.sinc, torch.tensor([0.0, -0.0, 0.5, -1.0, 1e-4, 3.3]))
    case("erfc", lambda x: (torch.erfc(x), torch.special.erfc(x)), real(9, low=-3, high=3))
    case("native_dropout in evaluation", lambda x: torch.native_dropout(x, 0.5, False), real(3))


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
    for dtype in (torch.int64, torch.int32):
        case(f"shift {dtype}", lambda a, b: (a << 2, a >> 1, torch.bitwise_left_shift(a, b), torch.bitwise_right_shift(a, b), a >> b, a << b), whole(9, dtype=dtype),
             whole(9, low=0, high=5, seed=1, dtype=dtype))
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
    case("atan2", torch.atan2, real(99), real(99, seed=1))
    case("atan2 on the axes", lambda a, b: (torch.atan2(a, b), torch.arctan2(a, b)), torch.tensor([0.0, 0.0, 1.0, -1.0, 0.0, -0.0, 2.0, -2.0]),
         torch.tensor([1.0, -1.0, 0.0, 0.0, 0.0, -3.0, -1.0, -1.0]))
    case("atan2 int", torch.atan2, whole(9), whole(9, seed=1))
    case("hypot", torch.hypot, real(9), real(9, seed=1))
    case("logaddexp", torch.logaddexp, real(9, low=-20, high=20), real(9, seed=1, low=-20, high=20))
    case("xlogy", lambda a, b: (torch.xlogy(a, b), torch.special.xlogy(a, b)), torch.tensor([0.0, 1.0, 2.0, 0.0]), torch.tensor([0.0, 2.0, 0.5, float("nan")]))
    nan = torch.tensor([1.0, float("nan"), 3.0, float("nan")])
    case("fmax, fmin", lambda a, b: (torch.fmax(a, b), torch.fmin(a, b)), nan, torch.tensor([2.0, 5.0, float("nan"), float("nan")]))
    case("fmax, fmin int", lambda a, b: (torch.fmax(a, b), torch.fmin(a, b)), whole(5), whole(5, seed=1))


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
    case("std_mean", lambda x: torch.std_mean(x, 1) + torch.std_mean(x), real(3, 4))
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
    case("count_nonzero", lambda x: (torch.count_nonzero(x, 1), torch.count_nonzero(x), torch.count_nonzero(x.float(), (0, 1))), whole(3, 4, low=0, high=2))
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
    case("unsafe splits", lambda x: torch.unsafe_chunk(x, 2, 1) + torch.unsafe_split(x, 2, -1) + torch.unsafe_split_with_sizes(x, [1, 2], 1) + (x.ravel(),), x)
    case("chunk", lambda x: x.chunk(2, 1) + x.chunk(3, 2) + x.chunk(5, 1), x)
    case("tensor_split", lambda x: torch.tensor_split(x, 2, 2), x)
    case("unbind", lambda x: x.unbind(0) + x.unbind(-1), x)
    for dtype in (torch.float32, torch.float64, torch.int64, torch.int32, torch.uint8, torch.bool, torch.float16, torch.bfloat16):
        case(f"to {dtype}", lambda a, b, c, dtype=dtype: (a.to(dtype).float(), b.to(dtype).float(), c.to(dtype).float()), real(5, low=0), whole(5, low=0),
             truth(5))
    case("type_as", lambda a, b: a.type_as(b), real(3), whole(3))
    case("clone, contiguous, detach", lambda x: (x.clone() + 1, x.transpose(0, 1).contiguous(), x.detach() * 2), x)
    for offset in (0, 1, -2):
        case(f"diagonal {offset}", lambda x, o=offset: (torch.diagonal(x, o), torch.diagonal(x, o, -1, 0), x.diagonal(o, 1, 2)), real(4, 3, 5))
    case("diagonal, written", lambda x: with_diagonal(x), real(3, 4))
    case("unfold of a tensor", lambda x: (x.unfold(0, 2, 1), x.unfold(1, 3, 2), x.unfold(-1, 1, 1)), real(5, 7, 2))
    case("as_strided", lambda x: (x.as_strided((2, 3), (1, 2)), x.as_strided((3, 2, 2), (2, 1, 3), 1)), real(4, 4))
    case("as_strided of a view", lambda x: x.t().as_strided((2, 3), (1, 2)), real(4, 4), refused="E0336")
    case("im2col", lambda x: F.unfold(x, 2), real(1, 2, 4, 4))


def with_diagonal(x):
    y = x.clone()
    y.diagonal(1).mul_(3)
    return y


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
    case("linspace", lambda x: (torch.linspace(0, 1, 5) + x, torch.linspace(-1.5, 2.25, 32) * x, torch.linspace(3, 1, 1) + x, torch.linspace(-1, 1, 7, dtype=torch.float64) + x), real(1))
    case("empty_strided", lambda x: (torch.empty_strided((2, 3), (3, 1)).fill_(2) + x, torch.ops.aten.empty_permuted([2, 3], [0, 1]).fill_(1) * x), real(1))
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
    case("index bool", lambda x, m: x[m], x, truth(5))
    case("index bool of two axes", lambda x, m: x[m], x, truth(5, 4))
    case("index bool behind", lambda x, m: x[:, m], x, truth(4), refused="E0336")
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
    case("masked_select", lambda x, m: x.masked_select(m), real(9), truth(9))
    case("masked_select broadcast", lambda x, m: x.masked_select(m), real(3, 4), truth(4))
    case("masked_scatter", lambda x, m, v: x.masked_scatter(m, v), real(9), truth(9), real(9, seed=1))
    case("masked_scatter broadcast", lambda x, m, v: x.masked_scatter(m.unsqueeze(-1), v), real(2, 5, 3), truth(2, 5), real(10, 3, seed=1))
    case("nonzero", lambda x: x.nonzero(), whole(3, 4, low=-1, high=2))


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
