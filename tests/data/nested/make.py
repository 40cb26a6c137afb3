# SPDX-License-Identifier: Apache-2.0
"""Recorded cases of models with functions and graphs inside, in the layout of ONNX's own: python make.py. The right values are those of ONNX Runtime, and of onnx's
reference evaluator, which must agree; a case says so where one of the two cannot run it."""

import pathlib
import shutil

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator

import cases

HERE = pathlib.Path(__file__).parent


def by_runtime(model, feeds):
    import onnxruntime

    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def by_reference(model, feeds):
    return ReferenceEvaluator(model).run(None, feeds)


def proto(v, type):
    """As the model declares it: a tensor, a sequence, or an optional of either."""
    if type.HasField("optional_type"):
        inner = type.optional_type.elem_type
        p = onnx.OptionalProto(elem_type=onnx.OptionalProto.SEQUENCE if inner.HasField("sequence_type") else onnx.OptionalProto.TENSOR)
        if v is not None:
            (p.sequence_value if inner.HasField("sequence_type") else p.tensor_value).CopyFrom(proto(v, inner))
        return p
    if type.HasField("sequence_type"):
        p = onnx.SequenceProto(elem_type=onnx.SequenceProto.TENSOR)
        p.tensor_values.extend(proto(x, type.sequence_type.elem_type) for x in v)
        return p
    return numpy_helper.from_array(np.asarray(v))


def check_equal(name, a, b):
    if isinstance(a, list):
        assert len(a) == len(b), name
        for x, y in zip(a, b):
            check_equal(name, x, y)
    elif a is None or np.asarray(a).dtype.kind in "OUS":
        assert np.array_equal(a, b), name
    else:
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5, atol=1e-6, err_msg=name)
        assert np.asarray(a).dtype == np.asarray(b).dtype and np.asarray(a).shape == np.asarray(b).shape, name


def write(name, text, feeds, judges):
    model = onnx.parser.parse_model(text)
    results = [{"ort": by_runtime, "onnx": by_reference}[j](model, feeds) for j in judges.split()]
    for other in results[1:]:
        for a, b in zip(results[0], other):
            check_equal(name, a, b)
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString(deterministic=True))
    for i, value in enumerate(model.graph.input):
        (data / f"input_{i}.pb").write_bytes(proto(feeds[value.name], value.type).SerializeToString(deterministic=True))
    for i, (v, value) in enumerate(zip(results[0], model.graph.output)):
        (data / f"output_{i}.pb").write_bytes(proto(v, value.type).SerializeToString(deterministic=True))


for name, (text, feeds, judges) in cases.CASES.items():
    write(name, text, feeds, judges)
