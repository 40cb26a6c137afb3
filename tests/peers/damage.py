# SPDX-License-Identifier: Apache-2.0
"""Makes damaged and hostile files out of the demo's model and data. Each maker takes a folder and returns the path to give to npuc."""

import struct

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


class Damage:
    """`source` is the good model's bytes."""

    def __init__(self, source, folder):
        self.source, self.folder = source, folder
        folder.mkdir(parents=True, exist_ok=True)

    def put(self, name, data):
        path = self.folder / f"{name}.onnx"
        path.write_bytes(data)
        return path

    def edited(self, name, edit):
        model = onnx.ModelProto.FromString(self.source)
        edit(model)
        return self.put(name, model.SerializeToString())

    def truncated(self, length):
        return self.put(f"truncated{length}", self.source[:length])

    def flipped(self, seed):
        """Eight bits flipped among those that are not weights: the nodes (first 5 kB) and the rest's ends."""
        g = np.random.Generator(np.random.PCG64(seed))
        data = bytearray(self.source)
        for _ in range(8):
            at = int(g.integers(0, 5000)) if g.random() < 0.7 else len(data) - 1 - int(g.integers(0, 300))
            data[at] ^= 1 << int(g.integers(0, 8))
        return self.put(f"flipped{seed}", bytes(data))

    def huge_field(self):
        """ModelProto.graph (field 7) said to be 10 GB long."""
        return self.put("huge_field", b"\x08\x08\x3a" + varint(10 << 30) + b"\x00" * 64)

    def huge_tensor(self):
        def edit(model):
            model.graph.initializer[0].dims[:] = [1 << 20, 2560, 1, 1]

        return self.edited("huge_tensor", edit)

    def overflowing_tensor(self):
        def edit(model):
            model.graph.initializer[0].dims[:] = [1 << 40, 1 << 40, 1 << 40, 16]

        return self.edited("overflowing_tensor", edit)

    def deep(self):
        """Graphs inside attributes inside nodes, 1,300 times: a reader that recurses without a bound falls over."""
        data = b""
        for _ in range(1300):
            for key in (b"\x0a", b"\x32", b"\x2a"):  # GraphProto.node, AttributeProto.g, NodeProto.attribute
                data = key + varint(len(data)) + data
        return self.put("deep", b"\x08\x08\x42\x02\x10\x12\x3a" + varint(len(b"\x0a" + varint(len(data)) + data)) + b"\x0a" + varint(len(data)) + data)

    def cycle(self):
        def edit(model):
            model.graph.node[0].input[0] = model.graph.node[3].output[0]

        return self.edited("cycle", edit)

    def undefined(self):
        def edit(model):
            model.graph.node[5].input[0] = "nowhere"

        return self.edited("undefined", edit)

    def unknown_operator(self):
        def edit(model):
            next(n for n in model.graph.node if n.op_type == "Relu").op_type = "Relux"

        return self.edited("unknown_operator", edit)

    def external(self, location):
        def edit(model):
            tensor = model.graph.initializer[2]
            size = len(numpy_helper.to_array(tensor).tobytes())
            tensor.ClearField("raw_data")
            tensor.ClearField("float_data")
            tensor.data_location = TensorProto.EXTERNAL
            for key, value in (("location", location), ("offset", "0"), ("length", str(size))):
                tensor.external_data.add(key=key, value=value)

        return self.edited("external_" + "".join(c if c.isalnum() else "_" for c in location), edit)

    def nan_weights(self):
        def edit(model):
            tensor = next(t for t in model.graph.initializer if t.name == "stem.conv.weight")
            values = numpy_helper.to_array(tensor).copy()
            values.reshape(-1)[3] = np.nan
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))

        return self.edited("nan_weights", edit)

    def training_norm(self):
        def edit(model):
            node = next(n for n in model.graph.node if n.op_type == "BatchNormalization")
            node.attribute.append(helper.make_attribute("training_mode", 1))
            node.output.extend(["new_mean", "new_var"])

        return self.edited("training_norm", edit)

    def samples(self, name, array):
        path = self.folder / f"{name}.npy"
        np.save(path, array)
        return path

    def huge_samples(self):
        """A .npy whose header claims 10 GB and that holds 64 bytes."""
        header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (13981013, 3, 16, 16), }"
        header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
        path = self.folder / "huge_samples.npy"
        path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + b"\x00" * 64)
        return path
