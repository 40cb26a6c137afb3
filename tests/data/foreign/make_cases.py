#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the cases of this folder: one node each of com.microsoft, with ONNX Runtime's answer, or of QONNX, with its formula's.

Development only (needs onnx, onnxruntime, numpy). Form: that of ONNX's recorded cases, CASE/{model.onnx, tolerance, test_data_set_0/*.pb}."""
import os
import shutil

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
from onnx import helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
rng = np.random.default_rng(11)
shutil.rmtree(os.path.join(HERE, "node"), ignore_errors=True)
ort.set_default_logger_severity(3)
count = 0


def f(*dims, scale=1.0):
    return (rng.standard_normal(dims) * scale).astype(np.float32)


def u8(*dims):
    return rng.integers(0, 256, dims).astype(np.uint8)


def s8(*dims):
    return rng.integers(-128, 128, dims).astype(np.int8)


def one(v, kind=np.float32):
    return np.array(v, kind)


def case(name, op, ports, outputs=("y",), domain="com.microsoft", rtol=1e-5, atol=1e-5, wanted=None, out_types=(1,), version=1, **attributes):
    """ports: arrays, None where omitted; outputs: names, '' where omitted; 0-dim arrays and those of `constants` become initializers."""
    global count
    names = [f"i{k}" if v is not None else "" for k, v in enumerate(ports)]
    arrays = {n: v for n, v in zip(names, ports) if n}
    node = helper.make_node(op, names, list(outputs), domain=domain, **attributes)
    dynamic = [n for n, v in arrays.items() if v.ndim or len(arrays) == 1]
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(arrays[n].dtype), arrays[n].shape) for n in dynamic]
    inits = [numpy_helper.from_array(v, n) for n, v in arrays.items() if n not in dynamic]
    shown = [o for o in outputs if o]
    graph = helper.make_graph([node], "g", inputs, [helper.make_tensor_value_info(o, t, None) for o, t in zip(shown, list(out_types) * len(shown))], inits)
    opsets = [helper.make_opsetid("", 21)] + ([helper.make_opsetid(domain, version)] if domain else [])
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    if wanted is None:
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        wanted = session.run(None, {n: arrays[n] for n in dynamic})
    for value, result in zip(graph.output, wanted):
        value.CopyFrom(helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(result.dtype), result.shape))
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    folder = os.path.join(HERE, "node", name)
    os.makedirs(os.path.join(folder, "test_data_set_0"))
    open(os.path.join(folder, "model.onnx"), "wb").write(model.SerializeToString())
    open(os.path.join(folder, "tolerance"), "w").write(f"{rtol} {atol}\n")
    for what, values in (("input", [arrays[n] for n in dynamic]), ("output", wanted)):
        for k, v in enumerate(values):
            open(os.path.join(folder, "test_data_set_0", f"{what}_{k}.pb"), "wb").write(numpy_helper.from_array(v).SerializeToString())
    count += 1


def round_as(mode, v):
    away = lambda w: np.sign(v) * w
    return {"ROUND": np.round, "HALF_EVEN": np.round, "CEIL": np.ceil, "FLOOR": np.floor, "UP": lambda q: away(np.ceil(abs(q))), "DOWN": np.trunc,
            "HALF_UP": lambda q: away(np.floor(abs(q) + 0.5)), "HALF_DOWN": lambda q: away(np.ceil(abs(q) - 0.5))}[mode](v)


def quant(x, scale, zero, bits, signed, narrow, mode):
    """The formula of qonnx.custom_op.general.quant."""
    lo = -(2 ** (bits - 1)) + narrow if signed else 0
    hi = 2 ** (bits - 1) - 1 if signed else 2**bits - 1 - narrow
    q = x / scale + zero
    q = np.where(q >= 0, 1.0, -1.0) if bits == 1 and signed else round_as(mode, np.clip(q, lo, hi))
    return [((q - zero) * scale).astype(np.float32)]


MODES = ["ROUND", "HALF_EVEN", "CEIL", "FLOOR", "UP", "DOWN", "HALF_UP", "HALF_DOWN"]
HOMES = ["onnx.brevitas", "finn.custom_op.general", "qonnx.custom_op.general"]
for k, mode in enumerate(MODES):
    x = np.concatenate([f(30, scale=2), np.arange(-12, 12).astype(np.float32) * 0.125]).astype(np.float32)
    case(f"quant_{mode.lower()}", "Quant", [x, one(0.25), one(0), one(4)], domain=HOMES[k % 3], wanted=quant(x, 0.25, 0, 4, k % 2, k // 4, mode),
         rtol=0, atol=0, signed=k % 2, narrow=k // 4, rounding_mode=mode)
    case(f"trunc_{mode.lower()}", "Trunc", [x, one(0.25), one(0), one(8), one(6)], domain=HOMES[k % 3], rtol=0, atol=0, rounding_mode=mode,
         wanted=[(round_as(mode, np.round(x / 0.25) / 4) * 0.25).astype(np.float32)])
x = f(3, 4, scale=2)
scales = np.array([[0.5], [0.25], [0.125]], np.float32)
case("quant_default", "Quant", [x, scales, one(1), one(3)], domain=HOMES[2], wanted=quant(x, scales, 1, 3, 1, 0, "ROUND"), rtol=0, atol=0)
case("quant_one_bit", "Quant", [x, one(0.5), one(0), one(1)], domain=HOMES[2], wanted=quant(x, 0.5, 0, 1, 1, 0, "ROUND"), rtol=0, atol=0)
case("quant_one_bit_unsigned", "Quant", [x, one(0.5), one(0), one(1)], domain=HOMES[2], signed=0, wanted=quant(x, 0.5, 0, 1, 0, 0, "ROUND"), rtol=0, atol=0)
case("bipolarquant", "BipolarQuant", [np.array([-1, -0.0, 0, 2], np.float32), one(0.5)], domain=HOMES[0], rtol=0, atol=0, wanted=[np.array([-0.5, 0.5, 0.5, 0.5], np.float32)])

case("simplified_layernorm", "SimplifiedLayerNormalization", [f(2, 3, 8), f(8)], domain="", axis=-1, epsilon=1e-3)
for bias in (None, f(8)):
    tag = "_bias" if bias is not None else ""
    case("skip_layernorm" + tag, "SkipLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), f(8), bias], ("y", "", "", "s"), epsilon=1e-3)
    case("skip_simplified" + tag, "SkipSimplifiedLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8), bias], ("y", "", "", "s"))
case("skip_layernorm_no_beta", "SkipLayerNormalization", [f(2, 3, 8), f(2, 3, 8), f(8)])
case("gelu", "Gelu", [f(3, 9, scale=3)])
case("fastgelu", "FastGelu", [f(3, 9, scale=3)])
case("fastgelu_bias", "FastGelu", [f(3, 9, scale=3), f(9)])
case("biasgelu", "BiasGelu", [f(3, 9, scale=3), f(9)])
case("quickgelu", "QuickGelu", [f(3, 9, scale=3)])
case("quickgelu_alpha", "QuickGelu", [f(3, 9, scale=3)], alpha=0.8)
for a, b in ((0, 0), (1, 0), (0, 1), (1, 1)):
    case(f"fusedmatmul_{a}{b}", "FusedMatMul", [f(2, 5, 3) if a else f(2, 3, 5), f(2, 4, 5) if b else f(2, 5, 4)], transA=a, transB=b, alpha=0.5)
conv = dict(kernel_shape=[3, 3], pads=[1, 0, 1, 2], strides=[1, 2])
for activation, params in (("Relu", None), ("Sigmoid", None), ("Tanh", None), ("LeakyRelu", [0.3]), ("Clip", [-0.5, 0.75]), ("HardSigmoid", [0.3, 0.4])):
    more = {} if params is None else {"activation_params": params}
    case(f"fusedconv_{activation.lower()}", "FusedConv", [f(1, 3, 6, 7), f(4, 3, 3, 3, scale=0.3), f(4)], activation=activation, **conv, **more)
case("fusedconv_sum", "FusedConv", [f(1, 3, 6, 7), f(4, 3, 3, 3, scale=0.3), f(4), f(1, 4, 6, 4)], activation="Relu", **conv)
for activation, alpha in (("Relu", {}), ("Sigmoid", {}), ("Tanh", {}), ("LeakyRelu", dict(activation_alpha=0.2))):
    case(f"fusedgemm_{activation.lower()}", "FusedGemm", [f(3, 5), f(4, 5), f(4)], transB=1, activation=activation, **alpha)
case("quantize", "QuantizeLinear", [f(2, 3, scale=4), one(0.1), one(7, np.uint8)], out_types=(2,), rtol=0, atol=0)
case("dequantize_axis", "DequantizeLinear", [s8(2, 3), f(3), s8(3)], axis=1)
scale, zero = (lambda v: one(v)), (lambda v: one(v, np.uint8))
for op in ("QLinearAdd", "QLinearMul"):
    case(op.lower(), op, [u8(2, 3, 4), scale(0.02), zero(120), u8(3, 1), scale(0.05), zero(9), scale(0.07), zero(100)], out_types=(2,), rtol=0, atol=1)
case("qlinearadd_s8", "QLinearAdd", [s8(2, 3), scale(0.02), one(1, np.int8), s8(2, 3), scale(0.05), one(-2, np.int8), scale(0.05), one(0, np.int8)], out_types=(3,), rtol=0, atol=1)
case("qlinearsigmoid", "QLinearSigmoid", [u8(5, 7), scale(0.05), zero(128), scale(1 / 256), zero(0)], out_types=(2,), rtol=0, atol=1)
case("qlinearleakyrelu", "QLinearLeakyRelu", [u8(5, 7), scale(0.05), zero(128), scale(0.03), zero(60)], out_types=(2,), rtol=0, atol=1, alpha=0.2)
case("qlinearsoftmax", "QLinearSoftmax", [u8(5, 7), scale(0.02), zero(128), scale(1 / 256), zero(0)], out_types=(2,), rtol=0, atol=1, axis=-1, opset=13)
case("qlinearaveragepool", "QLinearAveragePool", [u8(1, 2, 6, 5), scale(0.05), zero(100), scale(0.04), zero(90)], out_types=(2,), rtol=0, atol=1,
     kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1])
case("qlinearglobalaveragepool", "QLinearGlobalAveragePool", [u8(2, 3, 6, 5), scale(0.05), zero(100), scale(0.04), zero(90)], out_types=(2,), rtol=0, atol=1)
part = lambda *d: [u8(*d), scale(float(rng.uniform(0.02, 0.06))), zero(int(rng.integers(80, 160)))]
for parts in (1, 2, 3, 4):
    case(f"qlinearconcat_{parts}", "QLinearConcat", [scale(0.05), zero(128), *sum((part(2, 3 + k) for k in range(parts)), [])], out_types=(2,), rtol=0, atol=1, axis=1)
case("dynamicquantizematmul", "DynamicQuantizeMatMul", [f(3, 6), u8(6, 5), f(1), u8(1)], rtol=1e-4, atol=1e-4)
case("dynamicquantizematmul_columns", "DynamicQuantizeMatMul", [f(2, 3, 6), s8(6, 5), abs(f(5)), np.zeros(5, np.int8), f(5)], rtol=1e-4, atol=1e-4)
for tag, k, zeros, bias in (("", 64, None, None), ("_bias", 80, None, f(6)), ("_zeros", 70, u8(6, 2), None), ("_zeros_bias", 96, u8(6, 2), f(6))):
    blocks = -(-k // 32)
    case("matmulnbits" + tag, "MatMulNBits", [f(2, 3, k), u8(6, blocks, 16), abs(f(6, blocks, scale=0.1)) if tag else abs(f(6 * blocks, scale=0.1)), zeros if zeros is None or blocks > 2 else u8(6, 1), None, bias],
         K=k, N=6, bits=4, block_size=32, rtol=1e-4, atol=1e-3)
case("multiheadattention", "MultiHeadAttention", [f(2, 3, 8), f(2, 5, 8), f(2, 5, 8)], num_heads=2)
case("multiheadattention_causal_bias", "MultiHeadAttention", [f(2, 4, 8), f(2, 4, 8), f(2, 4, 8), None, None, f(2, 2, 4, 4)], num_heads=2, scale=0.3, unidirectional=1)


# -- ai.onnx.ml: those that are read --
def labels(name, x, version=4, out=1, **attributes):
    case("labelencoder_" + name, "LabelEncoder", [x], domain="ai.onnx.ml", version=version, out_types=(out,), **attributes)


words = np.array([["b", "a"], ["c", "none"]], dtype=object)
labels("strings_int64s", words, keys_strings=["a", "b", "c"], values_int64s=[5, -6, 7], default_int64=9, out=7, version=2)
labels("strings_floats", words, keys_strings=["a", "b", "c"], values_floats=[0.5, 1.5, 2.5], version=2)
labels("int64s_strings", np.array([3, -1, 4, 8]), keys_int64s=[-1, 3, 4], values_strings=["x", "\u00e9", ""], out=8, version=2)
labels("floats_floats", np.float32([1.5, np.nan, 2, 7]), keys_floats=[np.nan, 1.5, 2.0], values_floats=[10.0, 20.0, 30.0], default_float=-1.0)
labels("tensors", np.array([2, 1, 5]), keys_tensor=numpy_helper.from_array(np.int64([1, 2])), values_tensor=numpy_helper.from_array(np.float64([0.1, 0.2])),
       default_tensor=numpy_helper.from_array(np.float64([9.0])), out=11)
case("binarizer", "Binarizer", [f(3, 4)], domain="ai.onnx.ml", threshold=0.25)
case("arrayfeatureextractor", "ArrayFeatureExtractor", [f(2, 3, 5), np.array([[4, 0, 4]])], domain="ai.onnx.ml")
case("arrayfeatureextractor_vector", "ArrayFeatureExtractor", [f(5), np.array([[1, 3]])], domain="ai.onnx.ml")


# -- ai.onnx.preview: by the formula, which onnx's evaluator has --
def flex(q, k, v, scale=None, score=lambda s: s, prob=lambda p: p, wide=np.float32):
    k, v = (np.repeat(t, q.shape[1] // k.shape[1], axis=1).astype(np.float64) for t in (k, v))
    s = score(q.astype(np.float64) @ k.swapaxes(2, 3) * (scale or q.shape[3] ** -0.5))
    e = np.exp(s - s.max(-1, keepdims=True))
    return [(prob(e / e.sum(-1, keepdims=True)) @ v).astype(q.dtype)]


def graph_of(text):
    return onnx.parser.parse_graph(text)


PREVIEW = {"op": "FlexAttention", "domain": "ai.onnx.preview", "rtol": 1e-4, "atol": 1e-5}
q, k, v = f(2, 4, 3, 8), f(2, 2, 5, 8), f(2, 2, 5, 6)
case("flexattention_groups", ports=[q, k, v], wanted=flex(q, k, v), **PREVIEW)
case("flexattention_graphs", ports=[q, k, v], wanted=flex(q, k, v, 0.3, lambda s: 2 * np.tanh(s / 2), lambda p: p * 0.5), scale=0.3,
     score_mod=graph_of("cap (float[B,H,L,S] s) => (float[B,H,L,S] r) <float c = {2}> { d = Div (s, c) t = Tanh (d) r = Mul (t, c) }"),
     prob_mod=graph_of("half (float[B,H,L,S] p) => (float[B,H,L,S] r) <float c = {0.5}> { r = Mul (p, c) }"), **PREVIEW)
wide = [t.astype(np.float64) for t in (q, k, v)]
case("flexattention_double", ports=wide, wanted=flex(*wide), **PREVIEW)
case("flexattention_precision", ports=wide, wanted=flex(*wide), softmax_precision=1, **PREVIEW)


if __name__ == "__main__":
    print(count, "cases, onnxruntime", ort.__version__)
