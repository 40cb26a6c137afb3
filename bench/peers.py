#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""npuc's executor against ONNX Runtime and OpenVINO (f32), in turns; best of all rounds, and the ratio to the better peer (above 1: npuc is faster).
usage: BENCH_NETWORK MODEL.onnx CxHxW [--batch 1,64] [--threads 1,2] [--rounds 20] [--cpu]
--cpu: the processors' time, for one thread on a machine that others use."""
import argparse, os, subprocess, tempfile, time
import numpy as np, onnxruntime as ort, openvino as ov

p = argparse.ArgumentParser()
p.add_argument("program"), p.add_argument("model"), p.add_argument("shape")
p.add_argument("--batch", default="1,64"), p.add_argument("--threads", default="1,2"), p.add_argument("--rounds", type=int, default=20)
p.add_argument("--cpu", action="store_true")
a = p.parse_args()
clock = time.process_time if a.cpu else time.perf_counter


class Ort:
    def __init__(self, x, threads):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self.session, self.x = ort.InferenceSession(a.model, options, providers=["CPUExecutionProvider"]), x
        self.name = self.session.get_inputs()[0].name

    def run(self):
        start = clock()
        self.y = self.session.run(None, {self.name: self.x})[0]
        return clock() - start


class OpenVino:
    def __init__(self, x, threads):
        core = ov.Core()
        model = core.read_model(a.model)
        model.reshape(x.shape)
        self.request = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads,
                                                         "NUM_STREAMS": 1, "ENABLE_CPU_PINNING": False}).create_infer_request()
        self.request.set_input_tensor(ov.Tensor(x, shared_memory=True))

    def run(self):
        start = clock()
        self.request.infer()
        return clock() - start


class Npuc:
    def __init__(self, x, threads, folder):
        self.path = os.path.join(folder, "x.f32")
        x.tofile(self.path)
        self.process = subprocess.Popen([a.program, a.model, str(threads), self.path, *map(str, x.shape)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def run(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline().split()[a.cpu])

    def close(self):
        self.process.stdin.close()
        if self.process.wait():
            raise SystemExit("npuc failed")
        return np.fromfile(self.path + ".out", np.float32)


dims = [int(v) for v in a.shape.split("x")]
for batch in map(int, a.batch.split(",")):
    x = np.random.default_rng(5).standard_normal([batch, *dims]).astype(np.float32)
    for threads in map(int, a.threads.split(",")):
        with tempfile.TemporaryDirectory() as folder:
            ours = Npuc(x, threads, folder)
            all = [ours, Ort(x, threads), OpenVino(x, threads)]
            best = [1e9] * 3
            for r in range(a.rounds + 1):
                for i, peer in enumerate(all):
                    if threads > 1:
                        time.sleep(0.02)  # a peer's threads spin for a while after its turn
                    t = peer.run()
                    if r:
                        best[i] = min(best[i], t)
            y, want = ours.close(), all[1].y.ravel()
            error = np.abs(y - want).max() / np.abs(want).max()
        print(f"{os.path.basename(a.model):24s} batch {batch:3d} threads {threads}: npuc {1e3 * best[0]:9.3f} ms, onnxruntime {1e3 * best[1]:9.3f}, "
              f"openvino {1e3 * best[2]:9.3f}, ratio {min(best[1:]) / best[0]:.2f} (error {error:.1e})", flush=True)
