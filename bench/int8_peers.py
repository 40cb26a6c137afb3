#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time of an integer module against ONNX Runtime and OpenVINO on the same network, interleaved, best of ROUNDS.

usage: int8_peers.py BENCH_ROUNDS WORK NPUC TARGET ROUNDS [batch,batch...] [threads,threads...] MODEL.onnx...

For each MODEL the peers are quantized at their best (ONNX Runtime: pre-processed, QDQ, U8S8 per channel, all optimizations; OpenVINO: NNCF),
and npuc compiles it for TARGET, all on the same 16 random samples; the files stay in WORK. Needs numpy, onnx, onnxruntime, openvino, nncf."""
import os, subprocess, sys, time
import numpy as np, onnx, onnxruntime as ort, openvino as ov


def samples(shape):
    rng = np.random.default_rng(0)
    return [rng.standard_normal([1] + shape).astype(np.float32) for _ in range(16)]


def quantize_ort(source, target, name, data):
    from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Reader(CalibrationDataReader):
        def __init__(self):
            self.rest = iter(data)

        def get_next(self):
            x = next(self.rest, None)
            return None if x is None else {name: x}

    quant_pre_process(source, target + ".pre")
    quantize_static(target + ".pre", target, Reader(), quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8, per_channel=True, calibrate_method=CalibrationMethod.MinMax)


def quantize_ov(source, target, data):
    import nncf
    ov.save_model(nncf.quantize(ov.Core().read_model(source), nncf.Dataset(data), subset_size=len(data)), target)


def prepare(source, work, npuc, target):
    base = os.path.join(work, os.path.splitext(os.path.basename(source))[0])
    value = onnx.load(source, load_external_data=False).graph.input[0]
    shape = [d.dim_value for d in value.type.tensor_type.shape.dim][1:]
    data = samples(shape)
    if not os.path.exists(base + ".ort.onnx"):
        quantize_ort(source, base + ".ort.onnx", value.name, data)
    if not os.path.exists(base + ".ov.xml"):
        quantize_ov(source, base + ".ov.xml", data)
    if not os.path.exists(base + ".calib.npy"):
        np.save(base + ".calib.npy", np.concatenate(data))
    subprocess.run([npuc, "compile", source, "-t", target, "-o", base, "--calib", base + ".calib.npy", "--to", "quantize", "-q"], check=True)
    return base, value.name, shape


def ort_side(path, name, x, threads):
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0" if threads == 1 else "1")
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {name: x})


def ov_side(path, x, threads):
    core = ov.Core()
    model = core.read_model(path)
    model.reshape(list(x.shape))
    request = core.compile_model(model, "CPU", {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1,
                                                "PERFORMANCE_HINT": "LATENCY"}).create_infer_request()
    request.set_input_tensor(ov.Tensor(x))
    return request.infer


def own_side(bench, path, batch, threads):
    process = subprocess.Popen([bench, path, str(batch), str(threads)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run():
        process.stdin.write("\n")
        process.stdin.flush()
        return float(process.stdout.readline())
    return process, run


def timed(run):
    start = time.perf_counter()
    run()
    return 1e3 * (time.perf_counter() - start)


def main():
    bench, work, npuc, target, rounds, batches, threads = sys.argv[1:8]
    os.makedirs(work, exist_ok=True)
    print(f"onnxruntime {ort.__version__}, openvino {ov.__version__}; milliseconds, best of {rounds}", flush=True)
    print("| network | batch | threads | npuc | ONNX Runtime | OpenVINO | of ONNX Runtime | of OpenVINO |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    for source in sys.argv[8:]:
        base, name, shape = prepare(source, work, npuc, target)
        for batch in (int(v) for v in batches.split(",")):
            x = np.random.default_rng(1).standard_normal([batch] + shape).astype(np.float32)
            for n in (int(v) for v in threads.split(",")):
                process, own = own_side(bench, f"{base}/5-quantize.{target}.onnx", batch, n)
                peers = [ort_side(base + ".ort.onnx", name, x, n), ov_side(base + ".ov.xml", x, n)]
                best = [float("inf")] * 3
                for _ in range(int(rounds)):
                    times = [own()] + [timed(p) for p in peers]
                    best = [min(a, b) for a, b in zip(best, times)]
                process.stdin.close()
                process.wait()
                print(f"| {os.path.basename(base)} | {batch} | {n} | {best[0]:.3f} | {best[1]:.3f} | {best[2]:.3f} | {best[1] / best[0]:.2f} | {best[2] / best[0]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
