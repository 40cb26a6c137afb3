# SPDX-License-Identifier: Apache-2.0
"""MLPerf Tiny's image classifier (ResNet-8) from its Keras .h5: NHWC weights become NCHW, the input stays raw RGB 0..255."""

import json

import h5py
import numpy as np

from .graph import Builder, same_padding


def weights(file, layer):
    group = file["model_weights"][layer][layer]
    return {name.split(":")[0]: np.asarray(data, np.float32) for name, data in group.items()}


def build(path):
    b = Builder("resnet8")
    values, sizes = {}, {}  # layer name -> ONNX value; spatial size (square)
    with h5py.File(path) as file:
        for layer in json.loads(file.attrs["model_config"])["config"]["layers"]:
            add_layer(b, file, layer, values, sizes)
    return b.model({"image": ["N", 3, 32, 32]}, {"probabilities": ["N", 10]})


def add_layer(b, file, layer, values, sizes):
    kind, name, config = layer["class_name"], layer["name"], layer["config"]
    sources = [node[0] for node in layer["inbound_nodes"][0]] if layer["inbound_nodes"] else []
    inputs = [values[source] for source in sources]
    size = sizes[sources[0]] if sources else config["batch_input_shape"][1]
    if kind == "InputLayer":
        out = "image"
    elif kind == "Conv2D":
        data, (kernel, _), (stride, _) = weights(file, name), config["kernel_size"], config["strides"]
        low, high = same_padding(size, kernel, stride)
        filters = b.weight(f"{name}.weight", data["kernel"].transpose(3, 2, 0, 1))  # [kh, kw, in, out] to [out, in, kh, kw]
        out = b.node("Conv", [*inputs, filters, b.weight(f"{name}.bias", data["bias"])], name,
                     kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[low, low, high, high])
        size = -(-size // stride)
    elif kind == "BatchNormalization":
        data = weights(file, name)
        parts = [b.weight(f"{name}.{key}", data[key]) for key in ("gamma", "beta", "moving_mean", "moving_variance")]
        out = b.node("BatchNormalization", [*inputs, *parts], name, epsilon=config["epsilon"])
    elif kind == "Activation":
        assert config["activation"] == "relu", config
        out = b.node("Relu", inputs, name)
    elif kind == "Add":
        out = b.node("Add", inputs, name)
    elif kind == "AveragePooling2D":
        out, size = b.node("AveragePool", inputs, name, kernel_shape=config["pool_size"], strides=config["strides"]), 1
    elif kind == "Flatten":
        out = b.node("Flatten", inputs, name, axis=1)  # one cell a channel: NHWC and NCHW order are the same
    elif kind == "Dense":
        data = weights(file, name)
        out = b.node("Gemm", [*inputs, b.weight(f"{name}.weight", data["kernel"]), b.weight(f"{name}.bias", data["bias"])], name)
        out = b.node("Softmax", [out], "probabilities", axis=1)
    else:
        raise ValueError(f"layer {name}: {kind} is not known here")
    values[name], sizes[name] = out, size
