#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes operators.txt: the operators whose forms go beyond the recorded cases of ONNX, with ONNX Runtime's answers (see support.py)."""
import numpy as np

from support import case, f, rng, s8, u8, write


def dims(a):
    return ",".join(map(str, a.shape))


def recurrent(op, gates, name, attrs="", t=5, b=3, i=3, h=5, ways=1, bias=False, lens=None, state=False, peep=False, layout=0, outputs="y, h", rtol=1e-5, judge=None):
    x = f(*((b, t, i) if layout else (t, b, i)))
    first = (b, ways, h) if layout else (ways, b, h)
    ports = [("x", x), ("w", f(ways, gates * h, i, scale=0.5)), ("r", f(ways, gates * h, h, scale=0.5))]
    ports.append(("bias", f(ways, 2 * gates * h) if bias else None))
    ports.append(("lens", np.array(lens, np.int32) if lens else None))
    ports.append(("h0", f(*first) if state else None))
    if op == "LSTM":
        ports += [("c0", f(*first) if state else None), ("p", f(ways, 3 * h) if peep else None)]
    given = [(n, v) for n, v in ports if v is not None]
    args = ", ".join(f"{'int32' if v.dtype == np.int32 else 'float'}[{dims(v)}] {n}" for n, v in given)
    names = ", ".join(n if v is not None else '""' for n, v in ports)
    whole = (b, t, ways, h) if layout else (t, ways, b, h)
    results = ", ".join(f"float[{','.join(map(str, whole if n == 'y' else first))}] {n}" for n in outputs.split(", ") if n != '""')
    # ONNX Runtime has no layout 1: the same by transposing
    text = f"g ({args}) => ({results}) {{\n {outputs} = {op}<hidden_size={h}{attrs}, layout={layout}>({names})\n}}"
    wanted = judge(*[v for _, v in given]) if judge else None
    if layout:
        turned = [v.transpose(1, 0, 2) if n in ("x", "h0", "c0") else v for n, v in given]
        import onnx.parser
        from support import run
        free = ", ".join(f"float[{','.join('abcd' if n == 'y' else 'efg')}] {n}" for n in outputs.split(", "))
        args = ", ".join(f"{'int32' if v.dtype == np.int32 else 'float'}[{dims(v)}] {n}" for (n, _), v in zip(given, turned))
        plain = f'<ir_version: 10, opset_import: ["" : 21]>\ng ({args}) => ({free}) {{\n {outputs} = {op}<hidden_size={h}{attrs}>({names})\n}}'
        got = run(onnx.parser.parse_model(plain), turned)
        wanted = [v.transpose(2, 0, 1, 3) if v.ndim == 4 else v.transpose(1, 0, 2) for v in got]
    case(name, text, [v for _, v in given], rtol, 1e-5, wanted=wanted)


def lstm_clipped(x, w, r, bias, clip=0.6, last=True):
    """The specification clips the input of every activation; ONNX Runtime leaves out the one of h(C)."""
    sigmoid, h, hs = lambda v: 1 / (1 + np.exp(-v)), r.shape[2], []
    state = cell = np.zeros((x.shape[1], h))
    for row in x:
        gates = np.clip(row @ w[0].T + state @ r[0].T + bias[0, : 4 * h] + bias[0, 4 * h :], -clip, clip)
        i, o, forget = (sigmoid(gates[:, k * h : k * h + h]) for k in range(3))
        cell = forget * cell + i * np.tanh(gates[:, 3 * h :])
        state = o * np.tanh(np.clip(cell, -clip, clip) if last else cell)
        hs.append(state)
    return [v.astype(np.float32) for v in (np.array(hs)[:, None], state[None], cell[None])]


for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
    low, last = op.lower(), "y, h, c" if op == "LSTM" else "y, h"
    both = ', direction="bidirectional"'
    recurrent(op, gates, low + "_plain", outputs=last)
    recurrent(op, gates, low + "_last_only", outputs='"", h', bias=True, t=70, b=1)
    recurrent(op, gates, low + "_reverse_lengths", ', direction="reverse"', bias=True, lens=[5, 2, 3], state=True, outputs=last)
    recurrent(op, gates, low + "_both_lengths", both, ways=2, bias=True, lens=[1, 5, 4], state=True, outputs=last)
    recurrent(op, gates, low + "_batch_first", both, ways=2, bias=True, state=True, layout=1, outputs=last)
    recurrent(op, gates, low + "_clip", ", clip=0.6", bias=True, outputs=last, judge=lstm_clipped if op == "LSTM" else None)
    recurrent(op, gates, low + "_wide", bias=True, i=17, h=19, b=2, t=3, outputs=last, rtol=1e-4)
recurrent("RNN", 1, "rnn_functions", both + ', activations=["Affine","LeakyRelu"], activation_alpha=[0.5,0.2], activation_beta=[0.1]', ways=2, bias=True)
recurrent("RNN", 1, "rnn_functions_2", both + ', activations=["Softsign","Softplus"]', ways=2, bias=True)
recurrent("RNN", 1, "rnn_functions_3", both + ', activations=["ScaledTanh","Elu"], activation_alpha=[0.7,0.3], activation_beta=[1.3]', ways=2, bias=True)
recurrent("RNN", 1, "rnn_functions_4", both + ', activations=["Relu","ThresholdedRelu"], activation_alpha=[0.4]', ways=2, bias=True)
recurrent("GRU", 3, "gru_linear_before_reset", both + ", linear_before_reset=1", ways=2, bias=True, lens=[5, 3, 1], state=True)
recurrent("GRU", 3, "gru_functions", ', activations=["HardSigmoid","Softsign"], activation_alpha=[0.3], activation_beta=[0.4], linear_before_reset=1', bias=True)
recurrent("LSTM", 4, "lstm_peepholes", both, ways=2, bias=True, lens=[5, 3, 1], state=True, peep=True, outputs="y, h, c")
recurrent("LSTM", 4, "lstm_coupled", ", input_forget=1", bias=True, peep=True, outputs="y, h, c")
recurrent("LSTM", 4, "lstm_functions", ', activations=["HardSigmoid","Elu","Softsign"]', bias=True, outputs="y, h, c")

TYPES = {"float32": "float", "float64": "double", "int32": "int32", "int64": "int64", "uint8": "uint8", "int8": "int8", "bool": "bool"}


def op(name, node, *ports, out=("y", "float", 4), rtol=1e-5, atol=1e-5, opset=21, wanted=None):
    """One node: `node` is "Op<attributes>"; a port that is None is omitted; out has name, type and rank."""
    given = [(f"i{k}", v) for k, v in enumerate(ports) if v is not None]
    ports = [None if v is None else np.asarray(v) for v in ports]
    args = ", ".join(f"{TYPES[str(v.dtype)]}[{dims(v)}] {n}" if v.ndim else f"{TYPES[str(v.dtype)]} {n}" for n, v in given)
    names = ", ".join('""' if v is None else f"i{k}" for k, v in enumerate(ports))
    text = f"g ({args}) => ({out[1]}[{','.join('abcdef'[: out[2]])}] {out[0]}) {{\n {out[0]} = {node}({names})\n}}"
    case(name, text, [v for _, v in given], rtol, atol, opset, wanted)


def i64(*values):
    return np.array(values, np.int64)


def scalar(v, kind=np.int64):
    return np.array(v, kind)


for n in (1, 8, 12, 37):
    op(f"dft_{n}", "DFT", f(2, n, 3, 2), None, scalar(1), atol=1e-4, opset=20)
op("dft_cut", "DFT<onesided=1>", f(2, 9, 1), scalar(6), out=("y", "float", 3), atol=1e-4, opset=20)
op("dft_filled_inverse", "DFT<inverse=1>", f(2, 9, 2), scalar(15), out=("y", "float", 3), atol=1e-4, opset=20)
x = f(2, 5, 2)
whole = np.fft.irfft(x[..., 0] + 1j * x[..., 1], n=9, axis=1)
op("dft_one_sided_inverse", "DFT<inverse=1, onesided=1>", x, scalar(9), scalar(1), out=("y", "float", 3), opset=20, wanted=[whole[..., None].astype(np.float32)])
op("stft", "STFT", f(2, 40, 1), scalar(7), f(12), scalar(12), atol=1e-4)
op("stft_two_sided", "STFT<onesided=0>", f(1, 33, 1), scalar(4), None, scalar(16), atol=1e-4)
op("mel", "MelWeightMatrix", scalar(9), scalar(64), scalar(8000), scalar(100, np.float32), scalar(3500, np.float32), out=("y", "float", 2))
pool = "kernel_shape=[3,2], strides=[2,1], pads=[1,0,1,1]"
op("lppool", f"LpPool<{pool}, p=3>", f(2, 3, 7, 6))
op("lppool_dilated_ceil", "LpPool<kernel_shape=[2], dilations=[3], strides=[2], ceil_mode=1>", f(1, 2, 10), out=("y", "float", 3))
op("globallppool", "GlobalLpPool<p=1>", f(2, 3, 4, 5))
op("maxunpool", "MaxUnpool<kernel_shape=[2,2], strides=[2,2]>", f(1, 2, 2, 2), i64(0, 3, 9, 14, 17, 20, 27, 31).reshape(1, 2, 2, 2))
op("col2im", "Col2Im<strides=[2,1], pads=[1,0,1,2], dilations=[1,2]>", f(2, 3 * 6, 3 * 6), i64(5, 8), i64(2, 3))
rois = np.array([[0, 0, 7, 5], [1.5, 2.25, 9, 9], [4, 4, 4.5, 4.2]], np.float32)
for mode in ("avg", "max"):
    for places in ("half_pixel", "output_half_pixel"):
        op(f"roialign_{mode}_{places}", f'RoiAlign<mode="{mode}", coordinate_transformation_mode="{places}", output_height=2, output_width=3, sampling_ratio=2, spatial_scale=0.7>', abs(f(2, 3, 6, 8)), rois, i64(0, 1, 1))
op("roialign_adaptive", "RoiAlign<output_height=2, output_width=2>", f(2, 3, 9, 9), rois, i64(1, 0, 1))
op("maxroipool", "MaxRoiPool<pooled_shape=[3,2], spatial_scale=0.6>", f(2, 3, 9, 9), np.concatenate([np.array([[0], [1], [1]], np.float32), rois], 1))
for corners in (0, 1):
    op(f"affinegrid_{corners}", f"AffineGrid<align_corners={corners}>", f(2, 2, 3), i64(2, 3, 4, 5))
    op(f"affinegrid_3d_{corners}", f"AffineGrid<align_corners={corners}>", f(1, 3, 4), i64(1, 3, 2, 3, 4), out=("y", "float", 5))
op("deformconv", "DeformConv<pads=[1,0,1,1], strides=[2,1], group=2, offset_group=2>", f(2, 4, 7, 6), f(6, 2, 3, 2), f(2, 24, 4, 6), f(6), f(2, 12, 4, 6))
op("deformconv_dilated", "DeformConv<dilations=[2,1]>", f(1, 2, 6, 5), f(3, 2, 2, 2), f(1, 8, 4, 4, scale=2))
op("convinteger", "ConvInteger<pads=[1,1,0,2], strides=[2,1], dilations=[1,2]>", u8(2, 3, 6, 7), u8(4, 3, 2, 3), scalar(7, np.uint8), scalar(100, np.uint8), out=("y", "int32", 4))
op("convinteger_signed_group", "ConvInteger<group=2>", u8(1, 4, 9), s8(6, 2, 3), scalar(200, np.uint8), out=("y", "int32", 3))
qconv = [scalar(0.02, np.float32), scalar(120, np.uint8)]
op("qlinearconv", "QLinearConv<pads=[1,1,1,1], group=2>", u8(1, 4, 5, 6), *qconv, s8(4, 2, 3, 3), np.array([0.01, 0.02, 0.005, 0.03], np.float32), np.zeros(4, np.int8), scalar(0.3, np.float32), scalar(100, np.uint8), np.array([10, -2000, 30000, 0], np.int32), out=("y", "uint8", 4), rtol=0, atol=0)
op("qlinearconv_s8_1d", "QLinearConv", s8(2, 3, 8), scalar(0.05, np.float32), scalar(-3, np.int8), s8(2, 3, 3), scalar(0.04, np.float32), scalar(0, np.int8), scalar(0.9, np.float32), scalar(5, np.int8), out=("y", "int8", 3), rtol=0, atol=0)

state = lambda seed: np.random.RandomState(seed)
op("randomnormal", "RandomNormal<shape=[3,5], mean=2.0, scale=0.5, seed=3.0>", out=("y", "float", 2), wanted=[(state(3).randn(3, 5) * 0.5 + 2).astype(np.float32)])
op("randomuniform", "RandomUniform<shape=[4], low=-1.0, high=3.0>", out=("y", "float", 1), wanted=[(state(0).rand(4) * 4 - 1).astype(np.float32)])
op("randomuniformlike", "RandomUniformLike<seed=9.0, dtype=11>", f(2, 3), out=("y", "double", 2), wanted=[state(9).rand(2, 3)])
op("randomnormallike", "RandomNormalLike<seed=9.0>", f(2, 3), out=("y", "float", 2), wanted=[state(9).randn(2, 3).astype(np.float32)])
p = np.linspace(0, 1, 21).astype(np.float32)
op("bernoulli", "Bernoulli<seed=5.0, dtype=6>", p, out=("y", "int32", 1), wanted=[state(5).binomial(1, p.astype(np.float64)).astype(np.int32)], rtol=0, atol=0)
logits = f(2, 4)
weights = np.exp(logits.astype(np.float64))
u = state(11).rand(2, 30) * weights.sum(1, keepdims=True)
classes = np.stack([np.searchsorted(np.cumsum(weights[k]), u[k], side="right") for k in range(2)])
op("multinomial", "Multinomial<seed=11.0, sample_size=30, dtype=7>", logits, out=("y", "int64", 2), wanted=[classes], rtol=0, atol=0)
x = f(3, 20)
kept = state(21).rand(3, 20) >= 0.3
op("dropout_training", "Dropout<seed=21>", x, scalar(0.3, np.float32), scalar(True, bool), out=("y", "float", 2), wanted=[np.where(kept, x / 0.7, 0).astype(np.float32)])
x, s, b, m, v = f(4, 3, 2, 5), f(3), f(3), f(3), abs(f(3)) + 0.1
mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
y = (x - mean[:, None, None]) / np.sqrt(var[:, None, None] + 1e-3) * s[:, None, None] + b[:, None, None]
case("batchnorm_training", "g (float[4,3,2,5] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[4,3,2,5] y, float[3] p, float[3] q) {\n y, p, q = BatchNormalization<epsilon=0.001, momentum=0.8, training_mode=1>(x, s, b, m, v)\n}",
     [x, s, b, m, v], 1e-4, 1e-5, wanted=[y, m * 0.8 + mean * 0.2, v * 0.8 + var * 0.2])
op("resize_tf_half_pixel", 'Resize<mode="nearest", coordinate_transformation_mode="tf_half_pixel_for_nn", nearest_mode="floor">', f(1, 1, 7, 5), None, None, i64(1, 1, 4, 9))

pool = "min_gram_length=1, max_gram_length=3, max_skip_count=2, ngram_counts=[0,3,7], ngram_indexes=[3,0,1,5,4,2], pool_int64s=[2,3,5, 2,3,4,2, 5,2,3], weights=[0.5,2.0,3.0,0.25,7.0,1.5]"
tokens = rng.integers(2, 6, (3, 40)).astype(np.int64)
for mode in ("TF", "IDF", "TFIDF"):
    op("tfidf_" + mode.lower(), f'TfIdfVectorizer<mode="{mode}", {pool}>', tokens, out=("y", "float", 2))

# three operands, each repeated along other axes; an axis that merges, one that does not
for kind, name in (("float32", "float"), ("int64", "int64"), ("float64", "double"), ("uint8", "uint8"), ("bool", "bool")):
    a, b = (f(3, 1, 5, 2) * 100).astype(kind), (f(4, 1, 1) * 100).astype(kind)
    c = f(1, 4, 5, 1) > 0
    op(f"where_{kind}", "Where", c, a, b, out=("y", name, 4), rtol=0, atol=0, wanted=[np.where(c, a, b)])
op("where_repeated_condition", "Where", f(2, 1, 1) > 9, f(2, 3, 7), f(7), out=("y", "float", 3), rtol=0, atol=0)
op("where_numbers", "Where", f(3, 19) > 0, scalar(0.5, np.float32), scalar(-np.inf, np.float32), out=("y", "float", 2), rtol=0, atol=0)
wide = np.concatenate([f(60, scale=4), np.array([0, -0.0, np.inf, np.nan, 1e-30, -9, -12, 40], np.float32)])
finite = wide[np.isfinite(wide)]
op("erf_f32", "Erf", wide, out=("y", "float", 1), rtol=2e-7, atol=1e-7)
op("exp_f32", "Exp", finite, out=("y", "float", 1), rtol=3e-7, atol=0)
op("abs_f32", "Abs", wide, out=("y", "float", 1), rtol=0, atol=0)
op("sqrt_f32", "Sqrt", abs(wide), out=("y", "float", 1), rtol=0, atol=0)
op("reciprocal_f32", "Reciprocal", wide, out=("y", "float", 1), rtol=0, atol=0)
op("isnan_f32", "IsNaN", wide, out=("y", "bool", 1), rtol=0, atol=0)
op("gelu_f32", "Gelu", finite, out=("y", "float", 1), rtol=3e-7, atol=3e-7)
op("gelu_tanh_f32", 'Gelu<approximate="tanh">', finite, out=("y", "float", 1), rtol=3e-7, atol=5e-7)
op("pow_square", "Pow", wide, scalar(2, np.float32), out=("y", "float", 1), rtol=0, atol=0)
op("pow_square_whole", "Pow", f(3, 4), i64(2), out=("y", "float", 2), rtol=0, atol=0)
op("pow_square_of_one", "Pow", f(1), i64(2, 2, 2).reshape(3, 1), out=("y", "float", 2), rtol=0, atol=0)
op("layernorm_two_axes", "LayerNormalization<axis=1>", f(5, 3, 7), f(3, 7), f(3, 7), out=("y", "float", 3))
x, one = f(2, 3, 33, scale=3), f(1)
op("layernorm_repeated_scale", "LayerNormalization", x, one, out=("y", "float", 3),
   wanted=[((x - x.mean(-1, keepdims=True, dtype=np.float64)) / np.sqrt(x.var(-1, keepdims=True, dtype=np.float64) + 1e-5) * one).astype(np.float32)])

write("operators.txt")
