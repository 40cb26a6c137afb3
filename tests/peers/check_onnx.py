# SPDX-License-Identifier: Apache-2.0
"""Every .onnx file in an OUT folder passes onnx.checker with full (strict) shape inference and loads in ONNX Runtime.

    python check_onnx.py DIR [--no-load]
    python check_onnx.py --self-test
"""

import argparse
import pathlib
import tempfile

import onnx
import onnxruntime
from onnx import TensorProto, helper

import common


def complaint(path, load=True):
    """What is wrong with the file, or None. Checked by path, as external data needs."""
    try:
        onnx.checker.check_model(str(path), full_check=True)
        onnx.shape_inference.infer_shapes(onnx.load(str(path), load_external_data=False), check_type=True, strict_mode=True)
        if load:
            common.session(path)
    except Exception as error:  # the libraries raise types of their own, which differ between versions
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:300]}"
    return None


def newest_opset():
    """The newest default-domain opset that this ONNX Runtime promises to run; above it, files are only checked."""
    for version in range(onnx.defs.onnx_opset_version(), 20, -1):
        if complaint_of_probe(version) is None:
            return version
    return 20


def complaint_of_probe(version):
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "probe", [value("x")], [value("y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception as error:
        return error
    return None


def check(tally, folder, load=True):
    files = sorted(pathlib.Path(folder).rglob("*.onnx"))
    tally.check(bool(files), f"{folder}: {len(files)} ONNX files")
    newest = newest_opset()
    for file in files:
        opsets = {entry.domain: entry.version for entry in onnx.load(str(file), load_external_data=False).opset_import}
        runs = load and opsets.get("", 1) <= newest
        said = complaint(file, runs)
        tally.check(said is None, f"{file}: opset {opsets}{'' if runs else ', not loaded'}{': ' + said if said else ''}")


def self_test(tally):
    """A right file passes; a wrong output shape, an unknown attribute and missing external data do not."""

    def model(dims, **attributes):
        value = lambda name, d: helper.make_tensor_value_info(name, TensorProto.FLOAT, d)
        node = helper.make_node("Softmax", ["x"], ["y"], **attributes)
        graph = helper.make_graph([node], "g", [value("x", [2, 3])], [value("y", dims)])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)

    outside = model([2, 3])
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="weights/absent")
    outside.graph.initializer.append(tensor)
    cases = {"right": (model([2, 3], axis=1), True), "wrong output shape": (model([2, 4], axis=1), False),
             "unknown attribute": (model([2, 3], axes=1), False), "missing external data": (outside, False)}
    with tempfile.TemporaryDirectory() as scratch:
        for name, (case, good) in cases.items():
            path = pathlib.Path(scratch) / "m.onnx"
            path.write_bytes(case.SerializeToString())
            tally.check((complaint(path) is None) == good, f"self-test: {name} is {'accepted' if good else 'refused'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--no-load", action="store_true", help="check only, no ONNX Runtime session")
    parser.add_argument("--self-test", action="store_true")
    args = parser.parse_args()
    tally = common.Tally()
    if args.self_test:
        self_test(tally)
    elif args.folder:
        check(tally, args.folder, not args.no_load)
    else:
        parser.error("DIR is needed")
    return tally.close()


if __name__ == "__main__":
    raise SystemExit(main())
