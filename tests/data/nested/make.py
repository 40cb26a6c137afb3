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


def proto(v):
    if isinstance(v, list):
        return numpy_helper.from_list(v)
    return numpy_helper.from_array(np.asarray(v))


def check_equal(name, a, b):
    if isinstance(a, list):
        assert len(a) == len(b), name
        for x, y in zip(a, b):
            check_equal(name, x, y)
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
        (data / f"input_{i}.pb").write_bytes(proto(feeds[value.name]).SerializeToString(deterministic=True))
    for i, v in enumerate(results[0]):
        (data / f"output_{i}.pb").write_bytes(proto(v).SerializeToString(deterministic=True))


for name, (text, feeds, judges) in cases.CASES.items():
    write(name, text, feeds, judges)
