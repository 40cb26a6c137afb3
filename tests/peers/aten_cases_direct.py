# SPDX-License-Identifier: Apache-2.0
"""Cases of the operator suite: operators by their own names, which torch's Python functions hide or write otherwise, and the arithmetic of sizes."""
import torch
import torch.nn.functional as F

from aten_case import case, real, truth, whole

aten = torch.ops.aten


def direct():
    x, image = real(2, 3, 4), real(2, 3, 6, 5)
    case("_convolution", lambda x, w, b: aten._convolution(x, w, b, [1, 1], [1, 0], [1, 1], False, [0, 0], 1, False, False, True, True), image, real(4, 3, 3, 3, seed=1), real(4, seed=2))
    case("native_layer_norm", lambda x, w, b: aten.native_layer_norm(x, [4], w, b, 1e-5)[0], x, real(4, seed=1), real(4, seed=2))
    case("_weight_norm_interface", lambda v, g: aten._weight_norm_interface(v, g, 0)[0], x, real(2, 1, 1, seed=1))
    case("einsum as it is", lambda a, b: aten.einsum("ij,jk->ik", [a, b]), real(2, 3), real(3, 4, seed=1))
    case("dropouts in evaluation", lambda x: (aten.feature_dropout(x, 0.5, False), aten.alpha_dropout(x, 0.5, False), aten.dropout(x, 0.5, False)), x)
    case("dropout in training", lambda x: aten.dropout(x, 0.5, True), x, refused="E0336")
    case("clip", lambda x: (aten.clip(x, -1, 1), torch.clip(x, max=0.5)), x)
    case("views by other names", lambda x, y: (aten._unsafe_view(x, [6, 4]), aten._reshape_alias(x, [6, 4], [4, 1]), x.view_as(y), x.reshape_as(y), x.swapdims(0, 2), x.adjoint(), x.mT), x,
         real(4, 6))
    case("identities", lambda x: (aten.alias(x) + 1, aten.lift_fresh(x) * 2, aten.detach_copy(x), aten.lift_fresh_copy(x)), x)
    for d, pads in ((1, (1, 2)), (2, (1, 2, 0, 1)), (3, (1, 1, 0, 1, 1, 0))):
        case(f"pads by their names, {d}", lambda x, d=d, p=pads: (getattr(aten, f"reflection_pad{d}d")(x, p), getattr(aten, f"replication_pad{d}d")(x, p)), real(2, 3, *(4,) * d))
    case("empty", lambda x: (aten.empty_like(x).fill_(1), x.new_empty(2, 3).fill_(2), torch.empty(2).zero_()), x)
    case("_unsafe_index", lambda x, i: aten._unsafe_index(x, [i, None]), x, torch.tensor([1, 0, 1]))
    case("_unsafe_index_put", lambda x, i, v: aten._unsafe_index_put(x, [i], v), x, torch.tensor([1]), real(1, 3, 4, seed=1))
    case("_cdist_forward", lambda a, b: aten._cdist_forward(a, b, 2.0, None), real(3, 4), real(2, 4, seed=1))
    case("pools by their names", lambda x, y: (aten._adaptive_avg_pool2d(x, [1, 1]), aten._adaptive_avg_pool2d(x, [3, 5]), aten._adaptive_avg_pool3d(y, [1, 1, 1])), image, real(1, 2, 3, 4, 4))
    q = real(2, 2, 3, 4)
    case("_scaled_dot_product_flash_attention_for_cpu", lambda q, k, v: (aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)[0],
                                                                         aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, True)[0]), q, q * 0.5, q + 1)
    torch.manual_seed(0)
    for name, layer in (("lstm", torch.nn.LSTM(4, 5, 2, bidirectional=True, batch_first=True)), ("gru", torch.nn.GRU(4, 5, 2)), ("rnn_tanh", torch.nn.RNN(4, 5, bias=False)),
                        ("rnn_relu", torch.nn.RNN(4, 5, nonlinearity="relu", bidirectional=True))):
        case(name, layer, x)
        case(f"{name}, another", layer, x, other=lambda x, layer=layer: layer(x + 0.1))
    case("lstm with a projection", torch.nn.LSTM(4, 5, proj_size=3), x, refused="E0336")
    for norm in ("backward", "ortho", "forward"):
        case(f"fft2 {norm}", lambda x, m=norm: (torch.fft.fft2(x, norm=m).real, torch.fft.fft2(x, norm=m).imag), x)
        case(f"fft, rfft {norm}", lambda x, m=norm: (torch.fft.fft(x, dim=1, norm=m).abs(), torch.view_as_real(torch.fft.rfft(x, norm=m)), torch.view_as_real(torch.fft.rfft2(x, norm=m))), x)
        case(f"ifft {norm}", lambda x, m=norm: (torch.fft.ifft(x, norm=m).imag, torch.fft.ifft2(torch.fft.fft2(x, norm=m), norm=m).real,
                                                torch.fft.ifftn(torch.complex(x, x * 2), norm=m).imag), x)
    case("_fft_r2c", lambda x: (torch.view_as_real(aten._fft_r2c(x, [2], 0, True)), torch.view_as_real(aten._fft_r2c(x, [1, 2], 1, False))), x)
    case("fftn, as FNet has it", lambda x: torch.fft.fftn(x, dim=(1, 2)).real, x)
    case("fftn of all axes", lambda x: (torch.fft.fftn(x).real, torch.fft.rfftn(x).abs()), x)
    case("fft2, not its real part", lambda x: torch.fft.fft2(x).real, x, other=lambda x: torch.fft.fft2(x).imag)
    case("view_as_complex", lambda x: torch.fft.fft(torch.view_as_complex(x)).real, real(3, 5, 2))
    case("real of a real tensor", lambda x: torch.real(x) + 1, x)
    case("fft of another length", lambda x: torch.fft.fft(x, n=8).real, x, refused="E0336")
    case("complex result", lambda x: torch.fft.rfft(x), x, refused="E0334")
    case("complex arithmetic", lambda x: (torch.fft.rfft(x) + 1).real, x, refused="E0334")
    case("irfft", lambda x: torch.fft.irfft(torch.fft.rfft(x)), x, refused="E0336")
    case("random", lambda x: x + torch.randn(4), x, refused="E0336")


def halved(x):
    n = x.shape[0]
    return x.new_zeros((n + 7) // 2, 5) + 1.0, x.new_zeros(n % 3 + 2), x.new_zeros(n + 90 - n * 1), x.new_zeros(torch.sym_max(n, 5), 2), x.new_zeros(torch.sym_min(n, 6)), x.new_ones(-n + 70), torch.zeros(n * 2 - n)


class Graded(torch.nn.Module):
    def forward(self, x):
        with torch.no_grad():
            y = x.exp()
        with torch.autocast("cpu", enabled=False):
            z = y @ x.t()
        with torch.set_grad_enabled(True):
            return y + 1, z


def sizes():
    x = real(3, 4)
    for rows in (3, 8):
        case(f"dynamic: arithmetic of sizes, {rows}", lambda x: halved(x), x, dynamic=True, sizes=rows)
        case(f"dynamic: numel, {rows}", lambda x: (x.new_zeros(x.numel()), x.reshape(x.numel())), x, dynamic=True, sizes=rows)
        for name, test in (("eq", lambda n: n == 8), ("lt", lambda n: n < 5), ("le", lambda n: n <= 3), ("ge", lambda n: n >= 8), ("and", lambda n: torch.sym_not(n != 3) & (n < 9)), ("or", lambda n: (n == 8) | (n > 60))):
            case(f"dynamic: cond by {name}, {rows}", lambda x, test=test: torch.cond(test(x.shape[0]), lambda x: x + 1, lambda x: x - 1, (x,)), x, dynamic=True, sizes=rows)
    case("dynamic: a difference of two sizes", lambda x, y: x.new_zeros(y.shape[0] - x.shape[0] + 70), x, real(5, seed=1), dynamic="own", sizes=6)
    case("modes of training", Graded(), x)
    case("_assert_async", lambda x: (aten._assert_async.msg((x > -99).all(), "small"), x + 1)[1], x)
    case("item as a size", lambda n: sized_by(n), torch.tensor(3))


def sized_by(n):
    count = n.item()
    torch._check_is_size(count)
    torch._check(count < 10)
    return torch.zeros(count) + 1
