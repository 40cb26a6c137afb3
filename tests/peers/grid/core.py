# SPDX-License-Identifier: Apache-2.0
"""What a family of operators draws its cases from. A family is a function of a Grid that returns one Case; it is called again and again, and each
`pick` goes through all of its options before one comes twice, so that every attribute value, type and rank is met soon. The same seed gives the
same cases."""

import dataclasses
import itertools
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper

# (Opset 28 brings float8e3m4 and the like; npuc reads up to int2.)
DTYPES = {f"tensor({TensorProto.DataType.Name(number).lower()})": helper.tensor_dtype_to_np_dtype(number)
          for number in TensorProto.DataType.values() if 0 < number <= TensorProto.INT2 and number != TensorProto.STRING}
FLOATS = {np.dtype(t) for t in ("float16", "float32", "float64")} | {helper.tensor_dtype_to_np_dtype(TensorProto.BFLOAT16)}
DIMS = (1, 2, 3, 4, 5)
NO_CASES = {}  # operator -> why it has none
FAMILIES = {}  # operator -> function


class Unfit(Exception):
    """This choice makes no valid case; draw again."""


@dataclasses.dataclass
class Case:
    op: str
    name: str
    model: onnx.ModelProto
    inputs: list  # of the graph, in order
    tags: frozenset = frozenset()  # what tables of differences go by
    attributes: dict = dataclasses.field(default_factory=dict)
    arguments: list = dataclasses.field(default_factory=list)  # of the node, None where omitted


def family(*operators):
    def register(function):
        for operator in operators:
            assert operator not in FAMILIES, operator
            FAMILIES[operator] = function
        return function
    return register


def dtype_number(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def is_float(dtype):
    return np.dtype(dtype) in FLOATS


def is_integer(dtype):
    return np.dtype(dtype).kind in "iu" or np.dtype(dtype).name in ("int4", "uint4", "int2", "uint2")


class Grid:
    def __init__(self, schema, seed, room=240):
        self.room = room  # elements of a tensor of any shape
        self.schema, self.op, self.version = schema, schema.name, schema.since_version
        self.opset = max(7, self.version)
        self.rng = np.random.default_rng([seed, zlib.crc32(f"{self.op}-{self.version}".encode())])
        self.bags, self.tags, self.count = {}, set(), 0
        self.bindings = {}

    # -- choosing --

    def pick(self, site, options):
        options = list(options)
        bag = self.bags.get(site)
        if not bag or bag[0] != repr(options) or not bag[1]:
            bag = self.bags[site] = (repr(options), list(self.rng.permutation(len(options))))
        return options[bag[1].pop()]

    def chance(self, site, one_in=2):
        return self.pick(site, [True] + [False] * (one_in - 1))

    def types(self, port, outputs=False):
        """What the schema lets an input have, without strings and complex numbers."""
        formal = (self.schema.outputs if outputs else self.schema.inputs)[port]
        return [DTYPES[t] for t in sorted(formal.types) if t in DTYPES and DTYPES[t].kind != "c"]

    def type(self, port, only=None, outputs=False):
        options = [t for t in self.types(port, outputs) if only is None or only(t)]
        return self.pick(f"type {port} {outputs}", options)

    def shape(self, least=0, most=5, zero=True, site="shape"):
        rank = self.pick(site, range(least, most + 1))
        shape = [int(self.rng.choice(DIMS)) for _ in range(rank)]
        while np.prod(shape) > self.room:
            shape[int(np.argmax(shape))] -= 1
        if zero and rank and self.chance(f"{site} empty", 12):
            shape[int(self.rng.integers(rank))] = 0
        return shape

    def axis(self, rank, site="axis", extra=0):
        return int(self.pick(f"{site}{rank}", range(-rank - extra, rank + extra)))

    # -- values --

    def tensor(self, dtype, shape, low=-4, high=4, edges=False):
        dtype, n = np.dtype(dtype), int(np.prod(shape))
        if dtype == np.bool_:
            return self.rng.integers(0, 2, shape).astype(np.bool_)
        if is_integer(dtype):
            lo, hi = onnx_range(dtype)
            flat = self.rng.integers(max(lo, int(low)), min(hi, int(high)) + 1, n).astype(dtype)
            special = [lo, hi, 0, 1, lo + 1, hi - 1, -1 if lo else hi] if edges else []
        else:
            flat = (self.rng.random(n) * (high - low) + low).astype(np.float64)
            flat = flat.astype(np.float32).astype(dtype)
            special = [0.0, -0.0, np.inf, -np.inf, np.nan, 0.5, 1.5, 2.5, -0.5, -2.5, 1e-40, 6e4, -6e4] if edges else [0.0, -0.0, 1, -1]
        for value in special:
            if n and self.rng.random() < min(0.5, n / 20):
                with np.errstate(all="ignore"):
                    flat[int(self.rng.integers(n))] = np.array(value).astype(dtype)
        return np.asarray(flat.reshape(shape))

    def shapes_that_broadcast(self, count, one_way=False):
        full = self.shape()
        made = [list(full) for _ in range(count)]
        for k in range(0 if not one_way else 1, count):
            if self.chance(f"broadcast {k}"):
                cut = int(self.rng.integers(0, len(full) + 1))
                made[k] = [1 if self.rng.random() < 0.4 else d for d in full[cut:]]
        return made

    # -- the case --

    def maybe(self, **choices):
        """Attributes from lists of values; None leaves one out."""
        chosen = {key: self.pick(f"attribute {key}", values) for key, values in choices.items()}
        return {key: value for key, value in chosen.items() if value is not None and key in self.schema.attributes}

    def case(self, inputs, outputs=1, constants=(), out_types=(), **attributes):
        """`constants`: numbers of the inputs that lie in the file now and then, "always" in front: each time."""
        return build(self, inputs, outputs, constants, out_types, attributes)


def onnx_range(dtype):
    name = np.dtype(dtype).name
    bits = int("".join(filter(str.isdigit, name)))
    return (0, (1 << bits) - 1) if name.startswith("u") else (-(1 << bits - 1), (1 << bits - 1) - 1)


def value_info(name, array, symbolic=False):
    dims = [f"{name}_{i}" for i in range(array.ndim)] if symbolic else array.shape
    return helper.make_tensor_value_info(name, dtype_number(array.dtype), dims)


def tensor_proto(name, array):
    return onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)


def output_type(grid, index, inputs, out_types):
    if index < len(out_types) and out_types[index] is not None:
        return out_types[index]
    outputs = grid.schema.outputs
    formal = outputs[min(index, len(outputs) - 1)]
    if formal.type_str in DTYPES:
        return DTYPES[formal.type_str]
    ports = grid.schema.inputs
    for k, array in enumerate(inputs):
        if array is not None and ports[min(k, len(ports) - 1)].type_str == formal.type_str:
            return array.dtype
    if len(formal.types) == 1:
        return DTYPES[next(iter(formal.types))]
    raise AssertionError(f"{grid.op}: type of output {index}")


def build(grid, inputs, outputs, constants, out_types, attributes):
    inputs = [None if a is None else np.asarray(a) for a in inputs]
    while inputs and inputs[-1] is None:
        inputs.pop()
    names = [f"i{k}" if array is not None else "" for k, array in enumerate(inputs)]
    always = set(constants[1:]) if constants and constants[0] == "always" else set()
    fixed = always or (set(constants) if constants and grid.chance("constant") else set())
    present = outputs if isinstance(outputs, (list, tuple)) else [True] * outputs
    out_names = [f"o{k}" if there else "" for k, there in enumerate(present)]
    attributes = {k: v for k, v in attributes.items() if v is not None}
    node = helper.make_node(grid.op, names, out_names, name="n", **attributes)
    symbolic = grid.chance("symbolic", 4)
    graph = helper.make_graph(
        [node], "g",
        [value_info(f"i{k}", a, symbolic) for k, a in enumerate(inputs) if a is not None and k not in fixed],
        [helper.make_tensor_value_info(f"o{k}", dtype_number(output_type(grid, k, inputs, out_types)), None)
         for k, there in enumerate(present) if there],
        [tensor_proto(f"i{k}", a) for k, a in enumerate(inputs) if a is not None and k in fixed])
    return finish(grid, graph, [a for k, a in enumerate(inputs) if a is not None and k not in fixed], attributes, inputs)


def ir_version(opset):
    return 10 if opset <= 23 else 11 if opset == 24 else 12 if opset == 25 else 13


def finish(grid, graph, feed, attributes=(), arguments=()):
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", grid.opset)], ir_version=min(ir_version(grid.opset), onnx.IR_VERSION))
    model.producer_name = ""
    first = next((a.dtype.name for a in arguments if a is not None), feed[0].dtype.name if feed else "-")
    case = Case(grid.op, f"{grid.op}-{grid.version} {first} {grid.count}", model, feed, frozenset(grid.tags), dict(attributes), list(arguments))
    grid.count += 1
    grid.tags = set()
    return case


def live_schemas(newest=28):
    """Every version of each operator that some opset from 7 on means, oldest first."""
    versions = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.since_version <= newest:
            versions.setdefault(schema.name, []).append(schema)
    for name in sorted(versions):
        history = sorted(versions[name], key=lambda s: s.since_version)
        for schema, later in itertools.zip_longest(history, history[1:]):
            if not schema.deprecated and (later is None or later.since_version > 7):
                yield schema


def draw(grids, total):
    """`total` cases, as many from each grid as from any other."""
    made, rounds = [], 0
    while len(made) < total:
        rounds += 1
        for grid in grids:
            if len(made) >= total:
                break
            for _ in range(50):
                try:
                    made.append(FAMILIES[grid.op](grid))
                    break
                except Unfit:
                    grid.tags = set()
            else:
                raise AssertionError(f"{grid.op}-{grid.version}: no case in 50 draws")
    return made
