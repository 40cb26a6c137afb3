# SPDX-License-Identifier: Apache-2.0
"""Writes the node cases that the onnx package generates, each with the tolerance that its own runner takes. usage: generate.py FOLDER"""

import os
import sys

from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases


def proto_of(array, value):
    """The recorded form of one input or output, by the type that the model declares."""
    if isinstance(array, TensorProto):
        return array
    kind = value.type.WhichOneof("value")
    writers = {"sequence_type": numpy_helper.from_list, "optional_type": numpy_helper.from_optional, "map_type": numpy_helper.from_dict}
    return writers.get(kind, numpy_helper.from_array)(array, value.name)


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
            for what, arrays, values in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
                for k, (array, value) in enumerate(zip(arrays, values)):
                    write(os.path.join(folder, f"test_data_set_{i}"), f"{what}_{k}.pb", proto_of(array, value).SerializeToString())
    print(len(cases), "cases")


main()
