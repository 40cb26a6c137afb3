#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""npuc's executor against ONNX Runtime and OpenVINO, fp32 and int8, in turns in one process (`npuc bench`); writes docs/performance.md.

usage: table.py NPUC --data SHARED/data --work DIR [--page docs/performance.md] [--networks resnet20,...] [--batch 1,64] [--threads 1,2] [--repeat 20]

ResNet-20 and -56 are the trained ones of SHARED/data; mobilenetv2 and efficientnet-lite0 have random weights (mobile_networks.py). int8 peers are at
their best: ONNX Runtime's quantize_static (pre-processed, QDQ, U8S8, per channel), OpenVINO's NNCF; npuc runs stage 5 of `npuc compile`. All are
calibrated on the same samples. What was measured stays in DIR/results.json, and is not measured again. Needs tests/peers/requirements.txt, openvino, nncf.
"""
import argparse, datetime, json, os, pathlib, platform, re, subprocess, sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PREPROCESS = "scale=1/255,mean=%s,std=%s" % (":".join(map(str, MEAN)), ":".join(map(str, STD)))
SAMPLES = 64  # of calibration


def cifar(data):
    """Calibration samples of the ResNets, as their float inputs."""
    records = np.fromfile(next((data / "cifar10").glob("*train*.bin")), np.uint8).reshape(-1, 3073)[:SAMPLES, 1:].reshape(-1, 3, 32, 32)
    return (records.astype(np.float32) / 255 - np.float32(MEAN).reshape(3, 1, 1)) / np.float32(STD).reshape(3, 1, 1)


def networks(data, work):
    """name -> (file, calibration samples)."""
    found = {name: (data / "resnet-cifar10" / f"{name}.onnx", lambda: cifar(data)) for name in ("resnet20", "resnet56")}
    if not (work / "mobilenetv2.onnx").exists() and (HERE / "mobile_networks.py").exists():
        subprocess.run([sys.executable, HERE / "mobile_networks.py", work], check=True)
    for name in ("mobilenetv2", "efficientnet-lite0"):
        if (work / f"{name}.onnx").exists():
            found[name] = (work / f"{name}.onnx", lambda: np.random.default_rng(0).standard_normal((16, 3, 224, 224)).astype(np.float32))
    return found


def quantized_ort(model, samples, out):
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process
    import onnx

    class Reader(CalibrationDataReader):
        feeds = iter([{onnx.load(model).graph.input[0].name: s[None]} for s in samples])

        def get_next(self):
            return next(self.feeds, None)

    prepared = out.with_suffix(".prepared.onnx")
    quant_pre_process(str(model), str(prepared), skip_symbolic_shape=True)
    quantize_static(str(prepared), str(out), Reader(), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8)


def quantized_nncf(model, samples, out):
    import nncf
    import openvino as ov
    network = nncf.quantize(ov.Core().read_model(str(model)), nncf.Dataset([s[None] for s in samples]), subset_size=len(samples))
    ov.save_model(network, str(out), compress_to_fp16=False)


def prepare(npuc, name, model, samples, work):
    """The three int8 models."""
    ort, ir, out = work / f"{name}.ort.onnx", work / f"{name}.nncf.xml", work / f"{name}.npuc"
    if not ort.exists():
        quantized_ort(model, samples(), ort)
    if not ir.exists():
        quantized_nncf(model, samples(), ir)
    if not (out / "manifest.json").exists():
        np.save(work / f"{name}.calib.npy", samples())
        subprocess.run([npuc, "-q", "compile", model, "-t", "refnpu-n16", "-o", out, "--calib", work / f"{name}.calib.npy", "--to", "quantize"],
                       check=True)
    return f"{out}@quantize", f"onnxruntime={ort}", f"openvino={ir}"


def bench(npuc, python, model, peers, batch, threads, repeat, dims={}):
    line = [npuc, "--json", "bench", model, "--threads", threads, "--repeat", repeat, "--python", python, "--sqnr", "-1000"]
    line += ["--batch", batch] if batch else []
    for symbol, number in dims.items():
        line += ["--dim", f"{symbol}={number}"]
    for peer in peers:
        line += ["--against", peer]
    done = subprocess.run([str(word) for word in line], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def machine():
    info = pathlib.Path("/proc/cpuinfo").read_text()
    return re.search(r"model name\s*: (.*)", info)[1], os.cpu_count()


def cell(entry, key):
    return f"{entry[key]:.3f}" if entry[key] < 10 else f"{entry[key]:.1f}"


def rows(results, precision):
    for key, r in results.items():
        if key.split("/")[1] != precision:
            continue
        name, _, batch, threads = key.split("/")
        peers = {p["name"]: p for p in r["peers"]}
        ort, ov = peers["onnxruntime"], peers["openvino"]
        yield (f"| {name} | {batch} | {threads} | {cell(r, 'min_ms')} | {cell(ort, 'min_ms')} | {cell(ov, 'min_ms')} | {ort['ratio_min']:.2f} | "
               f"{ov['ratio_min']:.2f} | {cell(r, 'median_ms')} | {min(ort['ratio'], ov['ratio']):.2f} | {cell(r, 'cpu_ms')} | {ort['cpu_ms'] / r['cpu_ms']:.2f}, "
               f"{ov['cpu_ms'] / r['cpu_ms']:.2f} | {r['repeat']} | {r['load']:.1f} | {ort['sqnr_db']:.0f}, {ov['sqnr_db']:.0f} |")


def page(results, version):
    cpu, cores = machine()
    any_result = next(iter(results.values()))
    versions = ", ".join(f"{'ONNX Runtime' if p['name'] == 'onnxruntime' else 'OpenVINO'} {p['version']}" for p in any_result["peers"])
    head = ("| network | batch | threads | npuc ms | ONNX Runtime ms | OpenVINO ms | ratio to ONNX Runtime | ratio to OpenVINO | npuc median ms | "
            "ratio of medians to the better | npuc processor ms | ratios of processor time | rounds | load | SQNR dB |\n" + "| --- " * 15 + "|")
    return "\n".join([
        "# Performance", "",
        "Written by `bench/table.py`, which measures with `npuc bench`: npuc and its peers run the same inputs in one process, in turns, on the same",
        "number of threads. Times are the best of all rounds; a ratio is the peer's time over npuc's, so that above 1 npuc is faster. OpenVINO runs with",
        "`INFERENCE_PRECISION_HINT=f32`, `LATENCY` and one stream; ONNX Runtime with all optimizations and one inter-op thread. `load` is the machine's load",
        "average when the row was measured: above the number of processors others worked too, and clock times say more about them than about the engines.",
        "Processor time (median, of all threads, with what they spin) is nearer to the truth then. Run it again on a quiet machine before quoting it.", "",
        f"Machine: {cpu}, {cores} processors, {platform.system()} {platform.machine()}; {version}; {versions}; {datetime.date.today().isoformat()}.", "",
        "## fp32", "", head, *rows(results, "fp32"), "",
        "## int8", "",
        "npuc: the integer module of stage 5, integers only. ONNX Runtime: `quantize_static`, pre-processed, QDQ, U8S8 per channel. OpenVINO: NNCF. The three are",
        "different quantizations of one network; the last column says how far npuc's outputs are from each peer's.", "",
        head, *rows(results, "int8"), ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("npuc", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--page", type=pathlib.Path, default=HERE.parent / "docs" / "performance.md")
    parser.add_argument("--networks", default="resnet20,resnet56,mobilenetv2,efficientnet-lite0")
    parser.add_argument("--batch", default="1,64")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--repeat", type=int, default=20)
    args = parser.parse_args()
    args.npuc, args.work = args.npuc.resolve(), args.work.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    kept = args.work / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    available = networks(args.data, args.work)
    for name in args.networks.split(","):
        if name not in available:
            print(f"{name}: not there, left out")
            continue
        model, samples = available[name]
        integer = prepare(args.npuc, name, model, samples, args.work)
        for batch in map(int, args.batch.split(",")):
            for threads in map(int, args.threads.split(",")):
                for precision, line in (("fp32", (model, "onnxruntime", "openvino")), ("int8", integer)):
                    key = f"{name}/{precision}/{batch}/{threads}"
                    if key in results:
                        continue
                    results[key] = bench(args.npuc, sys.prefix, line[0], line[1:], batch, threads, args.repeat)
                    results[key]["load"] = os.getloadavg()[0]
                    kept.write_text(json.dumps(results, indent=1))
                    print(key, *(f"{p['name']} {p['ratio_min']:.2f}" for p in results[key]["peers"]), flush=True)
    version = subprocess.run([args.npuc, "--version"], capture_output=True, text=True).stdout.strip()
    args.page.write_text(page(results, version))
    print(args.page)


if __name__ == "__main__":
    main()
