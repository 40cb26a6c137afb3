# SPDX-License-Identifier: Apache-2.0
"""Writes the node cases that the onnx package generates, each with the tolerance that its own runner takes. usage: generate.py FOLDER"""

import os
import re
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases


def proto_of(array, value):
    """The recorded form of one input or output, by the type that the model declares."""
    if isinstance(array, TensorProto):
        return array
    kind = value.type.WhichOneof("value")
    writers = {"sequence_type": numpy_helper.from_list, "optional_type": numpy_helper.from_optional, "map_type": numpy_helper.from_dict}
    return writers.get(kind, numpy_helper.from_array)(array, value.name)


def record(case, inputs, outputs):
    """Floats beyond the range of a 2- or 4-bit integer: the specification leaves them open, and what is recorded depends on the version of
    ml_dtypes (0 from 0.6 on). Here they wrap around, as in the releases that onnx 1.23 was made with."""
    to = re.fullmatch(r"test_cast(?:like)?_FLOAT(?:16)?_to_(U?)INT([24])(?:_expanded)?", case.name)
    if not to:
        return outputs
    bits, unsigned = int(to.group(2)), bool(to.group(1))
    given = inputs[0] if not isinstance(inputs[0], TensorProto) else numpy_helper.to_array(inputs[0])
    wrapped = np.trunc(given.astype(np.float64)).astype(np.int64) % (1 << bits)
    if not unsigned:
        wrapped -= (wrapped >> (bits - 1)) << bits
    kind = helper.tensor_dtype_to_np_dtype(getattr(TensorProto, f"{to.group(1)}INT{bits}"))
    return [numpy_helper.from_array(wrapped.astype(np.int8).astype(kind), case.model.graph.output[0].name)]


def write(folder, name, content):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "wb") as f:
        f.write(content)


def main():
    cases = collect_testcases(None)
    for case in cases:
        folder = os.path.join(sys.argv[1], "node", case.name)
        write(folder, "model.onnx", case.model.SerializeToString())
        write(folder, "tolerance", f"{case.rtol} {case.atol}\n".encode())
        for i, (inputs, outputs) in enumerate(case.data_sets):
            recorded = record(case, inputs, outputs)
            for what, arrays, values in (("input", inputs, case.model.graph.input), ("output", recorded, case.model.graph.output)):
                for k, (array, value) in enumerate(zip(arrays, values)):
                    write(os.path.join(folder, f"test_data_set_{i}"), f"{what}_{k}.pb", proto_of(array, value).SerializeToString())
    print(len(cases), "cases")


main()
