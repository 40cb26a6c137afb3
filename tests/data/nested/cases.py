# SPDX-License-Identifier: Apache-2.0
"""The cases of make.py: name -> (model in ONNX text, inputs, who computes the right values)."""

import numpy as np

RNG = np.random.default_rng(7)
CASES = {}
BOTH = "ort onnx"  # onnx's evaluator knows neither defaults nor absent attributes of functions


def floats(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def case(name, text, judges="ort", **feeds):
    CASES[name] = (text, {k: v if v is None or isinstance(v, list) else np.asarray(v) for k, v in feeds.items()}, judges)


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

# -- graphs inside nodes --
H = """<ir_version: 10, opset_import: ["" : 18]>\n"""
IF = H + """m (float[2,3] x, bool c) => (float[2,3] y) {
  t = Exp (x)
  y = If (c) <then_branch = yes () => (float[2,3] a) { a = Add (t, x) }, else_branch = no () => (float[2,3] b) { n = Neg (x) b = Mul (n, n) }>
}"""
case("if_true", IF, BOTH, x=floats(2, 3), c=np.array(True))
case("if_false", IF, BOTH, x=floats(2, 3), c=np.array(False))
case("if_nested", H + """m (float[2,3] x, bool c, bool d) => (float[2,3] y) {
  t = Exp (x)
  y = If (c) <
    then_branch = yes () => (float[2,3] a) {
      u = Neg (t)
      a = If (d) <then_branch = yes_yes () => (float[2,3] e) { e = Add (u, x) }, else_branch = yes_no () => (float[2,3] f) { f = Sub (u, t) }>
    },
    else_branch = no () => (float[2,3] b) { b = Identity (x) }>
}""", BOTH, x=floats(2, 3), c=np.array(True), d=np.array(False))
case("if_shapes", H + """m (float[2,3] x, bool c) => (float[N] y, int64[1] s) {
  y = If (c) <
    then_branch = yes () => (float[6] a) { k = Constant <value_ints = [6]> () a = Reshape (x, k) },
    else_branch = no () => (float[2] b) { k = Constant <value_ints = [1]> () b = ReduceSum <keepdims = 0> (x, k) }>
  s = Shape (y)
}""", BOTH, x=floats(2, 3), c=np.array(False))
case("if_weights", H + """m (float[2,3] x, bool c) => (float[2,3] y) <float[3] w = {1, 2, 3}> {
  y = If (c) <then_branch = yes () => (float[2,3] a) <float[3] v = {0.5, 0.25, 0.125}> { p = Mul (x, w) a = Add (p, v) },
    else_branch = no () => (float[2,3] b) { b = Sub (x, w) }>
}""", BOTH, x=floats(2, 3), c=np.array(True))
LOOP = H + """m (float[3] x, int64 M, bool c) => (float[3] y, float[N,3] all) {
  y, all = Loop (M, c, x) <body = turn (int64 i, bool go, float[3] v) => (bool on, float[3] w, float[3] s) {
    on = Identity (go)
    f = Cast <to = 1> (i)
    s = Mul (v, x)
    w = Add (s, f)
  }>
}"""
case("loop_turns", LOOP, x=floats(3), M=np.array(5), c=np.array(True))
case("loop_no_turn", LOOP, x=floats(3), M=np.array(0), c=np.array(True))
case("loop_cond_false", LOOP, x=floats(3), M=np.array(4), c=np.array(False))
case("loop_while", H + """m (float[1] x, float limit) => (float[1] y, int64[1] turns) <int64[1] zero = {0}, int64[1] one = {1}, bool yes = {1}> {
  y, turns = Loop ("", yes, x, zero) <body = turn (int64 i, bool go, float[1] v, int64[1] n) => (bool on, float[1] w, int64[1] k) {
    w = Add (v, v)
    k = Add (n, one)
    big = Less (w, limit)
    on = Squeeze (big)
  }>
}""", x=np.array([1.5], np.float32), limit=np.float32(100))
case("loop_forever_bounded", H + """m (float[2] x, int64 M) => (float[2] y) {
  y = Loop (M, "", x) <body = turn (int64 i, bool go, float[2] v) => (bool on, float[2] w) { on = Identity (go) w = Mul (v, x) }>
}""", x=floats(2), M=np.array(3))
case("loop_grows", H + """m (float[1,2] x, int64 M) => (float[N,2] y, int64[K] sizes) {
  y, sizes = Loop (M, "", x) <body = turn (int64 i, bool go, float[A,2] v) => (bool on, float[B,2] w, int64 s) {
    on = Identity (go)
    w = Concat <axis = 0> (v, x)
    s = Size (w)
  }>
}""", x=floats(1, 2), M=np.array(4))
case("loop_nested", H + """m (float[2] x, int64 M) => (float[2] y) {
  y = Loop (M, "", x) <body = turn (int64 i, bool go, float[2] v) => (bool on, float[2] w) {
    on = Identity (go)
    w = Loop (i, "", v) <body = inner (int64 j, bool more, float[2] a) => (bool b, float[2] d) {
      b = Identity (more)
      e = Add (a, x)
      k = Add (i, j)
      f = Cast <to = 1> (k)
      d = Mul (e, f)
    }>
  }>
}""", x=floats(2), M=np.array(4))
case("loop_several", H + """m (float[2] x, float[2] z, int64 M) => (float[2] y, float[2] q, float[N,2] a, int64[N] b) {
  y, q, a, b = Loop (M, "", x, z) <body = turn (int64 i, bool go, float[2] v, float[2] u) => (bool on, float[2] uu, float[2] vv, float[2] s, int64 t) {
    on = Identity (go)
    uu = Identity (u)
    vv = Add (v, u)
    s = Sub (v, u)
    t = Identity (i)
  }>
}""", x=floats(2), z=floats(2), M=np.array(3))
case("scan_directions", H + """m (float[2] h, float[3,4,2] x, float[2,3] z) => (float[2] last, float[4,3,2] y, float[2,3] r) {
  last, y, r = Scan (h, x, z) <num_scan_inputs = 2, scan_input_axes = [0, 1], scan_input_directions = [1, 0], scan_output_axes = [1, -1], scan_output_directions = [0, 1],
    body = turn (float[2] s, float[4,2] a, float[2] b) => (float[2] t, float[4,2] p, float[2] q) {
      t = Add (s, b)
      p = Mul (a, t)
      q = Sub (b, s)
    }>
}""", x=floats(3, 4, 2), h=floats(2), z=floats(2, 3))
case("scan_captures", H + """m (float[5,2] x, float[2,2] w) => (float[2] last, float[5,2] y) <float[2] zero = {0, 0}> {
  last, y = Scan (zero, x) <num_scan_inputs = 1, body = turn (float[2] s, float[2] a) => (float[2] t, float[2] o) {
      u = MatMul (a, w)
      v = Add (u, s)
      t = Tanh (v)
      o = Identity (t)
    }>
}""", x=floats(5, 2), w=floats(2, 2))
case("scan_8", """<ir_version: 10, opset_import: ["" : 8]>
m (float[2,2] h, float[2,3,2] x) => (float[2,2] last, float[2,3,2] y) {
  last, y = Scan ("", h, x) <num_scan_inputs = 1, directions = [1], body = turn (float[2] s, float[2] a) => (float[2] t, float[2] o) {
      t = Add (s, a)
      o = Identity (t)
    }>
}""", h=floats(2, 2), x=floats(2, 3, 2))
case("function_with_if", """<ir_version: 10, opset_import: ["" : 18, "f" : 1]>
m (float[2,3] x, bool c) => (float[2,3] y, float[2,3] z) {
  y = f.Choose <k = 2.5> (x, c)
  n = Not (c)
  z = f.Choose <k = -1.0> (y, n)
}
""" + F + """Choose <k> (a, c) => (r) {
  e = Exp (a)
  r = If (c) <then_branch = yes () => (t) { s = Constant <value_float: float = @k> () t = Mul (e, s) }, else_branch = no () => (u) { u = f.Half (a) }>
}
""" + F + """Half (a) => (b) {
  h = Constant <value_float = 0.5> ()
  b = Mul (a, h)
}""", x=floats(2, 3), c=np.array(True))

# -- sequences and optionals that are known while the file is read --
case("sequence_edits", H + """m (float[2] x, float[2] z) => (float[2] a, float[2] b, int64 n) <int64 first = {0}, int64 last = {-1}> {
  none = SequenceEmpty ()
  one = SequenceInsert (none, x)
  two = SequenceInsert (one, z, first)
  built = SequenceConstruct (x, z, x)
  three = SequenceInsert (built, z, last)
  less = SequenceErase (three, first)
  same = Identity (less)
  a = SequenceAt (two, last)
  b = SequenceAt (same, first)
  n = SequenceLength (same)
}""", BOTH, x=floats(2), z=floats(2))
case("sequence_split", H + """m (float[5,2] x) => (float[2,2] a, float[1,2] b, float[2] c, float[3,2] d, int64 n) <int64 two = {2}, int64 at = {2}, int64[2] sizes = {3, 2}, int64 zero = {0}> {
  y = Neg (x)
  even = SplitToSequence (y, two)
  a = SequenceAt (even, zero)
  b = SequenceAt (even, at)
  ones = SplitToSequence <keepdims = 0> (y)
  c = SequenceAt (ones, at)
  listed = SplitToSequence (y, sizes)
  d = SequenceAt (listed, zero)
  n = SequenceLength (ones)
}""", x=floats(5, 2))
case("sequence_concat", H + """m (float[2,3] x, float[2,3] z) => (float[4,3] a, float[2,2,3] b) {
  s = SequenceConstruct (x, z)
  a = ConcatFromSequence <axis = 0> (s)
  b = ConcatFromSequence <axis = 1, new_axis = 1> (s)
}""", BOTH, x=floats(2, 3), z=floats(2, 3))
case("sequence_through_function", """<ir_version: 10, opset_import: ["" : 18, "f" : 1]>
m (float[4] x) => (float[2] y) <int64 one = {1}> {
  s = f.Halves (x)
  y = SequenceAt (s, one)
}
""" + F + """Halves (a) => (s) {
  n = Constant <value_int = 2> ()
  s = SplitToSequence (a, n)
}""", x=floats(4))
case("optional_known", H + """m (float[2] x) => (float[2] y, bool has, bool none) {
  o = Optional (x)
  y = OptionalGetElement (o)
  has = OptionalHasElement (o)
  none = OptionalHasElement ()
}""", x=floats(2))

# -- sequences and optionals whose length data gives, and strings --
case("sequence_positions", H + """m (float[2] x, float[3] z, int64 p, int64 q) => (float[K] a, float[L] b, int64 n, seq(float[]) all) {
  built = SequenceConstruct (x, z, x)
  more = SequenceInsert (built, z, p)
  less = SequenceErase (more, q)
  a = SequenceAt (less, p)
  b = SequenceAt (more, q)
  n = SequenceLength (less)
  all = Identity (less)
}""", BOTH, x=floats(2), z=floats(3), p=np.array(1), q=np.array(-1))
case("sequence_free", H + """m (float[N,3] x, int64 each, int64[K] sizes) => (float[M,3] a, float[L,1,3] b, float[P,3] c) {
  rows = SplitToSequence <axis = 0, keepdims = 1> (x)
  a = ConcatFromSequence <axis = 0> (rows)
  b = ConcatFromSequence <axis = 0, new_axis = 1> (rows)
  pairs = SplitToSequence (x, each)
  zero = Constant <value_int = 0> ()
  dropped = SequenceErase (pairs, zero)
  c = ConcatFromSequence <axis = 0> (dropped)
}""", BOTH, x=floats(5, 3), each=np.array(2), sizes=np.array([5]))
case("sequence_ports", H + """m (seq(float[]) s, float[2] x) => (seq(float[]) t, int64 n) {
  t = SequenceInsert (s, x)
  n = SequenceLength (t)
}""", BOTH, s=[floats(2), floats(3, 2)], x=floats(2))
case("sequence_in_loop", H + """m (float[N,2] x, int64 M) => (float[P,2] y, seq(float[]) all) {
  none = SequenceEmpty ()
  all = Loop (M, "", none) <body = turn (int64 i, bool go, seq(float[]) s) => (bool on, seq(float[]) t) {
    on = Identity (go)
    row = Gather <axis = 0> (x, i)
    axis = Constant <value_ints = [0]> ()
    line = Unsqueeze (row, axis)
    t = SequenceInsert (s, line)
  }>
  y = ConcatFromSequence <axis = 0> (all)
}""", "ort", x=floats(4, 2), M=np.array(3))
case("sequence_in_if", H + """m (float[4,2] x, bool c) => (seq(float[]) s) {
  s = If (c) <then_branch = yes () => (seq(float[]) a) { a = SplitToSequence (x) }, else_branch = no () => (seq(float[]) b) { b = SequenceConstruct (x, x) }>
}""", BOTH, x=floats(4, 2), c=np.array(True))
case("sequence_map", H + """m (seq(float[]) s, float[2] x) => (seq(float[]) t, seq(int64[]) shapes) {
  t, shapes = SequenceMap (s, x) <body = each (float[A,2] a, float[2] b) => (float[A,2] r, int64[2] k) {
    p = Add (a, b)
    r = Mul (p, x)
    k = Shape (a)
  }>
}""", s=[floats(1, 2), floats(3, 2)], x=floats(2))
case("optional_ports", H + """m (optional(float[2]) o, optional(seq(float[])) none) => (float[2] y, bool has, bool empty) {
  y = OptionalGetElement (o)
  has = OptionalHasElement (o)
  empty = OptionalHasElement (none)
}""", "onnx", o=floats(2), none=None)
case("strings", """<ir_version: 10, opset_import: ["" : 20]>
m (string[2,2] x, int64[2] at) => (string[2,2] z, string[2,2] w, bool[2,2] same, bool[2,2] match, string[2,2,K] parts, int64[2,2] counts) <string[2] tail = {"!", " go"}> {
  z = StringConcat (x, tail)
  w = Gather <axis = 1> (z, at)
  same = Equal (x, w)
  match = RegexFullMatch <pattern = "[a-z]+( (the|two))*"> (x)
  parts, counts = StringSplit (x)
}""", BOTH, x=np.array([["one", " two  the"], ["\u00e9t\u00e9", "go the two"]], dtype=object), at=np.array([1, 0]))
