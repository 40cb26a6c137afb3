# SPDX-License-Identifier: Apache-2.0
"""One small model for each form of an operator that an old opset has and opset 28 has not, with an input and ONNX Runtime's outputs.

    python make.py            writes NAME.onnx and NAME.npz (x, y0, y1, ...) beside this file
    python make.py --check    only compares what is here with what ONNX Runtime gives
"""

import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

HERE = pathlib.Path(__file__).parent
IR = {7: 3, 8: 3, 9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8}


def const(name, values, dtype=np.float32):
    return numpy_helper.from_array(np.array(values, dtype), name)


def case(opset, op, shape, weights=(), outputs=1, low=-2.0, high=2.0, dims=None, extra=(), drop_outputs=(), **attributes):
    """One node `op` on x; `extra` are nodes behind it that read y0 and write z."""
    names = [f"y{i}" for i in range(outputs)]
    node = h.make_node(op, ["x"] + [w.name for w in weights], names + list(drop_outputs), name="node", **attributes)
    x = h.make_tensor_value_info("x", T.FLOAT, dims or shape)
    outs = ["z"] if extra else names
    info = [h.make_empty_tensor_value_info(n) for n in outs]
    graph = h.make_graph([node, *extra], "old", [x], info, list(weights))
    if IR[opset] < 4:  # initializers were inputs too
        for w in weights:
            graph.input.append(h.make_tensor_value_info(w.name, w.data_type, list(w.dims)))
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", opset)], ir_version=IR[opset], producer_name="old")
    data = np.random.default_rng(len(shape) * 100 + opset).uniform(low, high, shape).astype(np.float32)
    return model, data


def bn(channels):
    rng = np.random.default_rng(3)
    return [const(n, rng.uniform(0.5, 1.5, channels)) for n in ("scale", "bias", "mean", "var")]


CASES = {
    "squeeze_11": case(11, "Squeeze", [1, 3, 1, 2], axes=[0, -2]),
    "squeeze_7_all": case(7, "Squeeze", [1, 3, 1, 2]),
    "unsqueeze_11": case(11, "Unsqueeze", [3, 2], axes=[0, -1]),
    "reducesum_11": case(11, "ReduceSum", [2, 3, 4], axes=[-1], keepdims=0),
    "reducesum_7_all": case(7, "ReduceSum", [2, 3, 4]),
    "reducemean_17": case(17, "ReduceMean", [2, 3, 4, 4], axes=[2, 3]),
    "reducemean_7": case(7, "ReduceMean", [2, 3, 4], axes=[1], keepdims=0),
    "slice_9": case(9, "Slice", [4, 5, 6], axes=[0, 2], starts=[1, -4], ends=[3, 2147483647]),
    "slice_7_no_axes": case(7, "Slice", [4, 5], starts=[1, 0], ends=[-1, 3]),
    "pad_10": case(10, "Pad", [1, 2, 3, 3], pads=[0, 0, 1, 2, 0, 1, 0, 1], value=1.5),
    "pad_7_reflect": case(7, "Pad", [1, 1, 4, 4], pads=[0, 0, 1, 2, 0, 0, 2, 1], mode="reflect"),
    "pad_9_zero": case(9, "Pad", [2, 2], pads=[1, 0, 0, 1]),
    "clip_10": case(10, "Clip", [3, 5], min=-0.5, max=1.25),
    "clip_7_min": case(7, "Clip", [3, 5], min=0.0),
    "dropout_11": case(11, "Dropout", [3, 5], ratio=0.3),
    "dropout_7": case(7, "Dropout", [3, 5], ratio=0.3, drop_outputs=["mask"]),
    "batchnorm_8": case(8, "BatchNormalization", [2, 3, 4, 4], bn(3), epsilon=1e-3, spatial=1),
    "batchnorm_9": case(9, "BatchNormalization", [2, 3, 4], bn(3), momentum=0.5),
    "softmax_12_flatten": case(12, "Softmax", [2, 3, 4], axis=1),
    "softmax_7_default": case(7, "Softmax", [2, 3, 2, 2]),
    "softmax_11_last": case(11, "Softmax", [2, 3, 4], axis=-1),
    "softmax_9_ones": case(9, "Softmax", [2, 5, 1, 1]),
    "softmax_12_symbolic": case(12, "Softmax", [3, 4, 2], dims=["N", 4, 2], axis=0),
    "logsoftmax_12_flatten": case(12, "LogSoftmax", [2, 2, 3, 2], axis=2),
    "softmax_11_inside": case(11, "Softmax", [2, 3, 4], axis=1, extra=[h.make_node("Mul", ["y0", "y0"], ["z"])]),
    "split_11": case(11, "Split", [2, 7], outputs=3, axis=1, split=[3, 3, 1]),
    "split_7_equal": case(7, "Split", [6, 2], outputs=3),
    "split_17_equal": case(17, "Split", [6, 2], outputs=2),
    "gemm_9": case(9, "Gemm", [3, 4], [const("b", np.linspace(-1, 1, 20).reshape(4, 5)), const("c", [0.1, 0.2, 0.3, 0.4, 0.5])], alpha=0.5, beta=2.0),
    "gemm_11_no_c": case(11, "Gemm", [3, 4], [const("b", np.linspace(-1, 1, 20).reshape(5, 4))], transB=1),
    "averagepool_7": case(7, "AveragePool", [1, 2, 5, 5], kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    "averagepool_10_ceil": case(10, "AveragePool", [1, 1, 6, 6], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    "averagepool_11_count": case(11, "AveragePool", [1, 2, 5, 5], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
    "maxpool_7": case(7, "MaxPool", [1, 2, 5, 5], kernel_shape=[2, 2], strides=[2, 2]),
    "maxpool_10_ceil": case(10, "MaxPool", [1, 2, 6, 6], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1),
    "conv_7_same": case(7, "Conv", [1, 2, 5, 5], [const("w", np.linspace(-1, 1, 3 * 2 * 3 * 3).reshape(3, 2, 3, 3))], auto_pad="SAME_LOWER", strides=[2, 2]),
    "concat_7": case(7, "Concat", [2, 3], [const("b", [[1, 2], [3, 4]])], axis=1),
    "argmax_11": case(11, "ArgMax", [3, 5], axis=1, keepdims=0),
    "cast_9": case(9, "Cast", [3, 5], to=T.INT32),
    "max_7": case(7, "Max", [3, 5], [const("b", np.zeros((3, 5)))]),
    "add_7": case(7, "Add", [3, 5], [const("b", np.arange(5))]),
    "leakyrelu_7": case(7, "LeakyRelu", [3, 5], alpha=0.2),
    "hardsigmoid_7": case(7, "HardSigmoid", [3, 5], alpha=0.3, beta=0.4),
    "flatten_9": case(9, "Flatten", [2, 3, 4], axis=2),
    "reshape_12": case(12, "Reshape", [2, 3, 4], [const("s", [0, -1], np.int64)]),
    "gather_10": case(10, "Gather", [4, 3], [const("i", [2, 0, 3], np.int64)], axis=0),
    "expand_8": case(8, "Expand", [3, 1], [const("s", [2, 3, 4], np.int64)]),
    "quantize_10": case(10, "QuantizeLinear", [3, 5], [const("scale", 0.05), const("zero", 7, np.uint8)]),
    "transpose_7": case(7, "Transpose", [2, 3, 4]),
    "shape_12": case(12, "Shape", [2, 3, 4]),
}


def run(model, data):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return session.run(None, {"x": data})


def main():
    wrong = 0
    for name, (model, data) in CASES.items():
        outputs = run(model, data)
        if "--check" in sys.argv:
            kept = np.load(HERE / f"{name}.npz")
            same = np.array_equal(kept["x"], data) and all(np.array_equal(kept[f"y{i}"], y) for i, y in enumerate(outputs))
            wrong += not same
            print("same" if same else "DIFFERENT", name)
            continue
        (HERE / f"{name}.onnx").write_bytes(model.SerializeToString(deterministic=True))
        np.savez_compressed(HERE / f"{name}.npz", x=data, **{f"y{i}": y for i, y in enumerate(outputs)})
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
