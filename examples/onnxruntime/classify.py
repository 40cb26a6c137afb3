# SPDX-License-Identifier: Apache-2.0
"""Runs both files of stage 5 in ONNX Runtime on the demo's pictures. usage: classify.py OUT (a build of the demo for refnpu-n16)"""

import sys

import numpy
import onnx
import onnxruntime


def session(path):  # as written: no optimization
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options)


def annotation(path, tensor):
    """Scale and zero point of a tensor, as its quantization_annotation names them."""
    graph = onnx.load(path).graph
    constants = {c.name: onnx.numpy_helper.to_array(c) for c in graph.initializer if c.name.endswith(("_scale", "_zero_point"))}
    keys = {e.key: e.value for a in graph.quantization_annotation if a.tensor_name == tensor for e in a.quant_parameter_tensor_names}
    return constants[keys["SCALE_TENSOR"]].item(), int(constants[keys["ZERO_POINT_TENSOR"]].item())


out = sys.argv[1]
pictures, labels = numpy.load("examples/demo/test.npy"), numpy.load("examples/demo/test.labels.npy")
x = (pictures * numpy.float32(1 / 255) - numpy.float32(0.5)) / numpy.float32(0.25)

qdq = session(f"{out}/5-quantize.refnpu-n16.qdq.onnx")
right = sum(qdq.run(None, {"image": x[i : i + 1]})[0].argmax() == labels[i] for i in range(400))
print(f"QDQ form: {right} of 400 right")

path = f"{out}/5-quantize.refnpu-n16.onnx"
integers = session(path)
scale, zero = annotation(path, "image")
q = numpy.clip(numpy.rint(x / numpy.float32(scale)) + zero, 0, 255).astype(numpy.uint8)
right = sum(integers.run(None, {"image": q[i : i + 1]})[0].argmax() == labels[i] for i in range(400))
print(f"integer module: {right} of 400 right")
