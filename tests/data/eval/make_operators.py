#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes operators.txt: the operators whose forms go beyond the recorded cases of ONNX, with ONNX Runtime's answers (see support.py)."""
import numpy as np

from support import case, f, s8, u8, write


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

write("operators.txt")
