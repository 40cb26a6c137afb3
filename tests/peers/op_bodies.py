# SPDX-License-Identifier: Apache-2.0
"""The integer operators three ways: the formulas of docs/numerics.md in Python's exact integers, the operators' function bodies in
ONNX Runtime, and (through tests/data/integer/cases.txt, which --write makes) npuc's reference kernels. All bytes must be equal.

    python op_bodies.py [--cases N] [--seed S] [--write]

The formulas here are written from docs/numerics.md, one scalar at a time; they share nothing with the C code. The bodies are read
from src/ir/ops/integer_bodies.c, the text that npuc writes into files."""
import argparse
import itertools
import math
import pathlib
import re
import sys

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx import TensorProto, helper

ROOT = pathlib.Path(__file__).resolve().parents[2]
RANGE = {np.uint8: (0, 255), np.int8: (-128, 127)}
ONNX_TYPE = {np.uint8: TensorProto.UINT8, np.int8: TensorProto.INT8}


# -- formulas --
def rnd(s):
    return 0 if s == 0 else 1 << (s - 1)


def clamp(v, lo, hi):
    return max(lo, min(hi, v))


def shift(p, s, a):
    return clamp(a["y_zero_point"] + ((p + rnd(s)) >> s), a["lo"], a["hi"])


def rule(t, m, s, a):
    return shift(t * m, s, a)


def window_sizes(spatial, a):
    n = len(spatial)
    sizes = []
    for i in range(n):
        begin, end = a["pads"][i], a["pads"][i + n]
        room = spatial[i] + begin + end - a["dilations"][i] * (a["kernel_shape"][i] - 1) - 1
        size = -(-room // a["strides"][i]) + 1 if a.get("ceil_mode") else room // a["strides"][i] + 1
        if a.get("ceil_mode") and (size - 1) * a["strides"][i] >= spatial[i] + begin:
            size -= 1
        sizes.append(size)
    return sizes


def positions(p, spatial, a):
    """Each tap of the window at output p: (tap, input position, inside the image, inside the padded image)."""
    n = len(spatial)
    for tap in itertools.product(*[range(k) for k in a["kernel_shape"]]):
        q = [p[i] * a["strides"][i] - a["pads"][i] + tap[i] * a["dilations"][i] for i in range(n)]
        inside = all(0 <= q[i] < spatial[i] for i in range(n))
        padded = all(-a["pads"][i] <= q[i] < spatial[i] + a["pads"][i + n] for i in range(n))
        yield tap, tuple(q), inside, padded


def qconv(a, x, w, bias, M, s):
    spatial, group = x.shape[2:], a["group"]
    per_in, per_out = x.shape[1] // group, w.shape[0] // group
    y = np.zeros([x.shape[0], w.shape[0], *window_sizes(spatial, a)], np.int64)
    for index in np.ndindex(*y.shape):
        n, o, p = index[0], index[1], index[2:]
        t = int(bias[o])
        for tap, q, inside, _ in positions(p, spatial, a):
            if inside:
                for c in range(per_in):
                    t += (int(x[(n, o // per_out * per_in + c, *q)]) - a["x_zero_point"]) * int(w[(o, c, *tap)])
        y[index] = rule(t, int(M[o]), int(s[o]), a)
    return y


def qgemm(a, x, w, bias, M, s):
    y = np.zeros([x.shape[0], w.shape[0]], np.int64)
    for r, o in np.ndindex(*y.shape):
        t = int(bias[o]) + sum((int(x[r, k]) - a["x_zero_point"]) * int(w[o, k]) for k in range(x.shape[1]))
        y[r, o] = rule(t, int(M[o]), int(s[o]), a)
    return y


def qadd(a, x0, x1, Ma, Mb, s):
    x0, x1 = np.broadcast_arrays(x0, x1)
    y = np.zeros(x0.shape, np.int64)
    for i in np.ndindex(*y.shape):
        p = (int(x0[i]) - a["a_zero_point"]) * int(Ma[0]) + (int(x1[i]) - a["b_zero_point"]) * int(Mb[0])
        y[i] = shift(p, int(s[0]), a)
    return y


def qmul(a, x0, x1, M, s):
    x0, x1 = np.broadcast_arrays(x0, x1)
    y = np.zeros(x0.shape, np.int64)
    for i in np.ndindex(*y.shape):
        y[i] = rule((int(x0[i]) - a["a_zero_point"]) * (int(x1[i]) - a["b_zero_point"]), int(M[0]), int(s[0]), a)
    return y


def requantize(a, x, M, s):
    return np.array([rule(int(v) - a["x_zero_point"], int(M[0]), int(s[0]), a) for v in x.flat], np.int64).reshape(x.shape)


def qaveragepool(a, x, M, s, counts):
    spatial = x.shape[2:]
    y = np.zeros([*x.shape[:2], *window_sizes(spatial, a)], np.int64)
    for index in np.ndindex(*y.shape):
        t = count = 0
        for _, q, inside, padded in positions(index[2:], spatial, a):
            t += int(x[(*index[:2], *q)]) - a["x_zero_point"] if inside else 0
            count += padded if a["count_include_pad"] else inside
        k = list(counts).index(count)
        y[index] = rule(t, int(M[k]), int(s[k]), a)
    return y


def qglobalaveragepool(a, x, M, s):
    y = np.zeros([*x.shape[:2], *[1] * (x.ndim - 2)], np.int64)
    for n, c in np.ndindex(*x.shape[:2]):
        y[n, c] = rule(sum(int(v) - a["x_zero_point"] for v in x[n, c].flat), int(M[0]), int(s[0]), a)
    return y


def lookup(a, x, table):
    return np.array([int(table[int(v) + (128 if x.dtype == np.int8 else 0)]) for v in x.flat], np.int64).reshape(x.shape)


def softmax_rows(a, x, T):
    moved = np.moveaxis(x, a["axis"], -1)
    for i in np.ndindex(*moved.shape[:-1]):
        row = [int(v) for v in moved[i]]
        m = max(row)
        e = [int(T[m - v]) for v in row]
        yield i, row, m, e, sum(e)


def qsoftmax(a, x, T, scale):
    y = np.moveaxis(np.zeros(x.shape, np.int64), a["axis"], -1)
    for i, _, _, e, S in softmax_rows(a, x, T):
        E = S.bit_length() - 1
        r = min(65535, ((1 << (E + 16)) + S // 2) // S)
        y[i] = [rule(v, r, E + 16 - int(scale[0]), a) for v in e]
    return np.moveaxis(y, -1, a["axis"])


def qlogsoftmax(a, x, T, L, M, s):
    y = np.moveaxis(np.zeros(x.shape, np.int64), a["axis"], -1)
    for i, row, m, _, S in softmax_rows(a, x, T):
        E = S.bit_length() - 1
        k = (S >> (E - 8)) % 256
        y[i] = [shift(-(m - v) * int(M[0]) - (E - 16) * int(M[1]) - int(L[k]), int(s[0]), a) for v in row]
    return np.moveaxis(y, -1, a["axis"])


def qnormalize(a, x, bias, M, s):
    flat, n, inner = [int(v) - a["x_zero_point"] for v in x.flat], a["count"], a["inner"]
    y = [0] * len(flat)
    for row in range(len(flat) // n):
        places = [(row // inner * n + k) * inner + row % inner for k in range(n)]
        d = [flat[i] for i in places]
        S = sum(d) if a["centre"] else 0
        V = max(1, n * sum(v * v for v in d) - S * S + a["epsilon"])
        E = (V.bit_length() - 1) // 2 * 2
        m = V << (30 - E) if E <= 30 else V >> (E - 30)
        r = min(65535, math.isqrt((1 << 62) // m))
        q = E // 2 + 4
        for i, v in zip(places, d):
            p = i // a["repeat"] % len(M)
            y[i] = rule((((n * v - S) * r + rnd(q)) >> q) + int(bias[p]), int(M[p]), int(s[p]), a)
    return np.array(y, np.int64).reshape(x.shape)


FORMULA = {"QConv": qconv, "QGemm": qgemm, "QAdd": qadd, "QMul": qmul, "Requantize": requantize, "QAveragePool": qaveragepool,
           "QGlobalAveragePool": qglobalaveragepool, "Lookup": lookup, "QSoftmax": qsoftmax, "QLogSoftmax": qlogsoftmax,
           "QNormalize": qnormalize}
PORTS = {"QConv": "x w bias M s", "QGemm": "x w bias M s", "QAdd": "a b Ma Mb s", "QMul": "a b M s", "Requantize": "x M s",
         "QAveragePool": "x M s counts", "QGlobalAveragePool": "x M s", "Lookup": "x table", "QSoftmax": "x T scale",
         "QLogSoftmax": "x T L M s", "QNormalize": "x bias M s"}


# -- random cases --
class Cases:
    def __init__(self, seed):
        self.g = np.random.default_rng(seed)

    def int(self, lo, hi):
        return int(self.g.integers(lo, hi + 1))

    def dtype(self):
        return [np.uint8, np.int8][self.int(0, 1)]

    def bytes(self, dims, dtype=None):
        dtype = dtype or self.dtype()
        lo, hi = RANGE[dtype]
        if self.int(0, 3) == 0:  # extremes only
            return self.g.choice([lo, hi], dims).astype(dtype)
        return self.g.integers(lo, hi + 1, dims).astype(dtype)

    def zero(self, dtype):
        lo, hi = RANGE[dtype]
        return [lo, hi, 0, self.int(lo, hi)][self.int(0, 3)]

    def out(self, a, dtype):
        lo, hi = RANGE[dtype]
        a.update(y_zero_point=self.zero(dtype), lo=lo, hi=hi, y_dtype=int(ONNX_TYPE[dtype]))
        if self.int(0, 2) == 0:
            a["lo"], a["hi"] = sorted([self.int(lo, hi), self.int(lo, hi)])
        return dtype

    def scale(self, n, bound):
        """Multipliers that bring |t| <= bound to about +-200, either sign, both widths, and some extreme ones."""
        M, s = [], []
        for _ in range(n):
            bits = [31, 15][self.int(0, 1)]
            kind = self.int(0, 9)
            if kind == 0:
                m, e = 1, self.int(0, 3)  # powers of two: exact ties
            elif kind == 1:
                m, e = self.int(2 ** (bits - 1), 2 ** bits - 1), 62
            else:
                r = self.g.uniform(20, 200) / max(bound, 1)
                f, exponent = math.frexp(r)
                m, e = min(2 ** bits - 1, round(f * 2 ** bits)), bits - exponent
            M.append(m * (-1 if self.int(0, 7) == 0 else 1))
            s.append(max(0, min(62, e)))
        return np.array(M, np.int32), np.array(s, np.int32)

    def window(self, n, spatial, ceil):
        a = {"kernel_shape": [self.int(1, 3) for _ in range(n)], "strides": [self.int(1, 3) for _ in range(n)], "dilations": [self.int(1, 2) for _ in range(n)]}
        a["pads"] = [self.int(0, a["kernel_shape"][i % n] - 1) for i in range(2 * n)]
        if ceil:
            a.update(ceil_mode=self.int(0, 1), count_include_pad=self.int(0, 1))
        return a

    def make(self, op):
        dtype = self.dtype()
        a = {}
        y_dtype = dtype
        if op == "QConv":
            n = self.int(1, 2) if self.int(0, 9) else 3
            spatial = [self.int(5, 7) for _ in range(n)]
            a = self.window(n, spatial, False)
            a["group"] = [1, 2, 4][self.int(0, 2)]
            per, co = self.int(1, 3) if a["group"] != 4 else 1, a["group"] * self.int(1, 2)
            x = self.bytes([self.int(1, 2), a["group"] * per, *spatial], dtype)
            w = self.bytes([co, per, *a["kernel_shape"]], np.int8)
            a["x_zero_point"] = self.zero(dtype)
            y_dtype = self.out(a, self.dtype())
            M, s = self.scale(co, 255 * 64 * per)
            t = [x, w, self.g.integers(-20000, 20001, co).astype(np.int32), M, s]
        elif op == "QGemm":
            k, o = self.int(1, 40), self.int(1, 6)
            x, w = self.bytes([self.int(1, 3), k], dtype), self.bytes([o, k], np.int8)
            a["x_zero_point"] = self.zero(dtype)
            y_dtype = self.out(a, self.dtype())
            M, s = self.scale(o, 100 * 64 * k)
            t = [x, w, self.g.integers(-20000, 20001, o).astype(np.int32), M, s]
        elif op in ("QAdd", "QMul"):
            dims = [self.int(1, 2), self.int(1, 4), 3, 5]
            other = [dims, [1, dims[1], 1, 1], [5], [1]][self.int(0, 3)]
            x0, x1 = self.bytes(dims, dtype), self.bytes(other)
            if self.int(0, 1):
                x0, x1 = x1, x0
            a.update(a_zero_point=self.zero(x0.dtype.type), b_zero_point=self.zero(x1.dtype.type))
            y_dtype = self.out(a, self.dtype())
            if op == "QMul":
                M, s = self.scale(1, 255 * 128)
                t = [x0, x1, M, s]
            else:
                M, s = self.scale(1, 255)
                t = [x0, x1, M, np.array([self.int(-int(abs(M[0])), int(abs(M[0])))], np.int32), s]
        elif op == "Requantize":
            lo, hi = RANGE[dtype]
            x = np.arange(lo, hi + 1).astype(dtype)
            a["x_zero_point"] = self.zero(dtype)
            y_dtype = self.out(a, self.dtype())
            t = [x, *self.scale(1, 255)]
        elif op == "QAveragePool":
            n = self.int(1, 2)
            spatial = [self.int(5, 8) for _ in range(n)]  # the widest window spans 5
            a = self.window(n, spatial, True)
            x = self.bytes([self.int(1, 2), self.int(1, 3), *spatial], dtype)
            a["x_zero_point"] = self.zero(dtype)
            y_dtype = self.out(a, self.dtype())
            found = set()
            for p in itertools.product(*[range(v) for v in window_sizes(spatial, a)]):
                found.add(sum((v[3] if a["count_include_pad"] else v[2]) for v in positions(p, spatial, a)))
            counts = np.array(sorted(found), np.int32)
            M, s = self.scale(len(counts), 100 * 4)
            t = [x, M, s, counts]
        elif op == "QGlobalAveragePool":
            dims = [self.int(1, 2), self.int(1, 4), self.int(1, 8), self.int(1, 8)]
            x = self.bytes(dims, dtype)
            a["x_zero_point"] = self.zero(dtype)
            y_dtype = self.out(a, self.dtype())
            t = [x, *self.scale(1, 128 * dims[2] * dims[3])]
        elif op == "Lookup":
            lo, hi = RANGE[dtype]
            y_dtype = self.dtype()
            t = [self.g.permutation(np.arange(lo, hi + 1)).astype(dtype).reshape(16, 16), self.bytes([256], y_dtype)]
        elif op == "QNormalize":
            n, c, h, w = self.int(1, 2), [2, 4, 6][self.int(0, 2)], self.int(1, 3), self.int(1, 4)
            x = self.bytes([n, c, h, w], dtype)
            if self.int(0, 3) == 0:  # a row without variance
                x[0] = x[0, 0, 0, 0]
            # layer over the last axis, over the last three, over the channels, groups, instance
            count, inner, repeat, P = [(w, 1, 1, w), (c * h * w, 1, 1, c * h * w), (c, h * w, h * w, c), (c // 2 * h * w, 1, h * w, c), (h * w, 1, h * w, c)][self.int(0, 4)]
            a.update(count=count, inner=inner, repeat=repeat, centre=int(self.int(0, 3) > 0), epsilon=[0, self.int(1, 1000), 1 << 60][self.int(0, 2)])
            a["x_zero_point"] = self.zero(dtype)
            y_dtype = self.out(a, self.dtype())
            M, s = self.scale(P, 4096 * 3)
            t = [x, self.g.integers(-2 ** 13, 2 ** 13, P).astype(np.int32), M, s]
        else:
            dims = [self.int(1, 3), self.int(1, 20), self.int(1, 3)]
            a["axis"] = [-1, 1, 2, 0][self.int(0, 3)]
            x = self.bytes(dims, dtype)
            if self.int(0, 1):
                x = (x // 8).astype(dtype)
            y_dtype = self.out(a, self.dtype())
            step = self.g.uniform(0.01, 0.3)
            T = np.array([math.floor(65535 * math.exp(-step * d) + 0.5) for d in range(256)], np.uint16)
            if op == "QSoftmax":
                t = [x, T, np.array([8], np.int32)]
            else:
                one = step * 255 / self.g.uniform(10, 255)
                s = self.int(15, 28)
                scaled = [round(v / one * 2 ** s) for v in (step, math.log(2))]
                logs = [round((math.log(1 + (k + 0.5) / 256) + math.log(65536 / 65535)) / one * 2 ** s) for k in range(256)]
                t = [x, T, np.array(logs, np.int64).astype(np.int32), np.array(scaled, np.int64).astype(np.int32), np.array([s], np.int32)]
                if max(scaled) >= 2 ** 31:
                    return self.make(op)
        return a, t, y_dtype


# -- bodies in ONNX Runtime --
def bodies():
    text = (ROOT / "src/ir/ops/integer_bodies.c").read_text()
    found = {}
    for body in re.findall(r"const char npuc_body_\w+\[\] =\n(.*?);\n", text, re.S):
        source = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', body)).encode().decode("unicode_escape")
        function = onnx.parser.parse_function('<domain: "npuc", opset_import: ["" : 21]>\n' + source)
        found[function.name] = function
    return found


def run_body(function, op, a, tensors, y_dtype, y_dims):
    names = PORTS[op].split()
    kept = {k: a[k] for k in function.attribute}
    node = helper.make_node(op, names, ["y"], domain="npuc", **kept)
    # Only the data is an input; the parameters are constants, as npuc writes them.
    inputs = [n for n in names if n in ("x", "a", "b")]
    value_info = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(t.dtype), t.shape) for n, t in zip(names, tensors) if n in inputs]
    constants = [onnx.numpy_helper.from_array(t, n) for n, t in zip(names, tensors) if n not in inputs]
    y = helper.make_tensor_value_info("y", ONNX_TYPE[y_dtype], y_dims)
    graph = helper.make_graph([node], "one", value_info, [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("npuc", 1)], functions=[function], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {n: t for n, t in zip(names, tensors) if n in inputs})[0]


def write_case(out, op, a, tensors, y):
    def line(kind, name, t):
        dims = " ".join(str(d) for d in t.shape)
        out.write(f"{kind} {name} {helper.np_dtype_to_tensor_dtype(t.dtype)} {t.ndim} {dims} {np.ascontiguousarray(t).astype(t.dtype.newbyteorder('<')).tobytes().hex()}\n")

    out.write(f"case {op}\n")
    for name, value in a.items():
        values = value if isinstance(value, list) else [value]
        out.write(f"{'ints' if isinstance(value, list) else 'int'} {name} {len(values)} {' '.join(str(v) for v in values)}\n")
    for name, t in zip(PORTS[op].split(), tensors):
        line("input", name, t)
    line("output", "y", y)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--cases", type=int, default=60, help="of each operator")
    options.add_argument("--seed", type=int, default=20)
    options.add_argument("--write", action="store_true", help="tests/data/integer/cases.txt from the first 12 of each operator")
    options.add_argument("--op", default="")
    options = options.parse_args()
    onnxruntime.set_default_logger_severity(3)
    functions = bodies()
    out = None
    if options.write:
        (ROOT / "tests/data/integer").mkdir(parents=True, exist_ok=True)
        out = open(ROOT / "tests/data/integer/cases.txt", "w", encoding="ascii")
        out.write("# made by tests/peers/op_bodies.py --write: case, attributes, inputs and output (name, ONNX dtype, rank, dims, bytes)\n")
    wrong = 0
    for op, formula in FORMULA.items():
        if options.op and op != options.op:
            continue
        cases = Cases(options.seed)
        elements = differ = 0
        for i in range(options.cases):
            a, tensors, y_dtype = cases.make(op)
            y = formula(a, *tensors).astype(y_dtype)
            got = run_body(functions[op], op, a, tensors, y_dtype, y.shape)
            elements += y.size
            bad = int(np.count_nonzero(got != y)) if got.shape == y.shape else y.size
            if bad and not differ:
                print(op, "case", i, a, "wanted", y.flat[:8], "got", got.flat[:8], got.shape, y.shape)
            differ += bad
            if out and i < 12:
                write_case(out, op, a, tensors, y)
        print(f"{op}: {options.cases} cases, {elements} elements, {differ} differ")
        wrong += differ
    sys.exit(4 if wrong else 0)


if __name__ == "__main__":
    main()
