# SPDX-License-Identifier: Apache-2.0
"""What the peer checks share: a tally with the closing line, preprocessing, datasets, ONNX Runtime sessions."""

import gzip
import pathlib

import numpy as np
import onnxruntime


class Tally:
    """Counts checks and prints one line each; `close` prints the closing line and gives the exit status."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def check(self, good, text):
        self.passed += bool(good)
        self.failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {text}", flush=True)
        return bool(good)

    def skip(self, text):
        self.skipped += 1
        print(f"skip {text}", flush=True)

    def close(self):
        print(f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped", flush=True)
        return 1 if self.failed else 0


class Quiet(Tally):
    """Counts without printing: where a row sums up, or where failures are wanted."""

    def check(self, good, text):
        self.passed += bool(good)
        self.failed += not good
        return bool(good)


def session(model, threads=1, fused=True):
    """An ONNX Runtime session on `model` (path or bytes), with its graph optimizations, as users run it. `fused=False` keeps
    QuantizeLinear and DequantizeLinear as they are written: fused, ONNX Runtime multiplies u8 by s8 with vpmaddubsw where the
    processor has no VNNI, which saturates, and its answer then depends on the machine (keywords: 10 % right instead of 90 %)."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    if not fused:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    source = model if isinstance(model, bytes) else str(model)
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])


def run_batched(ort, data, batch=500):
    """The first output for all samples of `data`; models whose first axis is fixed are fed so many at a time."""
    (feed,) = ort.get_inputs()
    if isinstance(feed.shape[0], int):
        batch = feed.shape[0]
    outputs = [ort.run(None, {feed.name: data[at : at + batch]})[0] for at in range(0, len(data), batch)]
    return np.concatenate(outputs)


def parse_preprocess(spec):
    """The inline `--preprocess` form: scale, mean, std; numbers may be written 1/255, lists a:b:c."""

    def number(text):
        top, _, bottom = text.partition("/")
        return np.float32(float(top) / float(bottom or 1))

    parts = dict(part.split("=") for part in spec.split(",") if part)
    return {key: np.array([number(text) for text in value.split(":")], np.float32)
            for key, value in parts.items() if key in ("scale", "mean", "std")}


def preprocess(images, spec):
    """uint8 or float [n, c, h, w] to float32: x*scale, minus mean, divided by std, each a float32 operation."""
    parts = parse_preprocess(spec)
    x = images.astype(np.float32)
    if "scale" in parts:
        x = x * parts["scale"][0]
    if "mean" in parts:
        x = x - parts["mean"].reshape(1, -1, 1, 1)
    if "std" in parts:
        x = x / parts["std"].reshape(1, -1, 1, 1)
    return x


def cifar10(path):
    """Binary records of 3,073 bytes: images uint8 [n, 3, 32, 32], labels int64 [n]."""
    records = np.fromfile(path, np.uint8).reshape(-1, 3073)
    return records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0].astype(np.int64)


def mnist(folder):
    """The test set: images uint8 [10000, 1, 28, 28], labels int64."""
    folder = pathlib.Path(folder)
    images = np.frombuffer(gzip.decompress((folder / "t10k-images-idx3-ubyte.gz").read_bytes()), np.uint8, offset=16)
    labels = np.frombuffer(gzip.decompress((folder / "t10k-labels-idx1-ubyte.gz").read_bytes()), np.uint8, offset=8)
    return images.reshape(-1, 1, 28, 28), labels.astype(np.int64)


def keywords(folder):
    """MLPerf Tiny's 1,000 keyword inputs: float32 [1000, 1, 49, 10], labels int64. The records are int8 [49, 10] of scale
    0.5847029 and zero point 83; the label is the third column of the list."""
    folder = pathlib.Path(folder)
    records = np.fromfile(folder / "kws01_1000x490_int8.bin", np.int8).reshape(-1, 1, 49, 10)
    lines = (folder / "kws01_y_labels.csv").read_text().split()
    labels = np.array([int(line.split(",")[2]) for line in lines], np.int64)
    return (records.astype(np.float32) - np.float32(83)) * np.float32(0.5847029), labels


def right(outputs, labels):
    return int((outputs.reshape(len(outputs), -1).argmax(1) == labels).sum())
