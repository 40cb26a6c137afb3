# SPDX-License-Identifier: Apache-2.0
"""What make_cases.py and make_operators.py share: cases as text, ONNX Runtime's answers, random tensors.

Development only (needs onnx, onnxruntime, numpy); the files of cases are committed. Format, line by line:
  case NAME RTOL ATOL
  model N            followed by N lines of ONNX text
  input|output DTYPE DIM... : VALUE...
"""
import os
import numpy as np, onnx, onnx.parser, onnxruntime as ort

NAMES = {"float": "float32", "double": "float64", "int64": "int64", "int32": "int32", "uint8": "uint8", "int8": "int8", "bool": "bool", "float16": "float16"}
rng = np.random.default_rng(7)
out = []
ort.set_default_logger_severity(3)


def fmt(a):
    a = np.asarray(a)
    kind = {"float32": "float32", "float64": "float64", "float16": "float16", "bool": "bool"}.get(str(a.dtype), str(a.dtype))
    flat = a.reshape(-1)
    values = " ".join("%.9g" % float(v) if a.dtype.kind == "f" and a.dtype != np.float64 else "%.17g" % v if a.dtype.kind == "f" else str(int(v)) for v in flat)
    return f"{kind} {' '.join(map(str, a.shape))} : {values}"


def case(name, text, inputs, rtol=1e-5, atol=1e-6, opset=21, wanted=None):
    """`wanted` instead of ONNX Runtime's answer: where it has none, or another than the specification."""
    text = f'<ir_version: 10, opset_import: ["" : {opset}]>\n' + text.strip()
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model)
    inputs = [np.array(v) for v in inputs]
    results = wanted if wanted is not None else run(model, inputs)
    lines = text.split("\n")
    out.append(f"case {name} {rtol} {atol}")
    out.append(f"model {len(lines)}")
    out.extend(lines)
    out.extend("input " + fmt(v) for v in inputs)
    out.extend("output " + fmt(v) for v in results)


def run(model, inputs):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    feeds = {i.name: v for i, v in zip(session.get_inputs(), inputs)}
    return session.run(None, feeds)


def f(*dims, scale=1.0):
    return (rng.standard_normal(dims) * scale).astype(np.float32)


def u8(*dims):
    return rng.integers(0, 256, dims).astype(np.uint8)


def s8(*dims):
    return rng.integers(-128, 128, dims).astype(np.int8)


def write(name):
    open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), "w").write("\n".join(out) + "\n")
    print(len([l for l in out if l.startswith("case ")]), "cases, onnxruntime", ort.__version__)
