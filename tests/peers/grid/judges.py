# SPDX-License-Identifier: Apache-2.0
"""Who says what is right: ONNX Runtime; where it does not run a case, or parts from the specification (differences.py), the reference evaluator of onnx.
And the file of cases that npuc-grid reads."""

import dataclasses

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

FEEDABLE = {"float16", "float32", "float64", "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"}


class NoAnswer(Exception):
    pass


def graph_types(model):
    graph = model.graph
    return {value.type.tensor_type.elem_type for value in [*graph.input, *graph.output]} | {t.data_type for t in graph.initializer}


def feedable(model):
    return all(onnx.helper.tensor_dtype_to_np_dtype(t).name in FEEDABLE for t in graph_types(model))


def by_onnxruntime(case):
    if not feedable(case.model):
        raise NoAnswer("a type that ONNX Runtime's Python interface does not take")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(case.model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        names = [value.name for value in case.model.graph.input]
        return session.run(None, dict(zip(names, case.inputs)))
    except Exception as error:  # its exceptions share no base class
        raise NoAnswer(str(error).split("\n")[0][:300]) from error


def by_reference(case):
    names = [value.name for value in case.model.graph.input]
    try:
        with np.errstate(all="ignore"):
            outputs = ReferenceEvaluator(case.model).run(None, dict(zip(names, case.inputs)))
    except Exception as error:
        raise NoAnswer(f"{type(error).__name__} {str(error)[:300]}") from error
    declared = [onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in case.model.graph.output]
    if any(not isinstance(o, (np.ndarray, np.generic)) for o in outputs):
        raise NoAnswer("no array")
    return [np.asarray(o) if np.asarray(o).dtype == d else np.asarray(o).astype(d) for o, d in zip(outputs, declared)]


# Whose newest versions differ from the one before in the types that they take alone, so that ONNX Runtime's older one answers for them.
TYPES_ALONE = {"Celu", "Compress", "Einsum", "Mod", "OneHot", "ReduceLogSum", "ReduceLogSumExp", "ReverseSequence", "Unique", "BitShift", "Resize", "MaxPool",
               "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool", "RNN", "GRU", "LSTM", "Conv", "ConvTranspose", "GridSample"}
# The 16-bit floats of these are widened: sums in 16 bits, as the reference evaluator adds, say little.
NARROW = {"float16", "bfloat16"}


def at_older_opset(case):
    """The same node under the version before, where that one differs in types alone."""
    if case.op not in TYPES_ALONE:
        raise NoAnswer("no older version with this meaning")
    versions = sorted(s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.domain == "" and s.name == case.op)
    now = onnx.defs.get_schema(case.op, case.model.opset_import[0].version).since_version
    older = [v for v in versions if v < now]
    if not older:
        raise NoAnswer("no older version")
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    model.opset_import[0].version = max(7, now - 1)
    return by_onnxruntime(dataclasses.replace(case, model=model))


def widened(case):
    """In float32, and rounded once."""
    floats = [a for a in case.inputs if a.dtype.name in NARROW]
    initial = [numpy_helper.to_array(t) for t in case.model.graph.initializer]
    if case.op in ROUNDED_IN_PLACE or not any(a.dtype.name in NARROW for a in floats + initial):
        raise NoAnswer("nothing to widen")
    narrow = {TensorProto.FLOAT16, TensorProto.BFLOAT16}
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    kinds = [onnx.helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type) for v in model.graph.output]
    for value in [*model.graph.input, *model.graph.output]:
        if value.type.tensor_type.elem_type in narrow:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    for tensor, array in zip(model.graph.initializer, initial):
        if tensor.data_type in narrow:
            tensor.CopyFrom(numpy_helper.from_array(np.asarray(array.astype(np.float32)), tensor.name))
    wide = dataclasses.replace(case, model=model, inputs=[np.asarray(a.astype(np.float32)) if a.dtype.name in NARROW else a for a in case.inputs])
    with np.errstate(all="ignore"):
        return [np.asarray(np.asarray(o).astype(k)) for o, k in zip(by_onnxruntime(wide), kinds)]


# What the type itself decides.
ROUNDED_IN_PLACE = {"Cast", "CastLike", "BitCast", "QuantizeLinear", "DequantizeLinear", "Dropout", "Range", "EyeLike", "ConstantOfShape"}


def by_anybody(case):
    """(outputs, who said so)."""
    refusals = []
    for who, judge in (("ONNX Runtime", by_onnxruntime), ("ONNX Runtime, version before", at_older_opset), ("ONNX Runtime, in float32", widened),
                       ("reference evaluator", by_reference)):
        try:
            return judge(case), who
        except NoAnswer as refusal:
            refusals.append(f"{who}: {refusal}")
    raise NoAnswer("; ".join(refusals))


# -- the file --

def varint(n):
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    return bytes([*out, n])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def tensor_bytes(array):
    array = np.asarray(array)
    return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape)).SerializeToString()


def case_bytes(case, outputs):
    """One case; outputs None: it must be refused."""
    parts = [field(1, case.name.encode()), field(2, case.model.SerializeToString())]
    parts += [field(3, tensor_bytes(a)) for a in case.inputs]
    parts += [field(4, tensor_bytes(a)) for a in outputs or []]
    stated = {"Upsample": "Resize", "SequenceMap": "Exp"}.get(case.op, case.op)
    return field(1, b"".join([*parts, field(5, stated.encode())]))


