#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The executor as the judge of ONNX models: float32, batch 1, against ONNX Runtime, in turns in one process (`npuc bench`); writes docs/performance-judge.md.

usage: judge.py NPUC --data SHARED/data --work DIR [--page PAGE] [--threads 1,2] [--repeat 20]

EfficientNet-Lite0 (mobile_networks.py), MiniLM of 128 words and one step of SmolLM2-135M behind 63 tokens (judge_networks.py), all with random weights;
silero-vad of SHARED/data, 576 samples. Networks that lie in DIR are not written again. Needs onnxruntime; torch, onnxscript and transformers to write networks.
"""
import argparse
import datetime
import os
import pathlib
import statistics
import subprocess
import sys

from table import HERE, bench, cell, machine

NETWORKS = {  # name: (file, dims)
    "EfficientNet-Lite0": ("efficientnet-lite0.onnx", {"N": 1}),
    "MiniLM, 128 words": ("minilm.onnx", {"batch": 1, "length": 128}),
    "silero-vad": ("silero_vad_16k_op15.onnx", {"batch": 1, "sequence": 576}),
    "SmolLM2-135M, a step behind 63 tokens": ("smollm2-step.onnx", {"past": 63, "past + 1": 64}),
}
WRITERS = {"efficientnet-lite0.onnx": "mobile_networks.py", "minilm.onnx": "judge_networks.py", "smollm2-step.onnx": "judge_networks.py"}


def model_of(name, data, work):
    file = NETWORKS[name][0]
    if file not in WRITERS:
        return data / "silero-vad" / file
    if not (work / file).exists():
        subprocess.run([sys.executable, HERE / WRITERS[file], work], check=True)
    return work / file


def page(rows, version, peer):
    cpu, cores = machine()
    lines = ["# Performance of the judge", "",
             "Written by `bench/judge.py`: float32, batch 1, npuc and ONNX Runtime on the same inputs in one process, in turns, on the same number of threads. A ratio is ONNX Runtime's",
             "time over npuc's, so that above 1 npuc is faster. Where `load` is above the number of processors others worked too: processor time (median, of all threads, with what they",
             "spin) is nearer to the truth then.", "",
             f"Machine: {cpu}, {cores} processors; {version}; ONNX Runtime {peer}; {datetime.date.today().isoformat()}.", "",
             "| network | threads | npuc ms, best | ONNX Runtime ms, best | ratio of best | ratio of medians | npuc processor ms | ONNX Runtime processor ms | ratio | rounds | load | SQNR dB |",
             "| --- " * 12 + "|"]
    for name, threads, r in rows:
        p = r["peers"][0]
        lines.append(f"| {name} | {threads} | {cell(r, 'min_ms')} | {cell(p, 'min_ms')} | {p['ratio_min']:.2f} | {p['ratio']:.2f} | {cell(r, 'cpu_ms')} | {cell(p, 'cpu_ms')} | "
                     f"{p['cpu_ms'] / r['cpu_ms']:.2f} | {r['repeat']} | {r['load']:.1f} | {p['sqnr_db']:.0f} |")
    ratios = [r["peers"][0]["ratio_min"] for _, _, r in rows]
    return "\n".join(lines + ["", f"Ratio of best times: median {statistics.median(ratios):.2f}, least {min(ratios):.2f}.", ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("npuc", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--page", type=pathlib.Path, default=HERE.parent / "docs" / "performance-judge.md")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--repeat", type=int, default=20)
    args = parser.parse_args()
    args.npuc = args.npuc.resolve()
    args.work.mkdir(parents=True, exist_ok=True)
    rows = []
    for name, (_, dims) in NETWORKS.items():
        model = model_of(name, args.data, args.work)
        for threads in map(int, args.threads.split(",")):
            result = bench(args.npuc, sys.prefix, model, ["onnxruntime"], None, threads, args.repeat, dims)
            result["load"] = os.getloadavg()[0]
            rows.append((name, threads, result))
            print(name, threads, "threads: %.2f" % result["peers"][0]["ratio_min"], flush=True)
    version = subprocess.run([args.npuc, "--version"], capture_output=True, text=True).stdout.strip()
    args.page.write_text(page(rows, version, rows[0][2]["peers"][0]["version"]))
    print(args.page)


if __name__ == "__main__":
    main()
