# SPDX-License-Identifier: Apache-2.0
"""The cases of make.py: name -> (model in ONNX text, inputs, who computes the right values)."""

import numpy as np

RNG = np.random.default_rng(7)
CASES = {}
BOTH = "ort onnx"  # onnx's evaluator knows neither defaults nor absent attributes of functions


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def case(name, text, judges="ort", **feeds):
    CASES[name] = (text, {k: v if isinstance(v, list) else np.asarray(v) for k, v in feeds.items()}, judges)


# -- functions --
F = """<domain: "f", opset_import: ["" : 18, "f" : 1]>\n"""
case("function_attributes", """<ir_version: 10, opset_import: ["" : 18, "f" : 1]>
m (float[2,3] x) => (float[2,3] y, float[2,3] z) {
  y = f.Scale <k = 2.5> (x)
  z = f.Scale <k = 3.0, shift = -1.0> (x)
}
""" + F + """Scale <k, shift: float = 0.5> (a) => (c) {
  s = Constant <value_float: float = @k> ()
  t = Constant <value_float: float = @shift> ()
  b = Mul (a, s)
  c = Add (b, t)
}""", x=floats(2, 3))
case("function_absent_attribute", """<ir_version: 10, opset_import: ["" : 18, "f" : 1]>
m (float[2,3] x) => (float[2,3] y, float[2,3] z) {
  y = f.Soft (x)
  z = f.Soft <axis = 0> (x)
}
""" + F + """Soft <axis> (a) => (c) { c = Softmax <axis: int = @axis> (a) }""", x=floats(2, 3))
case("function_nested", """<ir_version: 10, opset_import: ["" : 18, "f" : 1]>
m (float[2,3] x) => (float[2,3] y) {
  t = f.Twice <k = 3.0> (x)
  y = f.Twice <k = 0.5> (t)
}
""" + F + """Twice <k> (a) => (c) {
  t = f.Scale <factor: float = @k> (a)
  c = f.Scale <factor: float = @k> (t)
}
""" + F + """Scale <factor> (a) => (c) {
  t = Constant <value_float: float = @factor> ()
  c = Mul (a, t)
}""", x=floats(2, 3))
case("function_optional_input", """<ir_version: 10, opset_import: ["" : 18, "f" : 1]>
m (float[2,3] x, float lo) => (float[2,3] y, float[2,3] z) {
  y = f.Bound (x, lo)
  z = f.Bound (x, , lo)
}
""" + F + """Bound (a, lo, hi) => (c) { c = Clip (a, lo, hi) }""", x=floats(2, 3), lo=np.float32(0.1))
case("function_older_opset", """<ir_version: 10, opset_import: ["" : 18, "f" : 1]>
m (float[2,3] x) => (float[2,1] y, float[2,1] z) {
  y = f.Total (x)
  z = ReduceSum <keepdims = 1> (x, axes)
}
<domain: "f", opset_import: ["" : 11]>
Total (a) => (c) { c = ReduceSum <axes = [1], keepdims = 1> (a) }""".replace("{\n  y = f.Total", "<int64[1] axes = {1}>\n{\n  y = f.Total"), "onnx", x=floats(2, 3))
case("function_names", """<ir_version: 10, opset_import: ["" : 18, "f" : 1]>
m (float[2] x) => (float[2] y, float[2] t) {
  t = Neg (x)
  a = f.Odd (t)
  y = f.Odd (a)
}
""" + F + """Odd (x) => (y) {
  a = Exp (x)
  t = Neg (a)
  y = Add (t, x)
}""", x=floats(2))
case("function_unused_output", """<ir_version: 10, opset_import: ["" : 18, "f" : 1]>
m (float[2] x) => (float[2] y) { , y = f.Two (x) }
""" + F + """Two (x) => (a, b) {
  a = Exp (x)
  b = Neg (a)
}""", x=floats(2))
case("function_overloads", """<ir_version: 10, opset_import: ["" : 18, "f" : 1]>
m (float[2] x) => (float[2] y, float[2] z) {
  y = f.One : up (x)
  z = f.One : down (x)
}
<domain: "f", opset_import: ["" : 18], overload: "up">
One (x) => (y) { y = Exp (x) }
<domain: "f", opset_import: ["" : 18], overload: "down">
One (x) => (y) { y = Neg (x) }""", x=floats(2))
