#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The peer of bench_cifar: ONNX Runtime on the same records. usage: MODEL.onnx RECORDS.bin [batch] [threads] [limit]"""
import sys, time
import numpy as np, onnxruntime as ort

model, data = sys.argv[1:3]
batch, threads, limit = (int(v) for v in (sys.argv[3:6] + ["64", "1", "10000"][len(sys.argv) - 3:]))
options = ort.SessionOptions()
options.intra_op_num_threads = threads
session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
records = np.fromfile(data, np.uint8).reshape(-1, 3073)[:limit]
x = (records[:, 1:].reshape(-1, 3, 32, 32).astype(np.float32) / 255 - np.float32([.485, .456, .406]).reshape(3, 1, 1)) / np.float32([.229, .224, .225]).reshape(3, 1, 1)
name = session.get_inputs()[0].name
seconds, cpu, good = 0.0, 0.0, 0
for i in range(0, len(x), batch):
    start, used = time.perf_counter(), time.process_time()
    y = session.run(None, {name: x[i:i + batch]})[0]
    seconds += time.perf_counter() - start
    cpu += time.process_time() - used
    good += (y.argmax(1) == records[i:i + batch, 0]).sum()
print(f"onnxruntime {ort.__version__} {model} batch {batch} threads {threads}: {len(x)} images, {seconds:.3f} s, cpu {1e3 * cpu / len(x):.4f} ms an image, top-1 {100 * good / len(x):.2f}")
