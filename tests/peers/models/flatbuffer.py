# SPDX-License-Identifier: Apache-2.0
"""Reads the TFLite files of MLPerf Tiny: the FlatBuffer wire format, and of the TFLite schema what those files use.

A FlatBuffer table starts with a signed offset back to its vtable; the vtable has its own length, the table's length, then one
16-bit offset a field (0: absent). Offsets to strings, vectors and sub-tables are relative to where they are stored.
"""

import struct
from dataclasses import dataclass, field

import numpy as np

DTYPES = {0: np.float32, 1: np.float16, 2: np.int32, 3: np.uint8, 4: np.int64, 9: np.int8}
OPERATORS = {0: "ADD", 1: "AVERAGE_POOL_2D", 3: "CONV_2D", 4: "DEPTHWISE_CONV_2D", 6: "DEQUANTIZE",
             9: "FULLY_CONNECTED", 17: "MAX_POOL_2D", 22: "RESHAPE", 25: "SOFTMAX"}


class Table:
    """One table in the buffer; fields are read by their number in the schema."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        vtable = at - struct.unpack_from("<i", data, at)[0]
        size = struct.unpack_from("<H", data, vtable)[0]
        self.slots = struct.unpack_from(f"<{(size - 4) // 2}H", data, vtable + 4)

    def place(self, number):
        return self.at + self.slots[number] if number < len(self.slots) and self.slots[number] else None

    def scalar(self, number, code, default=0):
        at = self.place(number)
        return default if at is None else struct.unpack_from("<" + code, self.data, at)[0]

    def follow(self, number):
        at = self.place(number)
        return None if at is None else at + struct.unpack_from("<I", self.data, at)[0]

    def table(self, number):
        at = self.follow(number)
        return None if at is None else Table(self.data, at)

    def array(self, number, dtype):
        at = self.follow(number)
        if at is None:
            return np.zeros(0, dtype)
        return np.frombuffer(self.data, dtype, struct.unpack_from("<I", self.data, at)[0], at + 4)

    def tables(self, number):
        at = self.follow(number)
        if at is None:
            return []
        count = struct.unpack_from("<I", self.data, at)[0]
        slots = [at + 4 + 4 * i for i in range(count)]
        return [Table(self.data, slot + struct.unpack_from("<I", self.data, slot)[0]) for slot in slots]

    def text(self, number):
        return self.array(number, np.uint8).tobytes().decode()


@dataclass
class Tensor:
    name: str
    shape: list
    dtype: type
    values: np.ndarray | None  # None: computed
    scale: np.ndarray
    zero_point: np.ndarray

    def real(self):
        """The values as float32, dequantized where they are integers with one scale."""
        if self.values.dtype == np.float32:
            return self.values
        if self.scale.size != 1:
            raise ValueError(f"{self.name}: {self.scale.size} scales; one was expected")
        return (self.values.astype(np.float32) - np.float32(self.zero_point[0])) * self.scale[0]


@dataclass
class Operator:
    kind: str
    inputs: list
    outputs: list
    options: Table | None


@dataclass
class Network:
    tensors: list
    operators: list
    inputs: list
    outputs: list = field(default_factory=list)


def read_tensor(table, buffers):
    dtype = DTYPES[table.scalar(1, "b")]
    shape = table.array(0, np.int32).tolist()
    raw = buffers[table.scalar(2, "I")].array(0, np.uint8)
    quant = table.table(4)
    none = np.zeros(0)
    return Tensor(
        name=table.text(3), shape=shape, dtype=dtype,
        values=raw.view(dtype).reshape(shape) if raw.size else None,
        scale=quant.array(2, np.float32) if quant else none,
        zero_point=quant.array(3, np.int64) if quant else none,
    )


def read(path):
    data = path.read_bytes()
    if data[4:8] != b"TFL3":
        raise ValueError(f"{path}: not a TFLite file")
    model = Table(data, struct.unpack_from("<I", data, 0)[0])
    codes = [max(code.scalar(0, "b"), code.scalar(3, "i")) for code in model.tables(1)]
    (graph,) = model.tables(2)
    buffers = model.tables(4)
    operators = [
        Operator(OPERATORS[codes[op.scalar(0, "I")]], op.array(1, np.int32).tolist(), op.array(2, np.int32).tolist(), op.table(4))
        for op in graph.tables(3)
    ]
    tensors = [read_tensor(tensor, buffers) for tensor in graph.tables(0)]
    return Network(tensors, operators, graph.array(1, np.int32).tolist(), graph.array(2, np.int32).tolist())
